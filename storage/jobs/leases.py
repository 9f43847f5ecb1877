"""Leases: who may write to a job. Functions over the caller's transaction."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, func, or_, select, tuple_, update

from services.domain.errors import LeaseLostError
from services.domain.jobs import FINAL_STATUSES, ControlFlags, Lease
from storage.tables import jobs, teams

_NEVER = datetime.min.replace(tzinfo=UTC)

_LOCKED = (
    select(jobs)
    .where(jobs.c.id == bindparam("job"), jobs.c.team_id == bindparam("team"))
    .with_for_update(key_share=True)
)

_CONTROL_FLAGS = select(
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


def acquire(
    connection: Connection,
    owner: str,
    now: datetime,
    ttl_s: float,
    job_id: str | None,
    team_cap: int | None = None,
    busy: Collection[str] = (),
) -> Lease | None:
    """Lease the named job, or the next one that is claimable; None where there is none."""
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
    query = select(jobs.c.team_id, func.count()).where(jobs.c.lease_owner.is_not(None), jobs.c.lease_expires_at > now)
    return {row[0]: row[1] for row in connection.execute(query.group_by(jobs.c.team_id))}


def _free(now: datetime) -> Select[Any]:
    free = or_(jobs.c.lease_owner.is_(None), jobs.c.lease_expires_at <= now)
    return select(jobs.c.id, jobs.c.team_id, jobs.c.lease_token).where(free)


def control_flags(connection: Connection, owner: str) -> dict[str, ControlFlags]:
    """What is wanted of all jobs that an orchestrator holds."""
    return {
        row.id: ControlFlags(
            token=row.lease_token,
            cancel_requested=row.cancel_requested,
            pause_requested=row.pause_requested,
            started_at=row.started_at,
        )
        for row in connection.execute(_CONTROL_FLAGS, {"owner": owner})
    }


def holder(connection: Connection, job_id: str, now: datetime) -> Lease | None:
    """The lease under which a job is held; None where nobody holds it."""
    columns = (jobs.c.team_id, jobs.c.lease_owner, jobs.c.lease_token, jobs.c.lease_expires_at)
    row = connection.execute(select(*columns).where(jobs.c.id == job_id, jobs.c.lease_expires_at > now)).one_or_none()
    if row is None or row.lease_owner is None:
        return None
    return Lease(
        job_id=job_id,
        team_id=row.team_id,
        owner=row.lease_owner,
        token=row.lease_token,
        expires_at=row.lease_expires_at,
    )


def renew(connection: Connection, lease: Lease, now: datetime, ttl_s: float) -> Lease:
    """Extend a lease. Raises `LeaseLostError`."""
    expires_at = now + timedelta(seconds=ttl_s)
    if connection.execute(_RENEW, {**_held(lease), "until": expires_at}).rowcount != 1:
        raise _lost(lease)
    return replace(lease, expires_at=expires_at)


def renew_all(connection: Connection, leases: Sequence[Lease], now: datetime, ttl_s: float) -> tuple[Lease, ...]:
    """Extend leases of one orchestrator; those that were."""
    until = now + timedelta(seconds=ttl_s)
    held = [(lease.job_id, lease.token) for lease in leases]
    given = {"owner": leases[0].owner, "held": held, "until": until}
    renewed = set(connection.execute(_RENEWED, given).scalars())
    return tuple(replace(lease, expires_at=until) for lease in leases if lease.job_id in renewed)


def release(connection: Connection, lease: Lease) -> None:
    """Give a lease back, if it is still ours."""
    connection.execute(_RELEASE, _held(lease))


def holders(connection: Connection, now: datetime) -> frozenset[str]:
    """Who holds jobs."""
    held = select(jobs.c.lease_owner).where(jobs.c.lease_owner.is_not(None), jobs.c.lease_expires_at > now)
    return frozenset(str(owner) for owner in connection.execute(held.distinct()).scalars())


def release_all(connection: Connection, owner: str) -> int:
    """Give all leases of an owner back; how many there were."""
    held = update(jobs).where(jobs.c.lease_owner == owner)
    return connection.execute(held.values(lease_owner=None, lease_expires_at=None)).rowcount


def _held(lease: Lease) -> dict[str, object]:
    return {"job": lease.job_id, "team": lease.team_id, "token": lease.token, "owner": lease.owner}


def _lost(lease: Lease) -> LeaseLostError:
    return LeaseLostError(f"{lease.owner} no longer holds job {lease.job_id} (token {lease.token})")
