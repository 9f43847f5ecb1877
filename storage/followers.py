"""Who follows which job: one query for all of them, however many clients watch."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import select

from services.domain.errors import StorageError
from services.domain.jobs import JobStatus
from storage.database import Database
from storage.tables import jobs

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Where a job's log stands."""

    last_seq: int
    final: bool


class Followers:
    """Looks at the logs that somebody follows, and wakes those whose log has grown or whose job has ended."""

    def __init__(self, database: Database, poll_s: float) -> None:
        self._database = database
        self._poll_s = poll_s
        self._followed: Counter[str] = Counter()
        self._standing: dict[str, Standing | None] = {}
        self._polling: asyncio.Task[None] | None = None

    @contextmanager
    def follow(self, job_id: str) -> Iterator[asyncio.Event]:
        """An event that is set when there is something new, while the context lasts."""
        self._followed[job_id] += 1
        if self._polling is None or self._polling.done():
            self._polling = asyncio.create_task(self._poll())
        try:
            with self._database.changes.watch(job_id) as changed:
                yield changed
        finally:
            self._followed[job_id] -= 1
            if not self._followed[job_id]:
                del self._followed[job_id]
                self._standing.pop(job_id, None)

    def standing(self, job_id: str) -> Standing | None:
        """As it was at the last look; None before the first one."""
        return self._standing.get(job_id)

    async def _poll(self) -> None:
        """Ends when nobody follows any more."""
        while self._followed:
            try:
                await self._look()
            except StorageError as error:
                log.warning("followers wait for the database: %s", error)
                await asyncio.sleep(1.0)
            await asyncio.sleep(self._poll_s)

    async def _look(self) -> None:
        query = select(jobs.c.id, jobs.c.event_seq, jobs.c.status).where(jobs.c.id.in_(tuple(self._followed)))
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        for job_id, last_seq, status in rows:
            found = Standing(last_seq=last_seq, final=JobStatus(status).is_final)
            if job_id in self._followed and self._standing.get(job_id) != found:
                self._standing[job_id] = found
                self._database.changes.notify(job_id)
