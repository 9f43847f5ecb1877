"""The `WebhookStore` port over the database, and the messages that events leave for receivers."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Exists, Row, Select, bindparam, delete, exists, func, insert, select, update

from services.domain import codec
from services.domain.errors import ConfigurationError, NotFoundError
from services.domain.events import Event, EventKind
from services.domain.webhooks import (
    DELIVERABLE,
    Delivery,
    DeliveryOutcome,
    DeliveryStatus,
    Webhook,
    WebhookConditions,
    WebhookJob,
    event_delivery,
    permits,
)
from services.ports.runtime import Clock
from storage.database import Database
from storage.db.mapping import row_of, value_of
from storage.db.statements import insert_new
from storage.db.transactions import writes
from storage.tables import evaluations, jobs, webhook_deliveries, webhooks
from storage.teams.encryption import KEYS, SecretSealer

UNKNOWN = WebhookJob(tags=(), leads=lambda _speedup: False)
"""Of a job that no condition asks about."""
_RECEIVERS = select(webhooks).where(webhooks.c.team_id == bindparam("team"), webhooks.c.enabled)


def listening(team_id: Any) -> Exists:
    """Whether anybody is told of a team's events."""
    return exists().where(webhooks.c.team_id == team_id, webhooks.c.enabled)


def place_messages(connection: Connection, team_id: str, log: Sequence[Event]) -> None:
    """Write the messages that tell a team's receivers of events, within the events' own transaction."""
    worth = [event for event in log if event.kind in DELIVERABLE]
    if not worth:
        return
    receivers = [_webhook(row, "") for row in connection.execute(_RECEIVERS, {"team": team_id})]
    asked = [one.conditions for one in receivers if one.conditions.about_jobs]
    job = _facts(connection, team_id, log[0].job_id) if asked else UNKNOWN
    messages = [
        event_delivery(one, event)
        for one in receivers
        for event in worth
        if event.kind in one.kinds and permits(one.conditions, event, job)
    ]
    insert_new(connection, webhook_deliveries, [row_of(webhook_deliveries, message) for message in messages])


