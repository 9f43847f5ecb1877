"""What people want of the jobs that run here, and the leases on them: one statement for all of each."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from agents.workflow.context import LeaseHolder
from services.domain.jobs import ControlFlags, Lease
from services.ports.jobs import JobStore
from services.ports.runtime import Clock

DUE, SOON, OVERDUE = 2 / 3, 0.8, 1 / 3
"""Shares of a lease's time that are left: when it is renewed, when it is renewed together with others, and when it no
longer waits for a moment in which nobody writes to its job."""


def is_due(lease: LeaseHolder, share: float = DUE) -> bool:
    """Whether no more than this share of a lease's time is left, or more than all of it: the clock was set back."""
    return not share < lease.left() < 1.05


class LeaseRenewal:
    """Shares reads of all control flags and renewals of all leases between the monitors of an orchestrator's jobs."""

    def __init__(self, jobs: JobStore, clock: Clock, owner: str, *, fresh_s: float, lease_ttl_s: float) -> None:
        """`fresh_s`: how old a reading may be that another watch asked for."""
        self._lease_ttl_s = lease_ttl_s
        self._held: dict[str, LeaseHolder] = {}
        self._renewing = asyncio.Lock()
        self._jobs = jobs
        self._clock = clock
        self._owner = owner
        self._fresh_s = fresh_s
        self._lock = asyncio.Lock()
        self._asked_at: float | None = None
        self._found: Mapping[str, ControlFlags] = {}

    @contextmanager
    def holding(self, lease: LeaseHolder) -> Iterator[None]:
        """The lease is renewed with the others while the context lasts."""
        job_id = lease.current.job_id
        self._held[job_id] = lease
        try:
            yield
        finally:
            if self._held.get(job_id) is lease:
                del self._held[job_id]

    async def renew(self, lease: LeaseHolder) -> None:
        """Extend a lease that is due, and with it all that soon are. Raises `LeaseLostError`, `StorageError`.

        One to whose job somebody is writing may stay as it is until the next look."""
        async with self._renewing:
            if lease.left() < OVERDUE:
                await lease.renew()
            if not is_due(lease):
                return
            due = {job_id: held for job_id, held in self._held.items() if is_due(held, SOON)}
            for renewed in await self._jobs.renew_all([held.current for held in due.values()], self._lease_ttl_s):
                due[renewed.job_id].current = renewed

    async def look(self, lease: Lease, since: float) -> ControlFlags | None:
        """What is wanted of a job that is held since then (monotonic); None where it is no longer held under this
        lease. Raises `StorageError`."""
        async with self._lock:
            now = self._clock.monotonic()
            # A reading from before the job was taken knows nothing of it.
            if self._asked_at is None or self._asked_at <= since or now - self._asked_at >= self._fresh_s:
                self._found = await self._jobs.control_flags(self._owner)
                self._asked_at = now
        found = self._found.get(lease.job_id)
        return found if found is not None and found.token == lease.token else None
