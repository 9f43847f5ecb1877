"""What people want of the jobs that run here: one query for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from services.domain.jobs import Lease, Wishes
from services.ports import Clock, JobStore


class Lookout:
    """Shares one reading of all wishes between the watches of an orchestrator's jobs."""

    def __init__(self, jobs: JobStore, clock: Clock, owner: str, *, fresh_s: float) -> None:
        """`fresh_s`: how old a reading may be that another watch asked for."""
        self._jobs = jobs
        self._clock = clock
        self._owner = owner
        self._fresh_s = fresh_s
        self._lock = asyncio.Lock()
        self._asked_at: float | None = None
        self._found: Mapping[str, Wishes] = {}

    async def look(self, lease: Lease, since: float) -> Wishes | None:
        """What is wanted of a job that is held since then (monotonic); None where it is no longer held under this
        lease. Raises `StorageError`."""
        async with self._lock:
            now = self._clock.monotonic()
            # A reading from before the job was taken knows nothing of it.
            if self._asked_at is None or self._asked_at <= since or now - self._asked_at >= self._fresh_s:
                self._found = await self._jobs.wishes(self._owner)
                self._asked_at = now
        found = self._found.get(lease.job_id)
        return found if found is not None and found.token == lease.token else None
