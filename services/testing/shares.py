"""Links to reports in a dictionary."""

from __future__ import annotations

from dataclasses import replace

from services.domain.access import ReportShare
from services.domain.errors import NotFoundError
from services.ports.runtime import Clock
from services.ports.teams import ShareStore


class InMemoryShareStore(ShareStore):
    """A `ShareStore` of its own."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[str, ReportShare] = {}

    async def add(self, share: ReportShare) -> None:
        """Store a new link."""
        self._known[share.id] = share

    async def find(self, digest: str) -> ReportShare | None:
        """The link whose token has this digest."""
        return next((share for share in self._known.values() if share.digest == digest), None)

    async def list(self, team_id: str, job_id: str) -> tuple[ReportShare, ...]:
        """A job's links, newest first."""
        own = [share for share in self._known.values() if (share.team_id, share.job_id) == (team_id, job_id)]
        return tuple(sorted(sorted(own, key=lambda share: share.id), key=lambda share: share.created_at, reverse=True))

    async def revoke(self, team_id: str, job_id: str, share_id: str) -> ReportShare:
        """Close a link; again is harmless. Raises `NotFoundError`."""
        share = self._known.get(share_id)
        if share is None or (share.team_id, share.job_id) != (team_id, job_id):
            raise NotFoundError(f"no link {share_id}")
        if share.revoked_at is None:
            share = self._known[share_id] = replace(share, revoked_at=self._clock.now())
        return share
