"""What every `MessageSender` does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import pytest
import pytest_asyncio

from services.adapters.webhooks.sender import WebhookSender
from services.domain.events import EventKind
from services.domain.webhooks import DeliveryOutcome, Webhook, check_delivery, new_secret
from services.ports.teams import MessageSender
from tests.doubles import ScriptedSender
from tests.doubles.builders import MOMENT
from tests.receiver import receiving


@dataclass(frozen=True, kw_only=True)
class Post:
    """A sender, and what its receiver answers and has got."""

    sender: MessageSender
    address: str
    answers: list[int]
    arrived: Callable[[], list[str]]


@pytest_asyncio.fixture(params=["double", "http"])
async def post(request: pytest.FixtureRequest) -> AsyncIterator[Post]:
    if request.param == "double":
        double = ScriptedSender()
        yield Post(
            sender=double,
            address="https://example.com/hook",
            answers=double.answers,
            arrived=lambda: [delivery.id for delivery in double.sent],
        )
        return
    sender = WebhookSender("kernelwright/test", private_hosts=True)
    with receiving() as receiver:
        yield Post(
            sender=sender,
            address=receiver.address,
            answers=receiver.answers,
            arrived=lambda: [message.id for message in receiver.came],
        )
    await sender.aclose()


def a_webhook(url: str) -> Webhook:
    return Webhook(
        id="hook-1",
        team_id="local",
        url=url,
        kinds=(EventKind.JOB_FINISHED,),
        secret=new_secret(),
        enabled=True,
        note=None,
        created_at=MOMENT,
    )


async def test_a_message_that_a_receiver_takes_is_delivered_once(post: Post) -> None:
    webhook = a_webhook(post.address)
    delivery = check_delivery(webhook, MOMENT)
    assert await post.sender.send(webhook, delivery, MOMENT) == DeliveryOutcome(delivered=True, answer=204)
    assert post.arrived() == [delivery.id]


async def test_a_refusal_comes_back_with_its_status_and_without_an_error(post: Post) -> None:
    webhook = a_webhook(post.address)
    post.answers.extend([500, 410])
    refused = await post.sender.send(webhook, check_delivery(webhook, MOMENT), MOMENT)
    assert refused == DeliveryOutcome(delivered=False, answer=500, fault="it answered 500")
    gone = await post.sender.send(webhook, check_delivery(webhook, MOMENT), MOMENT)
    assert (gone.delivered, gone.gone) == (False, True)