class SqlWebhookStore:
    """Webhooks and their messages; each method is one transaction."""

    def __init__(self, database: Database, clock: Clock, sealer: SecretSealer | None = None) -> None:
        """`sealer` encrypts the secrets; they are stored as they are without one."""
        self._database = database
        self._clock = clock
        self._sealer = sealer or SecretSealer()

    async def add(self, webhook: Webhook) -> None:
        """Store a new webhook."""
        kinds, conditions = json.dumps(webhook.kinds), codec.dumps(webhook.conditions)
        secret = self._sealer.seal(webhook.secret)
        row = row_of(webhooks, webhook, kinds=kinds, conditions=conditions, secret=secret)
        await self._database.write(lambda connection: connection.execute(insert(webhooks), row))

    async def list(self, team_id: str) -> tuple[Webhook, ...]:
        """The team's webhooks, oldest first."""
        query = select(webhooks).where(webhooks.c.team_id == team_id).order_by(webhooks.c.created_at, webhooks.c.id)
        return await self._database.read(lambda connection: tuple(map(self._opened, connection.execute(query))))

    async def get(self, team_id: str, webhook_id: str) -> Webhook:
        """One webhook. Raises `NotFoundError`."""
        return await self._database.read(lambda connection: self._opened(_one(connection, team_id, webhook_id)))

    @writes
    def enable(
        self, connection: Connection, team_id: str, webhook_id: str, *, enabled: bool, note: str | None
    ) -> Webhook:
        """Switch a webhook on or off, with the reason. Raises `NotFoundError`."""
        own = (webhooks.c.team_id == team_id) & (webhooks.c.id == webhook_id)
        connection.execute(update(webhooks).where(own).values(enabled=enabled, note=note))
        return self._opened(_one(connection, team_id, webhook_id))

    @writes
    def seal_all(self, connection: Connection) -> int:
        """Encrypt every secret by the first key: those that are not encrypted yet, and those of earlier keys; how many.

        Raises `ConfigurationError` without a key, and for a secret whose key is missing."""
        if not self._sealer.seals:
            raise ConfigurationError(f"there is no key to seal with: set {KEYS} (kernelwright db new-key makes one)")
        found = connection.execute(select(webhooks.c.id, webhooks.c.secret).with_for_update()).all()
        for row in found:
            secret = self._sealer.seal(self._sealer.open(row.secret))
            connection.execute(update(webhooks).where(webhooks.c.id == row.id).values(secret=secret))
        return len(found)

    def _opened(self, row: Row[Any]) -> Webhook:
        return _webhook(row, self._sealer.open(row.secret))

    @writes
    def remove(self, connection: Connection, team_id: str, webhook_id: str) -> None:
        """Remove a webhook with its messages. Raises `NotFoundError`."""
        _one(connection, team_id, webhook_id)
        connection.execute(delete(webhook_deliveries).where(webhook_deliveries.c.webhook_id == webhook_id))
        connection.execute(delete(webhooks).where(webhooks.c.id == webhook_id))

    async def place(self, delivery: Delivery) -> None:
        """Store a message; one of its id changes nothing."""
        rows = [row_of(webhook_deliveries, delivery)]
        await self._database.write(lambda connection: insert_new(connection, webhook_deliveries, rows))

    async def deliveries(self, team_id: str, webhook_id: str, limit: int) -> tuple[Delivery, ...]:
        """A webhook's messages, newest first."""
        table = webhook_deliveries.c
        own = select(webhook_deliveries).where(table.team_id == team_id, table.webhook_id == webhook_id)
        query = own.order_by(table.created_at.desc(), table.id).limit(limit)
        return await self._database.read(lambda connection: tuple(map(_delivery, connection.execute(query))))

    @writes
    def resend(self, connection: Connection, team_id: str, webhook_id: str, delivery_id: str) -> Delivery:
        """Make a message due now, with all its attempts before it. Raises `NotFoundError`."""
        table = webhook_deliveries.c
        own = (table.id == delivery_id) & (table.team_id == team_id) & (table.webhook_id == webhook_id)
        fresh = {"status": str(DeliveryStatus.PENDING), "attempts": 0, "due_at": self._clock.now(), "ended_at": None}
        connection.execute(update(webhook_deliveries).where(own).values(**fresh))
        row = connection.execute(select(webhook_deliveries).where(own)).one_or_none()
        if row is None:
            raise NotFoundError(f"no message {delivery_id} of webhook {webhook_id}")
        return _delivery(row)

    async def claim(
        self, limit: int, lease_s: float, *, each: int | None = None, busy: Collection[str] = ()
    ) -> tuple[tuple[Webhook, Delivery], ...]:
        """Take messages that are due, of webhooks that are on and not busy."""
        now = self._clock.now()
        again = now + timedelta(seconds=lease_s)
        due = _due(now, limit, each, busy)
        locked = due.with_for_update(of=webhook_deliveries, skip_locked=True)

        def work(connection: Connection) -> tuple[tuple[Webhook, Delivery], ...]:
            names = connection.execute(locked).scalars().all()
            if not names:
                return ()
            mine = webhook_deliveries.c.id.in_(names)
            taken = {"attempts": webhook_deliveries.c.attempts + 1, "due_at": again}
            connection.execute(update(webhook_deliveries).where(mine).values(**taken))
            found = tuple(map(_delivery, connection.execute(select(webhook_deliveries).where(mine))))
            receivers = select(webhooks).where(webhooks.c.id.in_({one.webhook_id for one in found}))
            known = {row.id: self._opened(row) for row in connection.execute(receivers)}
            return tuple((known[one.webhook_id], one) for one in found)

        if not await self._database.read(lambda connection: connection.execute(due.limit(1)).first()):
            return ()  # the usual case must not take SQLite's one writing transaction
        return await self._database.write(work)

    async def settle(self, delivery: Delivery, outcome: DeliveryOutcome, due_at: datetime | None) -> bool:
        """Store what came of a claimed message's attempt; False where somebody else has claimed it since."""
        table = webhook_deliveries.c
        mine = (table.id == delivery.id) & (table.attempts == delivery.attempts)
        mine &= table.status == str(DeliveryStatus.PENDING)
        values: dict[str, Any] = {"answer": outcome.answer, "fault": outcome.fault}
        if due_at is None:
            status = DeliveryStatus.DELIVERED if outcome.delivered else DeliveryStatus.FAILED
            values |= {"status": str(status), "ended_at": self._clock.now()}
        else:
            values |= {"due_at": due_at}
        query = update(webhook_deliveries).where(mine).values(**values).returning(table.id)
        return await self._database.write(lambda connection: connection.execute(query).first() is not None)

    @writes
    def prune(self, connection: Connection, before: datetime) -> int:
        """Remove messages that ended before a time; how many."""
        old = webhook_deliveries.c.ended_at < before
        count = select(func.count()).select_from(webhook_deliveries).where(old)
        found: int = connection.execute(count).scalar_one()
        connection.execute(delete(webhook_deliveries).where(old))
        return found


