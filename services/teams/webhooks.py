"""What people do with webhooks, and the task that sends what is due. Takes ports."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import random
import uuid
from collections.abc import Callable, Sequence
from datetime import timedelta

from services.domain.errors import ConfigurationError, InfrastructureError, NotFoundError
from services.domain.events import EventKind
from services.domain.webhooks import (
    ALWAYS,
    DELIVERABLE,
    RETRY_S,
    Delivery,
    DeliveryOutcome,
    Webhook,
    WebhookConditions,
    check_delivery,
    faults,
    new_secret,
)
from services.ports.runtime import Clock
from services.ports.teams import MessageSender, WebhookStore

log = logging.getLogger(__name__)

MOST_WEBHOOKS = 20
"""Of one team."""
AT_ONCE = 400
"""Messages on their way at the same time."""
AT_ONCE_EACH = 4
"""Of these to one receiver: one that does not answer holds up nobody else."""
LEASE_S = 60.0
"""How long a message is left alone that somebody tries to send; well above the sender's time limit."""
POLL_S = 1.0
"""How often it is looked for what is due."""
KEPT_DAYS = 30
"""How long what was delivered or given up stays in the log."""
_PRUNE_S = 3600.0
_JITTER = 0.1


class WebhookService:
    """A team's webhooks and the log of what was sent to them."""

    def __init__(self, webhooks: WebhookStore, check_address: Callable[[str], None], clock: Clock) -> None:
        """`check_address` raises `ConfigurationError` for an address that no receiver may have."""
        self._webhooks = webhooks
        self._check_address = check_address
        self._clock = clock

    async def create(
        self, team_id: str, url: str, kinds: Sequence[EventKind], conditions: WebhookConditions = ALWAYS
    ) -> Webhook:
        """A new receiver with a fresh secret. Raises `ConfigurationError`."""
        self._check_address(url)
        if not kinds or not set(kinds) <= set(DELIVERABLE):
            raise ConfigurationError(f"name one or more events of: {', '.join(DELIVERABLE)}")
        if (fault := faults(conditions, kinds)) is not None:
            raise ConfigurationError(fault)
        if len(await self._webhooks.list(team_id)) >= MOST_WEBHOOKS:
            raise ConfigurationError(f"a team has at most {MOST_WEBHOOKS} webhooks: remove one first")
        webhook = Webhook(
            id=f"hook-{uuid.uuid4().hex[:20]}",
            team_id=team_id,
            url=url,
            kinds=tuple(kind for kind in DELIVERABLE if kind in kinds),
            conditions=conditions,
            secret=new_secret(),
            enabled=True,
            note=None,
            created_at=self._clock.now(),
        )
        await self._webhooks.add(webhook)
        return webhook

    async def list(self, team_id: str) -> tuple[Webhook, ...]:
        """The team's webhooks, oldest first."""
        return await self._webhooks.list(team_id)

    async def enable(self, team_id: str, webhook_id: str, *, enabled: bool) -> Webhook:
        """Switch a webhook on or off: while off, it is told of nothing new. Raises `NotFoundError`."""
        return await self._webhooks.enable(team_id, webhook_id, enabled=enabled, note=None)

    async def remove(self, team_id: str, webhook_id: str) -> None:
        """Remove a webhook with its log. Raises `NotFoundError`."""
        await self._webhooks.remove(team_id, webhook_id)

    async def check(self, team_id: str, webhook_id: str) -> Delivery:
        """Send a message that tells nothing. Raises `NotFoundError`."""
        webhook = await self._webhooks.get(team_id, webhook_id)
        delivery = check_delivery(webhook, self._clock.now())
        await self._webhooks.place(delivery)
        return delivery

    async def deliveries(self, team_id: str, webhook_id: str, limit: int = 50) -> tuple[Delivery, ...]:
        """What was sent or is to be sent, newest first. Raises `NotFoundError`."""
        await self._webhooks.get(team_id, webhook_id)
        return await self._webhooks.deliveries(team_id, webhook_id, limit)

    async def resend(self, team_id: str, webhook_id: str, delivery_id: str) -> Delivery:
        """Send a message once more, under its own id, whatever became of it. Raises `NotFoundError`."""
        return await self._webhooks.resend(team_id, webhook_id, delivery_id)


