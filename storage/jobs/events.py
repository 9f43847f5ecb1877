"""A job's event log: gapless numbers, prompt delivery."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Text, bindparam, insert, select, update

from services.domain.codec import dumps
from services.domain.errors import NotFoundError
from services.domain.events import Event, EventKind, JsonValue
from services.domain.jobs import JobStatus
from services.domain.steps import NewEvent
from services.domain.webhooks import DELIVERABLE
from services.ports.runtime import Clock
from storage.database import Database
from storage.db.mapping import row_of
from storage.jobs.event_polling import Followers, as_event
from storage.tables import events, jobs
from storage.teams.webhooks import listening, place_messages

POLL_S = 0.1
"""How often a follower looks for events that another process wrote, in seconds."""
ORPHAN_S = 5.0
"""How long a follower waits for the `job.finished` of a job that is final already before it ends without."""
PAGE = 500

_COUNT = (
    update(jobs)
    .where(jobs.c.id == bindparam("job"))
    .values(event_seq=jobs.c.event_seq + bindparam("more"))
    .returning(jobs.c.event_seq, jobs.c.team_id)
)
_INSERT = insert(events)
_PAGE = (
    select(events)
    .where(events.c.job_id == bindparam("job"), events.c.seq > bindparam("after"))
    .order_by(events.c.seq)
    .limit(bindparam("page"))
)


def _one_by_one(count: Any) -> Any:
    """Counts and inserts one event by one statement, as PostgreSQL can; nothing where nothing was counted."""
    counted = count.cte("counted")
    given = [bindparam(name, type_=events.c[name].type) for name in ("kind", "data", "at")]
    row = select(bindparam("job", type_=Text), counted.c.event_seq, counted.c.team_id, *given)
    return insert(events).from_select(["job_id", "seq", "team_id", "kind", "data", "at"], row).returning(events.c.seq)


_APPEND = _one_by_one(_COUNT)
_APPEND_UNHEARD = _one_by_one(_COUNT.where(~listening(jobs.c.team_id)))
"""The same for an event that receivers may wait for, where there are none."""


def append_events(connection: Connection, job_id: str, new: Sequence[NewEvent], at: datetime) -> tuple[Event, ...]:
    """Add events within the caller's transaction. Raises `NotFoundError`.

    The counter on the job's row gives the numbers: its lock keeps writers in order, and a rollback takes the numbers
    back, so that there are no gaps.
    """
    if not new:
        return ()
    row = connection.execute(_COUNT, {"job": job_id, "more": len(new)}).one_or_none()
    if row is None:
        raise NotFoundError(f"no job {job_id}")
    return write_events(connection, row.team_id, job_id, row.event_seq - len(new) + 1, new, at)


def write_events(
    connection: Connection, team_id: str, job_id: str, first: int, new: Sequence[NewEvent], at: datetime
) -> tuple[Event, ...]:
    """Write events from the number `first` on, which the job's row has counted in this very transaction."""
    log = tuple(
        Event(job_id=job_id, seq=first + offset, kind=item.kind, data=dict(item.data), at=at)
        for offset, item in enumerate(new)
    )
    connection.execute(_INSERT, [row_of(events, event, team_id=team_id, data=dumps(event.data)) for event in log])
    place_messages(connection, team_id, log)
    return log


class SqlEventLog:
    """The `EventLog` port over the database."""

    def __init__(self, database: Database, clock: Clock, *, poll_s: float = POLL_S, orphan_s: float = ORPHAN_S) -> None:
        self._database = database
        self._clock = clock
        self._followers = Followers(database, poll_s)
        self._orphan_s = orphan_s

    async def append(self, job_id: str, kind: EventKind, data: Mapping[str, JsonValue]) -> Event:
        """Add one event. Raises `NotFoundError` where there is no such job."""
        new = NewEvent(kind=kind, data=dict(data))
        at = self._clock.now()
        event = await self._append_one(job_id, new, at) if self._database.is_postgres else None
        if event is None:
            (event,) = await self._database.write(lambda connection: append_events(connection, job_id, [new], at))
        self._database.changes.notify(job_id)
        return event

    async def _append_one(self, job_id: str, new: NewEvent, at: datetime) -> Event | None:
        """The event that was added by one statement; None where there is no such job, or messages must go with it."""
        statement = _APPEND_UNHEARD if new.kind in DELIVERABLE else _APPEND
        row = {"job": job_id, "more": 1, "kind": str(new.kind), "data": dumps(new.data), "at": at}
        seq = await self._database.write_one(lambda connection: connection.execute(statement, row).scalar())
        return None if seq is None else Event(job_id=job_id, seq=seq, kind=new.kind, data=dict(new.data), at=at)

    async def read(self, job_id: str, after: int = 0, limit: int = PAGE) -> tuple[Event, ...]:
        """Events with `seq > after`, in order."""
        place = {"job": job_id, "after": after, "page": limit}
        rows = await self._database.read(lambda connection: connection.execute(_PAGE, place).all())
        return tuple(map(as_event, rows))

    async def follow(self, job_id: str, after: int = 0) -> AsyncIterator[Event]:
        """Events with `seq > after` as they come; ends after `job.finished`. Raises `NotFoundError`.

        A job whose orchestrator died between its final status and its last event has no `job.finished`; its followers
        end some seconds later.
        """
        resumed, behind = after > 0, True
        with self._followers.follow(job_id) as changed:
            while True:
                woken = changed.is_set()
                changed.clear()
                page = self._followers.tail(job_id, after) or ()
                # Not at hand: the past, and what this process has written since the last look.
                if not page and (woken or behind):
                    page = await self.read(job_id, after)
                    behind = len(page) == PAGE
                for event in page:
                    after = event.seq
                    yield event
                    if event.kind is EventKind.JOB_FINISHED and not await self.read(job_id, after, 1):
                        return  # nothing follows: the job was not resumed since
                if page:
                    continue
                if resumed and await self._is_over(job_id, after):
                    return
                resumed = False
                if await self._ended_in_silence(job_id, after, changed):
                    return

    async def _ended_in_silence(self, job_id: str, after: int, changed: asyncio.Event) -> bool:
        """Wait for something new. True when the job is final and no more events will come."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._orphan_s):
                await changed.wait()
        if changed.is_set():
            return False
        position = self._followers.position(job_id)
        if position is None:
            return await self._is_final(job_id)
        return position.final and not await self.read(job_id, after, 1)

    async def _is_over(self, job_id: str, after: int) -> bool:
        """Whether the caller has seen `job.finished` before: it resumed at or behind the end."""
        query = select(events.c.kind).where(events.c.job_id == job_id, events.c.seq <= after)
        last = query.order_by(events.c.seq.desc()).limit(1)
        kind = await self._database.read(lambda connection: connection.execute(last).scalar_one_or_none())
        return after > 0 and kind == EventKind.JOB_FINISHED

    async def _is_final(self, job_id: str) -> bool:
        query = select(jobs.c.status).where(jobs.c.id == job_id)
        status = await self._database.read(lambda connection: connection.execute(query).scalar_one_or_none())
        if status is None:
            raise NotFoundError(f"no job {job_id}")
        return JobStatus(status).is_final
