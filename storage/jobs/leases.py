"""Leases: who may write to a job."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, bindparam, func, or_, select, tuple_, update

from services.domain.errors import LeaseLostError
from services.domain.jobs import FINAL_STATUSES, ControlFlags, Lease
from services.ports.runtime import Clock
from storage.database import Database
from storage.db.mapping import value_of
from storage.db.transactions import reads, writes, writes_one
from storage.tables import jobs, teams

_NEVER = datetime.min.replace(tzinfo=UTC)

_LOCKED = (
    select(jobs)
    .where(jobs.c.id == bindparam("job"), jobs.c.team_id == bindparam("team"))
    .with_for_update(key_share=True)
)

_CONTROL_FLAGS: Select[Any] = select(
    jobs.c.id, jobs.c.lease_token, jobs.c.cancel_requested, jobs.c.pause_requested, jobs.c.started_at
).where(jobs.c.lease_owner == bindparam("owner"))

_RENEWED = (
    update(jobs)
    .where(
        jobs.c.id.in_(
            select(jobs.c.id)
            .where(
                jobs.c.lease_owner == bindparam("owner"),
                tuple_(jobs.c.id, jobs.c.lease_token).in_(bindparam("held", expanding=True)),
            )
            # Whoever writes to a job holds its row; to wait for all of them in one transaction could lock others out.
            .with_for_update(key_share=True, skip_locked=True)
        )
    )
    .values(lease_expires_at=bindparam("until", type_=jobs.c.lease_expires_at.type))
    .returning(jobs.c.id)
)


_HELD = (
    jobs.c.id == bindparam("job"),
    jobs.c.team_id == bindparam("team"),
    jobs.c.lease_token == bindparam("token"),
    jobs.c.lease_owner == bindparam("owner"),
)
_RENEW = update(jobs).where(*_HELD).values(lease_expires_at=bindparam("until"))
_RELEASE = update(jobs).where(*_HELD).values(lease_owner=None, lease_expires_at=None)


def fence(connection: Connection, lease: Lease) -> Row[Any]:
    """The job's row, locked until the transaction ends. Raises `LeaseLostError` unless the lease is the current one.

    A lease past its time still counts while nobody else took the job: what makes writing safe is the token.
    """
    row = connection.execute(_LOCKED, {"job": lease.job_id, "team": lease.team_id}).one_or_none()
    if row is None or row.lease_token != lease.token or row.lease_owner != lease.owner:
        raise _lost(lease)
    return row


class JobLeases:
    """The part of the `JobStore` port that lends jobs to orchestrators."""

    _database: Database
    _clock: Clock

    @writes
    def acquire(
        self,
        connection: Connection,
        owner: str,
        ttl_s: float,
        job_id: str | None = None,
        *,
        team_cap: int | None = None,
        busy: Collection[str] = (),
    ) -> Lease | None:
        """Lease one job that is free: the named one, or the next, by teams in turn, priority and age."""
        now = self._clock.now()
        row = _next(connection, now, team_cap, busy) if job_id is None else _named(connection, now, job_id)
        if row is None:
            return None
        token, expires_at = row.lease_token + 1, now + timedelta(seconds=ttl_s)
        connection.execute(
            update(jobs)
            .where(jobs.c.id == row.id)
            .values(lease_owner=owner, lease_token=token, lease_expires_at=expires_at)
        )
        return Lease(job_id=row.id, team_id=row.team_id, owner=owner, token=token, expires_at=expires_at)

    @reads
    def control_flags(self, connection: Connection, owner: str) -> Mapping[str, ControlFlags]:
        """What is wanted of all jobs that an orchestrator holds, by job id."""
        rows = connection.execute(_CONTROL_FLAGS, {"owner": owner})
        return {row.id: value_of(ControlFlags, row, token=row.lease_token) for row in rows}

    @writes_one
    def renew(self, connection: Connection, lease: Lease, ttl_s: float) -> Lease:
        """Extend a lease. Raises `LeaseLostError`."""
        expires_at = self._clock.now() + timedelta(seconds=ttl_s)
        if connection.execute(_RENEW, {**_held(lease), "until": expires_at}).rowcount != 1:
            raise _lost(lease)
        return replace(lease, expires_at=expires_at)

    async def renew_all(self, held: Sequence[Lease], ttl_s: float) -> tuple[Lease, ...]:
        """Extend leases of one orchestrator in one go; those that were."""
        if not held:
            return ()
        until = self._clock.now() + timedelta(seconds=ttl_s)
        given = {"owner": held[0].owner, "held": [(lease.job_id, lease.token) for lease in held], "until": until}
        renewed = await self._database.write_one(lambda connection: set(connection.execute(_RENEWED, given).scalars()))
        return tuple(replace(lease, expires_at=until) for lease in held if lease.job_id in renewed)

    @writes_one
    def release(self, connection: Connection, lease: Lease) -> None:
        """Give a lease back; harmless when it is lost already."""
        connection.execute(_RELEASE, _held(lease))

    @reads
    def holder(self, connection: Connection, job_id: str) -> Lease | None:
        """The lease under which a job is held now; None where it is free or unknown."""
        columns = (jobs.c.team_id, jobs.c.lease_owner, jobs.c.lease_token, jobs.c.lease_expires_at)
        query = select(*columns).where(jobs.c.id == job_id, *_held_at(self._clock.now()))
        row = connection.execute(query).one_or_none()
        if row is None:
            return None
        return Lease(
            job_id=job_id,
            team_id=row.team_id,
            owner=row.lease_owner,
            token=row.lease_token,
            expires_at=row.lease_expires_at,
        )

    @reads
    def holders(self, connection: Connection) -> frozenset[str]:
        """The names of all orchestrators that hold jobs now."""
        held = _held_at(self._clock.now())
        return frozenset(connection.execute(select(jobs.c.lease_owner).where(*held).distinct()).scalars())

    @writes_one
    def release_all(self, connection: Connection, owner: str) -> int:
        """Give back all leases of an orchestrator that has ended; how many jobs that frees."""
        held = update(jobs).where(jobs.c.lease_owner == owner)
        return connection.execute(held.values(lease_owner=None, lease_expires_at=None)).rowcount


def _named(connection: Connection, now: datetime, job_id: str) -> Row[Any] | None:
    query = _free(now).where(jobs.c.id == job_id, jobs.c.status.not_in(FINAL_STATUSES))
    return connection.execute(query.with_for_update(key_share=True, skip_locked=True)).one_or_none()


def _next(connection: Connection, now: datetime, team_cap: int | None, busy: Collection[str]) -> Row[Any] | None:
    """The job whose turn it is: of the team with the fewest running jobs for its weight, the most urgent and oldest."""
    for team_id in _turns(connection, now):
        # The team's row is written first: orchestrators that claim for one team at the same time do so in turn, so
        # that together they do not pass its cap.
        connection.execute(update(teams).where(teams.c.id == team_id).values(served_at=now))
        if team_cap is not None and _running(connection, now).get(team_id, 0) >= team_cap:
            continue
        query = _free(now).where(jobs.c.claimable.is_(True), jobs.c.team_id == team_id)
        query = query.where(jobs.c.id.not_in(busy)) if busy else query
        query = query.order_by(jobs.c.rank, jobs.c.created_at, jobs.c.id).limit(1)
        # Two orchestrators on PostgreSQL look past one another's choice; SQLite has one writer at a time anyway.
        row = connection.execute(query.with_for_update(key_share=True, skip_locked=True)).one_or_none()
        if row is not None:
            return row
    return None


def _turns(connection: Connection, now: datetime) -> list[str]:
    """Teams with a job to claim: those with fewer running jobs for their weight first, among equals the one served
    longest ago."""
    waiting = _free(now).where(jobs.c.claimable.is_(True), jobs.c.team_id == teams.c.id).exists()
    found = connection.execute(select(teams.c.id, teams.c.served_at, teams.c.weight).where(waiting)).all()
    if len(found) < 2:
        return [row.id for row in found]
    running = _running(connection, now)
    ordered = sorted(found, key=lambda row: (running.get(row.id, 0) / row.weight, row.served_at or _NEVER, row.id))
    return [row.id for row in ordered]


def _running(connection: Connection, now: datetime) -> dict[str, int]:
    """Running jobs a team; teams without any are left out."""
    query = select(jobs.c.team_id, func.count()).where(*_held_at(now)).group_by(jobs.c.team_id)
    return {row[0]: row[1] for row in connection.execute(query)}


def _held_at(now: datetime) -> tuple[ColumnElement[bool], ...]:
    return jobs.c.lease_owner.is_not(None), jobs.c.lease_expires_at > now


def _free(now: datetime) -> Select[Any]:
    free = or_(jobs.c.lease_owner.is_(None), jobs.c.lease_expires_at <= now)
    return select(jobs.c.id, jobs.c.team_id, jobs.c.lease_token).where(free)


def _held(lease: Lease) -> dict[str, object]:
    return {"job": lease.job_id, "team": lease.team_id, "token": lease.token, "owner": lease.owner}


def _lost(lease: Lease) -> LeaseLostError:
    return LeaseLostError(f"{lease.owner} no longer holds job {lease.job_id} (token {lease.token})")
