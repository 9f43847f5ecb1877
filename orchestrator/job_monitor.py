"""What happens beside a running job: its lease is renewed, and what people ask for and the wall budget are seen."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from agents.workflow.context import LeaseHolder
from orchestrator.lease_renewal import LeaseRenewal, is_due
from services.domain.errors import LeaseLostError, StorageError
from services.domain.jobs import ControlFlags, Job
from services.ports.runtime import Clock


class Interruption(StrEnum):
    """Why work on a job is stopped from outside."""

    CANCEL = "cancel"
    PAUSE = "pause"
    WALL = "wall"
    LEASE_LOST = "lease lost"


@dataclass(frozen=True, kw_only=True)
class PollingIntervals:
    """How often to look."""

    lease_ttl_s: float = 15.0
    """How long a lease holds without renewal; it is renewed three times as often."""
    poll_s: float = 0.8
    """Time between two looks at a job's flags; what one look finds serves all jobs for half as long."""


class JobMonitor:
    """Looks after one leased job."""

    def __init__(
        self, job: Job, renewal: LeaseRenewal, clock: Clock, polling: PollingIntervals, lease: LeaseHolder
    ) -> None:
        self._wall_s = job.spec.budget.wall_s
        self._renewal = renewal
        self._since = clock.monotonic()
        self._clock = clock
        self._polling = polling
        self._lease = lease
        self._wall_end: datetime | None = None

    async def until_interrupted(self, work: asyncio.Task[Any]) -> Interruption | None:
        """Wait for the work's end (None), or for a reason to stop it; the work itself is not touched."""
        interrupted = asyncio.create_task(self._interruption())
        try:
            await asyncio.wait({work, interrupted}, return_when=asyncio.FIRST_COMPLETED)
            return None if work.done() else interrupted.result()
        finally:
            interrupted.cancel()
            await asyncio.gather(interrupted, return_exceptions=True)

    async def until_resumed(self) -> Interruption | None:
        """Wait until a paused job is wanted again (None) or for another reason to stop."""
        while (found := await self._look(paused=True)) is Interruption.PAUSE:
            await self._clock.sleep(self._polling.poll_s)
        return found

    async def _interruption(self) -> Interruption:
        while True:
            found = await self._look()
            if found is not None:
                return found
            await self._clock.sleep(self._nap_s())

    def _nap_s(self) -> float:
        """Until the next look, which the end of the wall budget may bring forward."""
        if self._wall_end is None:
            return self._polling.poll_s
        left = (self._wall_end - self._clock.now()).total_seconds()
        return min(self._polling.poll_s, max(left, 0.001))

    async def _look(self, *, paused: bool = False) -> Interruption | None:
        """Renew the lease when it is due, then read what is wanted. A database out of reach is asked again later."""
        try:
            if is_due(self._lease):
                await self._renewal.renew(self._lease)
            control_flags = await self._renewal.look(self._lease.current, self._since)
        except LeaseLostError:
            return Interruption.LEASE_LOST
        except StorageError:
            return Interruption.PAUSE if paused else None
        if control_flags is None:
            return Interruption.LEASE_LOST
        if self._wall_s is not None and control_flags.started_at is not None:
            self._wall_end = control_flags.started_at + timedelta(seconds=self._wall_s)
        return self._wanted(control_flags)

    def _wanted(self, control_flags: ControlFlags) -> Interruption | None:
        if control_flags.cancel_requested:
            return Interruption.CANCEL
        if self._wall_end is not None and self._clock.now() >= self._wall_end:
            return Interruption.WALL
        return Interruption.PAUSE if control_flags.pause_requested else None
