"""Quotas in a dictionary, and use as the stores in memory have recorded it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from services.domain.errors import NotFoundError
from services.domain.quotas import Period, Quota, Resource
from services.domain.usage import Usage
from services.ports.teams import QuotaStore
from services.testing.database import InMemoryDatabase


class InMemoryQuotaStore(QuotaStore):
    """A `QuotaStore` that counts anew at each call."""

    def __init__(self, database: InMemoryDatabase) -> None:
        self._database = database

    async def limits(self, team_id: str) -> tuple[Quota, ...]:
        """A team's limits."""
        own = [(key, quota) for key, quota in self._database.quotas.items() if key[0] == team_id]
        return tuple(quota for _, quota in sorted(own, key=lambda item: item[0]))

    async def limited_teams(self) -> tuple[str, ...]:
        """Teams that have limits."""
        return tuple(sorted({team for team, _, _ in self._database.quotas}))

    async def set(self, team_id: str, quota: Quota, actor: str) -> None:
        """Set a limit. Raises `NotFoundError`."""
        self._check_team(team_id)
        self._database.quotas[team_id, quota.resource, quota.period] = quota
        told = f"{quota.resource}: {quota.most:g} a {quota.period}"
        self._database.enter(team_id, actor, "set_quota", team_id, told)

    async def drop(self, team_id: str, resource: Resource, period: Period, actor: str) -> None:
        """Take a limit away. Raises `NotFoundError`."""
        self._check_team(team_id)
        if self._database.quotas.pop((team_id, resource, period), None) is not None:
            self._database.enter(team_id, actor, "drop_quota", team_id, f"{resource} a {period}")

    async def used(self, team_id: str, wanted: Sequence[tuple[Resource, datetime]]) -> tuple[float, ...]:
        """What a team has used of each resource since a moment, in that order."""
        return tuple(self._used(team_id, resource, since) for resource, since in wanted)

    def _used(self, team_id: str, resource: Resource, since: datetime) -> float:
        if resource is Resource.JOBS:
            jobs = self._database.jobs.values()
            return float(sum(job.team_id == team_id and job.created_at >= since for job in jobs))
        if resource is Resource.DEVICE_S:
            judged = self._database.judged.items()
            own = (name for name, (request, at) in judged if request.team_id == team_id and at >= since)
            return sum(self._database.reports[name].phases_s.total for name in own)
        calls = list(self._calls(team_id, since))
        return float(sum(one.tokens if resource is Resource.TOKENS else one.dollars or 0.0 for one in calls))

    async def record(self, team_id: str, usage: Usage) -> None:
        """Count model calls that belong to no job. Raises `NotFoundError`."""
        self._check_team(team_id)
        self._database.playground_calls.append((team_id, self._database.clock.now(), usage))

    def _calls(self, team_id: str, since: datetime) -> Iterator[Usage]:
        yield from (usage for team, at, usage in self._database.playground_calls if team == team_id and at >= since)
        for steps in self._database.steps.values():
            yield from (step.usage for step in steps if step.team_id == team_id and step.finished_at >= since)

    def _check_team(self, team_id: str) -> None:
        if team_id not in self._database.teams:
            raise NotFoundError(f"no team {team_id}")
