"""Quotas at work: nothing new is taken once one is used up, and what runs is paused."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from services.domain.errors import ConfigurationError, ConflictError, LimitError
from services.domain.events import EventKind
from services.domain.jobs import JobFilter, JobStatus
from services.domain.quotas import Period, Quota, QuotaUsage, Resource
from services.domain.usage import Usage
from services.ports.jobs import EventLog, JobStore
from services.ports.runtime import Clock
from services.ports.teams import QuotaStore

log = logging.getLogger(__name__)
_ACTIVE = frozenset({JobStatus.QUEUED, JobStatus.VALIDATING, JobStatus.RUNNING})
_PAGE = 200


class QuotaService:
    """The use cases of quotas."""

    def __init__(self, quotas: QuotaStore, clock: Clock) -> None:
        self._quotas = quotas
        self._clock = clock

    async def usage(self, team_id: str) -> tuple[QuotaUsage, ...]:
        """A team's limits with their use."""
        now = self._clock.now()
        limits = await self._quotas.limits(team_id)
        used = await self._quotas.used(team_id, [(quota.resource, quota.period.start(now)) for quota in limits])
        return tuple(
            QuotaUsage(quota=quota, used=amount, resets_at=quota.period.end(now))
            for quota, amount in zip(limits, used, strict=True)
        )

    async def limits(self, team_id: str) -> tuple[Quota, ...]:
        """A team's limits."""
        return await self._quotas.limits(team_id)

    async def set(self, team_id: str, quota: Quota, actor: str) -> None:
        """Set a limit. Raises `NotFoundError` for an unknown team, `ConfigurationError` for a limit below zero."""
        if not 0 <= quota.most < float("inf"):
            raise ConfigurationError(f"a quota is a number from 0 on, not {quota.most}")
        await self._quotas.set(team_id, quota, actor)
        await self.usage(team_id)  # counted here, so that no submission waits for it

    async def drop(self, team_id: str, resource: Resource, period: Period, actor: str) -> None:
        """Take a limit away; harmless where there is none. Raises `NotFoundError` for an unknown team."""
        await self._quotas.drop(team_id, resource, period, actor)

    async def admit(self, team_id: str) -> None:
        """Raise `LimitError` where a quota leaves no room for one more job."""
        spent = _spent(await self.usage(team_id))
        if spent is not None:
            left_s = (spent.resets_at - self._clock.now()).total_seconds()
            raise LimitError(_told(spent), retry_after_s=max(1.0, left_s))

    async def record(self, team_id: str, usage: Usage) -> None:
        """Count model calls that belong to no job. Raises `NotFoundError` for an unknown team."""
        await self._quotas.record(team_id, usage)

    async def count(self) -> None:
        """Count what limited teams have used so far: later checks add only what is new."""
        for team_id in await self._quotas.limited_teams():
            await self.usage(team_id)

    async def enforce(self, jobs: JobStore, events: EventLog) -> tuple[str, ...]:
        """Pause what teams run that have used up tokens, dollars or device time; ids of the paused jobs."""
        paused: list[str] = []
        for team_id in await self._quotas.limited_teams():
            running = [item for item in await self.usage(team_id) if item.quota.resource is not Resource.JOBS]
            spent = _spent(running)
            if spent is not None:
                paused += await self._pause_all(team_id, _told(spent), jobs, events)
        return tuple(paused)

    async def _pause_all(self, team_id: str, why: str, jobs: JobStore, events: EventLog) -> list[str]:
        page = await jobs.list(team_id, wanted=JobFilter(statuses=_ACTIVE), limit=_PAGE)
        paused = []
        for job in page.jobs:
            if job.pause_requested:
                continue
            try:
                await jobs.request(team_id, job.id, "pause")
            except ConflictError:  # it has just ended
                continue
            message = f"paused: {why}; resume it when there is room again"
            await events.append(job.id, EventKind.JOB_NOTICE, {"step": job.steps_done, "message": message})
            log.warning("job %s was %s", job.id, message)
            paused.append(job.id)
        return paused


def _spent(usages: Iterable[QuotaUsage]) -> QuotaUsage | None:
    """The used-up quota that stays used up longest; None where there is room."""
    return max((item for item in usages if item.is_spent), key=lambda item: item.resets_at, default=None)


def _told(spent: QuotaUsage) -> str:
    quota = spent.quota
    return (
        f"the team's quota of {quota.most:g} {quota.resource} a {quota.period} is used up ({spent.used:g}), until "
        f"{spent.resets_at:%Y-%m-%d %H:%M} UTC"
    )
