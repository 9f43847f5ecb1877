"""A job's lease while it is worked on."""

from __future__ import annotations

from services.domain.jobs import Lease
from services.ports.jobs import JobStore
from services.ports.runtime import Clock


class LeaseHolder:
    """The lease in its latest renewal."""

    def __init__(self, lease: Lease, jobs: JobStore, clock: Clock, ttl_s: float) -> None:
        self.current = lease
        self._jobs = jobs
        self._clock = clock
        self._ttl_s = ttl_s

    async def renew(self) -> None:
        """Extend the lease. Raises `LeaseLostError`."""
        self.current = await self._jobs.renew(self.current, self._ttl_s)

    def left(self) -> float:
        """The share of its time that is left; below zero when it has run out."""
        return (self.current.expires_at - self._clock.now()).total_seconds() / self._ttl_s

    async def ensure(self) -> None:
        """Before a write that the store does not fence: a lease that has run out by our own clock (this process was
        asleep) may be somebody else's by now. Raises `LeaseLostError`."""
        if self._clock.now() >= self.current.expires_at:
            await self.renew()