class Dispatcher:
    """Sends what is due, until it was taken or given up. Several may run at once.

    Receivers don't wait for each other: while messages to one are on their way, only others' are claimed."""

    def __init__(self, webhooks: WebhookStore, sender: MessageSender, clock: Clock) -> None:
        self._webhooks = webhooks
        self._sender = sender
        self._clock = clock
        self._pruned_at = float("-inf")
        self._sending: dict[str, int] = {}
        """Messages on their way, by webhook."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def begin_all(self) -> None:
        """Begin to send whatever is due and whose receiver is free, without waiting for any answer."""
        while await self.begin_due():
            pass
        await self._prune()

    async def begin_due(self) -> Sequence[asyncio.Task[None]]:
        """Begin to send what is due now; the tasks that do it."""
        free = AT_ONCE - len(self._tasks)
        if free <= 0:
            return []
        due = await self._webhooks.claim(free, LEASE_S, each=AT_ONCE_EACH, busy=tuple(self._sending))
        return [self._begin(webhook, delivery) for webhook, delivery in due]

    async def aclose(self) -> None:
        """Give up what is on its way; it is due again when its claim has run out."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, webhook: Webhook, delivery: Delivery) -> asyncio.Task[None]:
        self._sending[webhook.id] = self._sending.get(webhook.id, 0) + 1
        task = asyncio.create_task(self._send(webhook, delivery))
        self._tasks.add(task)
        task.add_done_callback(functools.partial(self._ended, webhook.id))
        return task

    def _ended(self, webhook_id: str, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._sending[webhook_id] -= 1
        if not self._sending[webhook_id]:
            del self._sending[webhook_id]

    async def _send(self, webhook: Webhook, delivery: Delivery) -> None:
        try:
            await self._try(webhook, delivery)
        except InfrastructureError as error:
            log.warning("webhook %s, message %s: its outcome is not stored, %s", webhook.id, delivery.id, error)
        except Exception:
            log.exception("webhook %s, message %s: a fault of this program", webhook.id, delivery.id)

    async def _try(self, webhook: Webhook, delivery: Delivery) -> None:
        now = self._clock.now()
        outcome = await self._sender.send(webhook, delivery, now)
        retry_s = None if outcome.delivered or outcome.gone else _wait_s(delivery)
        due_at = None if retry_s is None else now + timedelta(seconds=retry_s)
        await self._webhooks.settle(delivery, outcome, due_at)
        if outcome.gone:
            note = "switched off: it answered 410, which asks for no more messages"
            with contextlib.suppress(NotFoundError):  # somebody removed it meanwhile
                await self._webhooks.enable(webhook.team_id, webhook.id, enabled=False, note=note)
        self._report(webhook, delivery, outcome, retry_s)

    def _report(self, webhook: Webhook, delivery: Delivery, outcome: DeliveryOutcome, retry_s: float | None) -> None:
        if not outcome.delivered:
            then = "given up" if retry_s is None else f"again in {retry_s:.0f} s"
            log.warning("webhook %s, message %s: %s; %s", webhook.id, delivery.id, outcome.fault, then)

    async def _prune(self) -> None:
        now = self._clock.monotonic()
        if now - self._pruned_at >= _PRUNE_S:
            await self._webhooks.prune(self._clock.now() - timedelta(days=KEPT_DAYS))
            self._pruned_at = now


def _wait_s(delivery: Delivery) -> float | None:
    """Seconds until the next attempt of a claimed delivery; None after the last one."""
    if delivery.attempts > len(RETRY_S):
        return None
    # Apart from each other, so that a receiver that comes back is not met by all at once.
    return RETRY_S[delivery.attempts - 1] * (1 + random.uniform(0, _JITTER))  # noqa: S311
