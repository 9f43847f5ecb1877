"""The `QuotaStore` port over the database: limits as rows, use counted from what was recorded."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, bindparam, delete, func, insert, select, true

from services.domain.errors import NotFoundError
from services.domain.quotas import Period, Quota, Resource
from services.domain.usage import Usage
from services.ports.runtime import Clock
from storage.database import Database
from storage.db.mapping import value_of
from storage.db.statements import upsert
from storage.db.transactions import writes
from storage.tables import evaluations, jobs, model_calls, playground_calls, quotas, steps, teams
from storage.teams.audit import enter

SETTLED = timedelta(minutes=5)
"""Age from which no transaction can still bring a row of that time."""
LONGEST_PERIOD = timedelta(days=32)
_LIMITS = select(quotas).where(quotas.c.team_id == bindparam("team")).order_by(quotas.c.resource, quotas.c.period)


class SqlQuotaStore:
    """Quotas; each method is one transaction."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._counted: dict[tuple[str, Resource, datetime], tuple[datetime, float]] = {}
        """Until when a use is counted for good, and what it was, by team, resource and beginning of the period."""

    async def limits(self, team_id: str) -> tuple[Quota, ...]:
        """A team's limits."""
        rows = await self._database.read(lambda connection: connection.execute(_LIMITS, {"team": team_id}).all())
        return tuple(value_of(Quota, row) for row in rows)

    async def limited_teams(self) -> tuple[str, ...]:
        """Teams that have limits."""
        query = select(quotas.c.team_id).distinct().order_by(quotas.c.team_id)
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return tuple(row.team_id for row in rows)

    @writes
    def set(self, connection: Connection, team_id: str, quota: Quota, actor: str) -> None:
        """Set a limit. Raises `NotFoundError` for an unknown team."""
        now = self._clock.now()
        key = {"team_id": team_id, "resource": str(quota.resource), "period": str(quota.period)}
        told = f"{quota.resource}: {quota.most:g} a {quota.period}"
        _check_team(connection, team_id)
        upsert(connection, quotas, [{**key, "most": quota.most}])
        enter(connection, now, team_id, actor, "set_quota", team_id, told)

    @writes
    def drop(self, connection: Connection, team_id: str, resource: Resource, period: Period, actor: str) -> None:
        """Take a limit away; harmless where there is none. Raises `NotFoundError` for an unknown team."""
        now = self._clock.now()
        own = (quotas.c.team_id == team_id) & (quotas.c.resource == str(resource)) & (quotas.c.period == str(period))
        _check_team(connection, team_id)
        if connection.execute(delete(quotas).where(own)).rowcount:
            enter(connection, now, team_id, actor, "drop_quota", team_id, f"{resource} a {period}")

    async def used(self, team_id: str, wanted: Sequence[tuple[Resource, datetime]]) -> tuple[float, ...]:
        """What a team has used of each resource since a moment, by one statement. Each row is added up once for good,
        so that a check costs the same on the last day of a busy month; what was deleted since stays used."""
        if not wanted:
            return ()
        before = self._clock.now() - SETTLED
        known = [self._counted.get((team_id, resource, since), (since, 0.0)) for resource, since in wanted]
        parts: list[Any] = []
        for (resource, _), (until, _used) in zip(wanted, known, strict=True):
            settled = max(until, before)
            parts += [
                _USE[resource](team_id, until, settled).scalar_subquery(),
                _USE[resource](team_id, settled, None).scalar_subquery(),
            ]
        row = await self._database.read(lambda connection: connection.execute(select(*parts)).one())
        found = [float(value or 0) for value in row]
        settled_use = [used + new for (_, used), new in zip(known, found[::2], strict=True)]
        for (resource, since), (until, _used), used in zip(wanted, known, settled_use, strict=True):
            self._keep((team_id, resource, since), max(until, before), used)
        return tuple(used + recent for used, recent in zip(settled_use, found[1::2], strict=True))

    @writes
    def record(self, connection: Connection, team_id: str, usage: Usage) -> None:
        """Count model calls that belong to no job. Raises `NotFoundError` for an unknown team."""
        row = {"team_id": team_id, "made_at": self._clock.now(), "tokens": usage.tokens, "dollars": usage.dollars}
        _check_team(connection, team_id)
        connection.execute(insert(playground_calls).values(row))

    def _keep(self, key: tuple[str, Resource, datetime], settled: datetime, used: float) -> None:
        """Keep a count, in place of earlier periods'."""
        team_id, resource, since = key
        over = [one for one in self._counted if one[:2] == (team_id, resource) and one[2] < since - LONGEST_PERIOD]
        for one in over:
            del self._counted[one]
        self._counted[key] = (settled, used)


def _check_team(connection: Connection, team_id: str) -> None:
    if connection.execute(select(teams.c.id).where(teams.c.id == team_id)).one_or_none() is None:
        raise NotFoundError(f"no team {team_id}")


def _within(moment: Any, since: datetime, until: datetime | None) -> ColumnElement[bool]:
    return and_(moment >= since, true() if until is None else moment < until)


def _jobs(team_id: str, since: datetime, until: datetime | None) -> Select[Any]:
    own = (jobs.c.team_id == team_id) & _within(jobs.c.created_at, since, until)
    return select(func.count()).select_from(jobs).where(own)


def _calls(of_jobs: Any, others: Any, team_id: str, since: datetime, until: datetime | None) -> Select[Any]:
    joined = (model_calls.c.job_id == steps.c.job_id) & (model_calls.c.step == steps.c.step)
    recorded = select(func.sum(of_jobs)).select_from(steps).join(model_calls, joined)
    recorded = recorded.where(steps.c.team_id == team_id, _within(steps.c.finished_at, since, until))
    apart = select(func.sum(others)).where(
        playground_calls.c.team_id == team_id, _within(playground_calls.c.made_at, since, until)
    )
    parts = (func.coalesce(part.scalar_subquery(), 0) for part in (recorded, apart))
    return select(functools.reduce(operator.add, parts))


def _tokens(team_id: str, since: datetime, until: datetime | None) -> Select[Any]:
    used = model_calls.c.input_tokens + model_calls.c.output_tokens
    return _calls(used, playground_calls.c.tokens, team_id, since, until)


def _dollars(team_id: str, since: datetime, until: datetime | None) -> Select[Any]:
    return _calls(model_calls.c.dollars, playground_calls.c.dollars, team_id, since, until)


def _device_s(team_id: str, since: datetime, until: datetime | None) -> Select[Any]:
    query = select(func.sum(evaluations.c.device_s))
    return query.where(evaluations.c.team_id == team_id, _within(evaluations.c.created_at, since, until))


_USE = {
    Resource.JOBS: _jobs,
    Resource.TOKENS: _tokens,
    Resource.DOLLARS: _dollars,
    Resource.DEVICE_S: _device_s,
}
