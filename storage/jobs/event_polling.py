"""Who follows which job: two queries for all of them, however many clients watch."""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, bindparam, select, tuple_

from services.domain.errors import StorageError
from services.domain.events import Event
from services.domain.jobs import JobStatus
from storage.database import Database
from storage.db.mapping import value_of
from storage.tables import events, jobs

log = logging.getLogger(__name__)
TAIL = 100
"""Newest events of a followed job that are kept at hand."""
MOST_EVENTS = 1000
"""Events that one look reads for all jobs; what is beyond, each follower reads for itself."""
_LOOK = select(jobs.c.id, jobs.c.event_seq, jobs.c.status).where(jobs.c.id.in_(bindparam("followed", expanding=True)))
_NEW = (
    select(events)
    .where(tuple_(events.c.job_id, events.c.seq).in_(bindparam("places", expanding=True)))
    .order_by(events.c.job_id, events.c.seq)
)


@dataclass(frozen=True, kw_only=True)
class LogPosition:
    """Where a job's log stands."""

    last_seq: int
    final: bool


class Followers:
    """Looks at the logs that somebody follows, reads what is new, and wakes those whose log has grown or whose job has
    ended."""

    def __init__(self, database: Database, poll_s: float) -> None:
        self._database = database
        self._poll_s = poll_s
        self._followed: Counter[str] = Counter()
        self._positions: dict[str, LogPosition | None] = {}
        self._tails: dict[str, tuple[Event, ...]] = {}
        """The newest events up to where a job's log stood at the last look, without gaps."""
        self._polling: asyncio.Task[None] | None = None

    @contextmanager
    def follow(self, job_id: str) -> Iterator[asyncio.Event]:
        """An event that is set when there is something new, while the context lasts."""
        self._followed[job_id] += 1
        if self._polling is None or self._polling.done():
            self._polling = asyncio.create_task(self._poll(), context=contextvars.Context())
        try:
            with self._database.changes.watch(job_id) as changed:
                yield changed
        finally:
            self._followed[job_id] -= 1
            if not self._followed[job_id]:
                del self._followed[job_id]
                self._positions.pop(job_id, None)
                self._tails.pop(job_id, None)

    def position(self, job_id: str) -> LogPosition | None:
        """As it was at the last look; None before the first one."""
        return self._positions.get(job_id)

    def tail(self, job_id: str, after: int) -> tuple[Event, ...] | None:
        """Events with `seq > after` as they were at the last look; None where they must be read."""
        position, tail = self._positions.get(job_id), self._tails.get(job_id, ())
        if position is None or after < position.last_seq - len(tail):
            return None
        return tail[max(0, len(tail) - (position.last_seq - after)) :]

    async def _poll(self) -> None:
        """Ends when no follower is left."""
        while self._followed:
            try:
                await self._look()
            except StorageError as error:
                log.warning("followers wait for the database: %s", error)
                await asyncio.sleep(1.0)
            except Exception:  # all who watch wait for this
                log.exception("looking at the logs that are followed: a fault of this program, trying again")
                await asyncio.sleep(1.0)
            await asyncio.sleep(self._poll_s)

    async def _look(self) -> None:
        followed = tuple(self._followed)
        before = {job_id: found.last_seq for job_id, found in self._positions.items() if found is not None}
        rows, new = await self._database.read(lambda connection: _read(connection, followed, before))
        for job_id, last_seq, status in rows:
            found = LogPosition(last_seq=last_seq, final=JobStatus(status).is_final)
            if job_id in self._followed and self._positions.get(job_id) != found:
                self._positions[job_id] = found
                self._tails[job_id] = _lengthened(self._tails.get(job_id, ()), new.get(job_id, ()), last_seq)
                self._database.changes.notify(job_id)


def as_event(row: Row[Any]) -> Event:
    """An event of the log."""
    return value_of(Event, row, data=json.loads(row.data))


def _read(
    connection: Connection, followed: tuple[str, ...], before: Mapping[str, int]
) -> tuple[list[Any], dict[str, list[Event]]]:
    """Where logs stand, and what was added to those whose position before is known."""
    rows = list(connection.execute(_LOOK, {"followed": followed}))
    places = [
        (job_id, seq)
        for job_id, last_seq, _ in rows
        if last_seq - before.get(job_id, last_seq) <= TAIL
        for seq in range(before.get(job_id, last_seq) + 1, last_seq + 1)
    ]
    new: dict[str, list[Event]] = {}
    if places:
        for row in connection.execute(_NEW, {"places": places[:MOST_EVENTS]}):
            new.setdefault(row.job_id, []).append(as_event(row))
    return rows, new


def _lengthened(tail: tuple[Event, ...], new: list[Event] | tuple[Event, ...], last_seq: int) -> tuple[Event, ...]:
    """The newest events without gaps up to the last one; none where that one was not read."""
    if not new or new[-1].seq != last_seq:
        return ()
    whole = (*tail, *new) if tail and tail[-1].seq + 1 == new[0].seq else tuple(new)
    return whole[-TAIL:]