def _due(now: datetime, limit: int, each: int | None, busy: Collection[str]) -> Select[Any]:
    """Ids of messages to send. Locked, others who look at the same time get others (PostgreSQL), or wait (SQLite)."""
    table = webhook_deliveries.c
    turn = func.row_number().over(partition_by=table.webhook_id, order_by=(table.due_at, table.id)).label("turn")
    due = (
        select(table.id, turn)
        .join(webhooks, webhooks.c.id == table.webhook_id)
        .where(table.status == str(DeliveryStatus.PENDING), table.due_at <= now, webhooks.c.enabled)
        .where(table.webhook_id.not_in(busy))
        .subquery()
    )
    first = select(due.c.id) if each is None else select(due.c.id).where(due.c.turn <= each)
    return select(table.id).where(table.id.in_(first)).order_by(table.due_at, table.id).limit(limit)


def _one(connection: Connection, team_id: str, webhook_id: str) -> Row[Any]:
    own = select(webhooks).where(webhooks.c.id == webhook_id, webhooks.c.team_id == team_id)
    row = connection.execute(own).one_or_none()
    if row is None:
        raise NotFoundError(f"no webhook {webhook_id}")
    return row


def _facts(connection: Connection, team_id: str, job_id: str) -> WebhookJob:
    """What conditions ask about a job, looked up where one asks."""
    row = connection.execute(select(jobs.c.name, jobs.c.spec).where(jobs.c.id == job_id)).one()
    spec = json.loads(row.spec)

    def leads(speedup: float) -> bool:
        rivals = (
            select(jobs.c.spec)
            .join(evaluations, evaluations.c.candidate_id == jobs.c.best_candidate_id)
            .where(jobs.c.team_id == team_id, jobs.c.name == row.name, jobs.c.id != job_id)
            .where(evaluations.c.team_id == team_id, evaluations.c.speedup >= speedup)
        )
        devices = (json.loads(found).get("device") for found in connection.execute(rivals).scalars())
        return spec.get("device") not in devices

    return WebhookJob(tags=spec.get("tags", ()), leads=leads)


def _webhook(row: Row[Any], secret: str) -> Webhook:
    kinds = tuple(EventKind(kind) for kind in json.loads(row.kinds))
    conditions = codec.loads(WebhookConditions, row.conditions)
    return value_of(Webhook, row, kinds=kinds, conditions=conditions, secret=secret)


def _delivery(row: Row[Any]) -> Delivery:
    return value_of(Delivery, row)
