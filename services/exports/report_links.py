"""Use cases of report links: create, list, revoke and open one. Takes ports."""

from __future__ import annotations

import uuid
from datetime import timedelta

from services.domain.access import ReportShare, new_token, token_digest
from services.domain.errors import ConfigurationError, ConflictError, NotFoundError
from services.exports import Exporter
from services.exports.winner import check_proven
from services.jobs.service import JobService
from services.ports.runtime import Clock
from services.ports.teams import ShareStore

MOST_DAYS = 365
CLOSED = "This link has expired, was revoked or is incomplete. Ask for a new one."
UNPROVEN = "This report can be read again once today's referee has verified its kernel. Ask the team that shared it."


class ShareService:
    """Read-only links to one job's report."""

    def __init__(self, shares: ShareStore, jobs: JobService, exporter: Exporter, clock: Clock) -> None:
        self._shares = shares
        self._jobs = jobs
        self._exporter = exporter
        self._clock = clock

    async def create(self, team_id: str, job_id: str, days: float) -> tuple[ReportShare, str]:
        """A new link to a job, and its token, which cannot be recovered.

        Raises `NotFoundError`, `ConflictError` where only an older referee accepted the job's kernel, and
        `ConfigurationError` for a time that is not more than 0 and at most 365 days."""
        if not 0 < days <= MOST_DAYS:
            raise ConfigurationError(f"a link must expire in more than 0 and at most {MOST_DAYS} days, not {days}")
        await self._check(team_id, job_id)
        now, token = self._clock.now(), new_token()
        share = ReportShare(
            id=f"share-{uuid.uuid4().hex[:20]}",
            team_id=team_id,
            job_id=job_id,
            digest=token_digest(token),
            created_at=now,
            expires_at=now + timedelta(days=days),
        )
        await self._shares.add(share)
        return share, token

    async def list(self, team_id: str, job_id: str) -> tuple[ReportShare, ...]:
        """A job's links, newest first, revoked and expired ones too. Raises `NotFoundError`."""
        await self._jobs.get(team_id, job_id)
        return await self._shares.list(team_id, job_id)

    async def revoke(self, team_id: str, job_id: str, share_id: str) -> ReportShare:
        """Close a link at once; again is harmless. Raises `NotFoundError`, and `DeletedError` where its job is gone."""
        await self._jobs.get(team_id, job_id)
        return await self._shares.revoke(team_id, job_id, share_id)

    async def page(self, token: str) -> str:
        """The report behind a link. Raises `NotFoundError`: the same whatever is wrong with the link, another one
        where the job's kernel has to be verified again."""
        share = await self._shares.find(token_digest(token))
        if share is None or not share.is_open(self._clock.now()):
            raise NotFoundError(CLOSED)
        try:
            await self._check(share.team_id, share.job_id)
            return await self._exporter.to_page(share.team_id, share.job_id)
        except NotFoundError:  # its job was deleted
            raise NotFoundError(CLOSED) from None
        except ConflictError:
            raise NotFoundError(UNPROVEN) from None

    async def _check(self, team_id: str, job_id: str) -> None:
        """Raises `NotFoundError`, and `ConflictError` for a kernel that is not to be shared."""
        best = await self._jobs.best(team_id, job_id)
        if best is not None:
            check_proven(best)
