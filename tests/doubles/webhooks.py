"""Webhooks in memory, and a sender that answers from a script."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from services.domain.errors import NotFoundError
from services.domain.webhooks import Delivery, DeliveryOutcome, DeliveryStatus, Webhook
from services.ports.teams import MessageSender, WebhookStore
from tests.doubles.database import InMemoryDatabase


class InMemoryWebhookStore(WebhookStore):
    """A `WebhookStore` over an `InMemoryDatabase`, which places the messages of its events."""

    def __init__(self, database: InMemoryDatabase) -> None:
        self._database = database

    async def add(self, webhook: Webhook) -> None:
        """Store a new webhook."""
        self._database.webhooks[webhook.id] = webhook

    async def list(self, team_id: str) -> tuple[Webhook, ...]:
        """The team's webhooks, oldest first."""
        own = [webhook for webhook in self._database.webhooks.values() if webhook.team_id == team_id]
        return tuple(sorted(own, key=lambda webhook: (webhook.created_at, webhook.id)))

    async def get(self, team_id: str, webhook_id: str) -> Webhook:
        """One webhook. Raises `NotFoundError`."""
        webhook = self._database.webhooks.get(webhook_id)
        if webhook is None or webhook.team_id != team_id:
            raise NotFoundError(f"no webhook {webhook_id}")
        return webhook

    async def enable(self, team_id: str, webhook_id: str, *, enabled: bool, note: str | None) -> Webhook:
        """Switch a webhook on or off. Raises `NotFoundError`."""
        webhook = await self.get(team_id, webhook_id)
        self._database.webhooks[webhook_id] = replace(webhook, enabled=enabled, note=note)
        return self._database.webhooks[webhook_id]

    async def remove(self, team_id: str, webhook_id: str) -> None:
        """Remove a webhook with its messages. Raises `NotFoundError`."""
        await self.get(team_id, webhook_id)
        del self._database.webhooks[webhook_id]
        for name in [one.id for one in self._database.messages.values() if one.webhook_id == webhook_id]:
            del self._database.messages[name]

    async def place(self, delivery: Delivery) -> None:
        """Store a message."""
        self._database.messages.setdefault(delivery.id, delivery)

    async def deliveries(self, team_id: str, webhook_id: str, limit: int) -> tuple[Delivery, ...]:
        """A webhook's messages, newest first."""
        own = [
            one for one in self._database.messages.values() if (one.team_id, one.webhook_id) == (team_id, webhook_id)
        ]
        own.sort(key=lambda one: one.id)
        return tuple(sorted(own, key=lambda one: one.created_at, reverse=True)[:limit])

    async def resend(self, team_id: str, webhook_id: str, delivery_id: str) -> Delivery:
        """Make a message due now. Raises `NotFoundError`."""
        known = self._database.messages.get(delivery_id)
        if known is None or (known.team_id, known.webhook_id) != (team_id, webhook_id):
            raise NotFoundError(f"no message {delivery_id} of webhook {webhook_id}")
        now = self._database.clock.now()
        fresh = replace(known, status=DeliveryStatus.PENDING, attempts=0, due_at=now, ended_at=None)
        self._database.messages[delivery_id] = fresh
        return fresh

    async def claim(
        self, limit: int, lease_s: float, *, each: int | None = None, busy: Collection[str] = ()
    ) -> tuple[tuple[Webhook, Delivery], ...]:
        """Take messages that are due, of webhooks that are on and not busy."""
        now = self._database.clock.now()
        due = [
            one
            for one in self._database.messages.values()
            if one.status is DeliveryStatus.PENDING
            and one.due_at <= now
            and self._database.webhooks[one.webhook_id].enabled
            and one.webhook_id not in busy
        ]
        begun: Counter[str] = Counter()
        taken: list[Delivery] = []
        for one in sorted(due, key=lambda one: (one.due_at, one.id)):
            begun[one.webhook_id] += 1
            if len(taken) < limit and (each is None or begun[one.webhook_id] <= each):
                taken.append(one)
        for one in taken:
            later = now + timedelta(seconds=lease_s)
            self._database.messages[one.id] = replace(one, attempts=one.attempts + 1, due_at=later)
        return tuple((self._database.webhooks[one.webhook_id], self._database.messages[one.id]) for one in taken)

    async def settle(self, delivery: Delivery, outcome: DeliveryOutcome, due_at: datetime | None) -> bool:
        """Store what came of an attempt; False where somebody else has claimed it since."""
        known = self._database.messages.get(delivery.id)
        if known is None or known.attempts != delivery.attempts or known.status is not DeliveryStatus.PENDING:
            return False
        told = replace(known, answer=outcome.answer, fault=outcome.fault)
        if due_at is None:
            status = DeliveryStatus.DELIVERED if outcome.delivered else DeliveryStatus.FAILED
            told = replace(told, status=status, ended_at=self._database.clock.now())
        else:
            told = replace(told, due_at=due_at)
        self._database.messages[delivery.id] = told
        return True

    async def prune(self, before: datetime) -> int:
        """Remove messages that ended before a time; how many."""
        old = [one.id for one in self._database.messages.values() if one.ended_at is not None and one.ended_at < before]
        for name in old:
            del self._database.messages[name]
        return len(old)


class ScriptedSender(MessageSender):
    """A `MessageSender` that gets a list of HTTP statuses for an answer, and 204 after them."""

    def __init__(self, answers: Sequence[int] = ()) -> None:
        self.answers = list(answers)
        self.sent: list[Delivery] = []

    async def send(self, webhook: Webhook, delivery: Delivery, at: datetime) -> DeliveryOutcome:
        """The next status."""
        self.sent.append(delivery)
        answer = self.answers.pop(0) if self.answers else 204
        if 200 <= answer < 300:
            return DeliveryOutcome(delivered=True, answer=answer)
        return DeliveryOutcome(delivered=False, answer=answer, fault=f"it answered {answer}")
