"""Messages reach a real receiver over HTTP, signed; what does not arrive is sent again, and nobody looks around."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from standardwebhooks.webhooks import WebhookVerificationError

from services.adapters.webhooks import sender as webhook_sender
from services.adapters.webhooks.sender import WebhookSender, check_address
from services.domain.errors import ConfigurationError
from services.domain.events import EventKind
from services.domain.webhooks import (
    RETRY_S,
    DeliveryOutcome,
    DeliveryStatus,
    Webhook,
    check_delivery,
    new_secret,
)
from services.teams.webhooks import LEASE_S, MOST_WEBHOOKS, Dispatcher
from storage.database import Database
from storage.jobs.events import SqlEventLog
from storage.jobs.store import SqlJobStore
from storage.teams.webhooks import SqlWebhookStore
from tests.doubles import FrozenClock, a_job
from tests.receiver import Receiver, receiving, send_due

pytestmark = pytest.mark.integration
NOW = datetime.now(UTC)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = Database(f"sqlite:///{tmp_path / 'test.db'}")
    await opened.upgrade()
    yield opened
    await opened.close()


@pytest.fixture
def clock() -> FrozenClock:
    return FrozenClock(datetime.now(UTC))  # receivers refuse what is older than five minutes


def a_webhook(url: str) -> Webhook:
    return Webhook(
        id="hook-1",
        team_id="local",
        url=url,
        kinds=(EventKind.JOB_FINISHED,),
        secret=new_secret(),
        enabled=True,
        note=None,
        created_at=NOW,
    )


@asynccontextmanager
async def sending(*, private_hosts: bool = True) -> AsyncIterator[WebhookSender]:
    sender = WebhookSender("kernelwright/test", private_hosts=private_hosts)
    try:
        yield sender
    finally:
        await sender.aclose()


async def a_finished_job(database: Database, clock: FrozenClock, webhook: Webhook) -> SqlWebhookStore:
    store = SqlWebhookStore(database, clock)
    await SqlJobStore(database, clock).create(a_job())
    await store.add(webhook)
    await SqlEventLog(database, clock).append("job-1", EventKind.JOB_FINISHED, {"status": "solved", "message": "ü"})
    return store


async def test_a_receiver_can_verify_what_it_is_told_with_the_reference_library(
    database: Database, clock: FrozenClock, receiver: Receiver
) -> None:
    webhook = a_webhook(f"{receiver.address}/hook?key=1")
    store = await a_finished_job(database, clock, webhook)
    async with sending() as sender:
        assert await send_due(Dispatcher(store, sender, clock)) == 1
    (message,) = receiver.came
    assert message.path == "/hook?key=1"
    told = message.verified(webhook.secret)
    assert (told["type"], told["data"]["job_id"], told["data"]["message"]) == ("job.finished", "job-1", "ü")
    with pytest.raises(WebhookVerificationError):
        message.verified(new_secret())
    (delivery,) = await store.deliveries("local", "hook-1", 10)
    assert (delivery.status, delivery.answer, delivery.id) == (DeliveryStatus.DELIVERED, 204, message.id)


async def test_what_is_refused_is_sent_again_later_under_the_same_id_through_a_restart(
    database: Database, clock: FrozenClock, receiver: Receiver
) -> None:
    store = await a_finished_job(database, clock, webhook := a_webhook(receiver.address))
    receiver.answers = [500, 503]
    for _ in range(3):
        again = Database(str(database.url))  # as a fresh process sees it
        async with sending() as sender:
            await send_due(Dispatcher(SqlWebhookStore(again, clock), sender, clock))
        await again.close()
        clock.advance(RETRY_S[1] * 1.2)
    assert len(receiver.came) == 3
    assert len({message.id for message in receiver.came}) == 1
    assert len({message.body for message in receiver.came}) == 1
    for message in receiver.came:
        assert json.loads(message.body)["data"]["status"] == "solved"
    (delivery,) = await store.deliveries("local", webhook.id, 10)
    assert (delivery.status, delivery.attempts) == (DeliveryStatus.DELIVERED, 3)


async def test_two_dispatchers_send_a_message_once(database: Database, clock: FrozenClock, receiver: Receiver) -> None:
    store = await a_finished_job(database, clock, a_webhook(receiver.address))
    async with sending() as sender:
        sent = await asyncio.gather(*(send_due(Dispatcher(store, sender, clock)) for _ in range(4)))
    assert (sum(sent), len(receiver.came)) == (1, 1)


async def test_a_message_whose_sender_died_is_sent_again_with_its_id(
    database: Database, clock: FrozenClock, receiver: Receiver
) -> None:
    store = await a_finished_job(database, clock, a_webhook(receiver.address))
    ((_, lost),) = await store.claim(10, LEASE_S)
    clock.advance(LEASE_S + 1)
    async with sending() as sender:
        await send_due(Dispatcher(store, sender, clock))
    assert [message.id for message in receiver.came] == [lost.id]


async def test_receivers_that_accept_and_never_answer_delay_nobody_else(
    database: Database, clock: FrozenClock, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty of one team, as many as it may have, with four messages each under way; another team's receiver."""
    monkeypatch.setattr(webhook_sender, "TIMEOUT_S", 600.0)
    held: list[asyncio.StreamWriter] = []

    async def silent(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        held.append(writer)

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    store, jobs, events = SqlWebhookStore(database, clock), SqlJobStore(database, clock), SqlEventLog(database, clock)
    ended = [replace(a_job(f"{team}-{number}"), team_id=team) for number in range(5) for team in ("red", "local")]
    for job in ended:
        await jobs.create(job)
    for number in range(MOST_WEBHOOKS):
        await store.add(replace(a_webhook(address), id=f"dead-{number:02}", team_id="red"))
    await store.add(a_webhook(receiver.address))
    for job in ended:
        await events.append(job.id, EventKind.JOB_FINISHED, {"status": "solved"})
    async with sending() as sender:
        dispatcher = Dispatcher(store, sender, clock)
        async with asyncio.timeout(60):  # or it waited for those that never answer
            while len(receiver.came) < 5:
                await dispatcher.begin_all()
                await asyncio.sleep(0.05)
        assert len(held) > MOST_WEBHOOKS, "they are being waited for"
        await dispatcher.aclose()
    for writer in held:
        writer.close()
    server.close()


async def test_redirects_are_not_followed(receiver: Receiver) -> None:
    receiver.answers = [307]
    webhook = a_webhook(receiver.address)
    async with sending() as sender:
        outcome = await sender.send(webhook, check_delivery(webhook, NOW), NOW)
    assert (outcome.delivered, outcome.answer) == (False, 307)
    assert outcome.fault == "it answered 307 (redirects are not followed)"
    assert len(receiver.came) == 1


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433"])
async def test_nothing_is_sent_to_a_private_address_however_it_is_written(receiver: Receiver, host: str) -> None:
    webhook = a_webhook(f"http://{host}:{receiver.port}/")
    async with sending(private_hosts=False) as sender:
        outcome = await sender.send(webhook, check_delivery(webhook, NOW), NOW)
    assert outcome.delivered is False
    assert outcome.answer is None
    assert receiver.came == []


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/", "http://no-such-host.invalid/", "https://[::1"])
async def test_whatever_the_network_does_is_a_fault_in_the_log(url: str) -> None:
    webhook = a_webhook(url)
    async with sending() as sender:
        outcome = await sender.send(webhook, check_delivery(webhook, NOW), NOW)
    assert outcome == DeliveryOutcome(delivered=False, fault=outcome.fault)
    assert outcome.fault is not None
    assert outcome.fault.startswith("no answer: ")


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("ftp://example.com/", "starts with http"),
        ("example.com/hook", "starts with http"),
        ("http://", "starts with http"),
        ("http://exa mple.com/", "starts with http"),
        ("http://example.com:99999/", "starts with http"),
        ("https://me:secret@example.com/", "no user, password"),
        ("https://example.com/#part", "no user, password"),
        ("http://169.254.169.254/latest", "private address"),
        ("http://10.0.0.1/", "private address"),
        ("http://service.internal/", "private address"),
    ],
)
def test_an_address_that_no_receiver_may_have_is_refused(url: str, complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        check_address(url, private_hosts=False)


def test_an_operator_may_permit_private_addresses() -> None:
    check_address("http://127.0.0.1:8080/hook", private_hosts=True)
    check_address("https://example.com/hook?key=1", private_hosts=False)
