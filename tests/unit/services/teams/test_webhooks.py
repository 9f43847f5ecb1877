"""What the dispatcher does about what receivers answer."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from datetime import datetime

import pytest

from services.domain.events import EventKind
from services.domain.webhooks import RETRY_S, Delivery, DeliveryOutcome, DeliveryStatus, Webhook, check_delivery
from services.ports.teams import MessageSender
from services.teams.webhooks import Dispatcher
from tests.doubles import (
    FrozenClock,
    InMemoryDatabase,
    InMemoryJobStore,
    InMemoryWebhookStore,
    ScriptedSender,
    a_job,
)
from tests.doubles.builders import MOMENT
from tests.receiver import send_due

WEBHOOK = Webhook(
    id="hook-1",
    team_id="local",
    url="https://example.com/hook",
    kinds=(EventKind.JOB_FINISHED,),
    secret="whsec_AAAA",
    enabled=True,
    note=None,
    created_at=MOMENT,
)


@dataclass(frozen=True)
class Post:
    """A webhook with a message that is due."""

    database: InMemoryDatabase = field(default_factory=InMemoryDatabase)

    @property
    def store(self) -> InMemoryWebhookStore:
        return InMemoryWebhookStore(self.database)

    @property
    def clock(self) -> FrozenClock:
        assert isinstance(self.database.clock, FrozenClock)
        return self.database.clock

    def dispatcher(self, sender: MessageSender) -> Dispatcher:
        return Dispatcher(self.store, sender, self.clock)


@pytest.fixture
async def post() -> Post:
    made = Post()
    await InMemoryJobStore(made.database).create(a_job())
    await made.store.add(WEBHOOK)
    made.database.append("job-1", EventKind.JOB_FINISHED, {"status": "solved"})
    return made


async def test_a_message_is_given_up_after_three_days_of_attempts(post: Post) -> None:
    sender = ScriptedSender([500] * 100)
    dispatcher = post.dispatcher(sender)
    for wait_s in (0, *RETRY_S, 7 * 86_400):
        post.clock.advance(wait_s * 1.2)
        await send_due(dispatcher)
    assert len(sender.sent) == len(RETRY_S) + 1
    (delivery,) = await post.store.deliveries("local", "hook-1", 10)
    assert (delivery.status, delivery.fault) == (DeliveryStatus.FAILED, "it answered 500")


async def test_a_receiver_that_is_gone_is_switched_off(post: Post) -> None:
    await send_due(post.dispatcher(ScriptedSender([410])))
    webhook = await post.store.get("local", "hook-1")
    assert not webhook.enabled
    assert webhook.note is not None
    assert "410" in webhook.note


class RemovingSender(ScriptedSender):
    """Somebody removes the webhook while its receiver answers."""

    def __init__(self, store: InMemoryWebhookStore) -> None:
        super().__init__([410])
        self._store = store

    async def send(self, webhook: Webhook, delivery: Delivery, at: datetime) -> DeliveryOutcome:
        await self._store.remove(webhook.team_id, webhook.id)
        return await super().send(webhook, delivery, at)


async def test_a_receiver_that_is_gone_may_be_removed_while_it_answers(post: Post) -> None:
    sender = RemovingSender(post.store)
    await send_due(post.dispatcher(sender))
    assert (len(sender.sent), await post.store.list("local")) == (1, ())


class SilentSender(ScriptedSender):
    """Its first receiver never answers."""

    async def send(self, webhook: Webhook, delivery: Delivery, at: datetime) -> DeliveryOutcome:
        if webhook.id == WEBHOOK.id:
            await asyncio.Event().wait()
        return await super().send(webhook, delivery, at)


async def test_a_receiver_that_never_answers_holds_up_nobody_else(post: Post) -> None:
    for _ in range(50):
        await post.store.place(check_delivery(WEBHOOK, MOMENT))
    await post.store.add(alive := replace(WEBHOOK, id="hook-2"))
    dispatcher = post.dispatcher(sender := SilentSender())
    await dispatcher.begin_all()
    await post.store.place(check_delivery(alive, MOMENT))
    await dispatcher.begin_all()
    await asyncio.sleep(0)
    assert [delivery.webhook_id for delivery in sender.sent] == ["hook-2"]
    await dispatcher.aclose()
