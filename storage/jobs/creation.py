"""How a new job comes into the database: its row, its source and its first event, all or nothing."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, literal, select
from sqlalchemy.exc import IntegrityError

from services.domain.codec import dumps
from services.domain.errors import ConflictError
from services.domain.events import EventKind
from services.domain.jobs import Job, JobStatus
from services.domain.steps import NewEvent
from services.ports.runtime import Clock
from storage.contents.blobs import KEPT, ensure_team, put_texts, text_row
from storage.database import Database
from storage.jobs.events import write_events
from storage.jobs.rows import row_of
from storage.tables import events, jobs
from storage.teams.webhooks import listening

_INSERT = jobs.insert()
_LATER = {"event_seq", "lease_owner", "lease_token", "lease_expires_at", "expired"}
"""Columns that a new job's row leaves to what happens to it."""
_given = {column.name: bindparam(column.name, type_=column.type) for column in jobs.c if column.name not in _LATER}
_created = (
    jobs.insert()
    .from_select(
        [*_given, "event_seq"],
        select(*_given.values(), literal(1)).select_from(KEPT).where(~listening(_given["team_id"])),
    )
    .returning(jobs.c.id, jobs.c.team_id, jobs.c.event_seq)
    .cte("created")
)
_told = [bindparam(name, type_=events.c[name].type) for name in ("kind", "data", "at")]
_CREATE = (
    events.insert()
    .from_select(["job_id", "team_id", "seq", "kind", "data", "at"], select(_created, *_told))
    .returning(events.c.seq)
)
"""Stores a job with its source and its first event; nothing where a receiver waits for that event."""


class JobCreation:
    """The part of the `JobStore` port that makes jobs."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def create(self, job: Job) -> None:
        """Store a new job with its first event. Raises `ConflictError` where its id is taken."""
        try:
            await self._store_new(job, self._clock.now())
        except IntegrityError:
            raise ConflictError(f"job {job.id} exists already") from None
        self._database.known_teams.add(job.team_id)
        self._database.changes.notify(job.id)

    async def _store_new(self, job: Job, at: datetime) -> None:
        """Raises `IntegrityError` where the job's id is taken."""
        first = status_event(job.status, job.message)

        def work(connection: Connection) -> None:
            if job.team_id not in self._database.known_teams:
                ensure_team(connection, job.team_id, job.created_at)
            connection.execute(_INSERT, {**job_to_row(connection, job), "event_seq": 1})
            write_events(connection, job.team_id, job.id, 1, [first], at)

        if not await _stored_at_once(self._database, job, first, at):
            await self._database.write(work)


def job_to_row(connection: Connection, job: Job) -> dict[str, Any]:
    """The row of a new job; keeps its sources."""
    spec = job.spec
    source_hash, *seeds = put_texts(
        connection, job.team_id, [spec.problem.source, *([] if spec.seed_candidate is None else [spec.seed_candidate])]
    )
    return row_of(job, source_hash, seeds[0] if seeds else None)


async def _stored_at_once(database: Database, job: Job, first: NewEvent, at: datetime) -> bool:
    """Whether a job was stored by one statement, as PostgreSQL can where nobody need be told of it."""
    if not database.is_postgres or job.team_id not in database.known_teams:
        return False
    if job.spec.seed_candidate is not None:  # a second source
        return False
    source = text_row(job.team_id, job.spec.problem.source)
    told = {"kind": str(first.kind), "data": dumps(first.data), "at": at}
    row = {**source, **row_of(job, source["hash"], None), **told}
    return await database.write_one(lambda connection: connection.execute(_CREATE, row).first()) is not None


def status_event(status: JobStatus, message: str | None) -> NewEvent:
    """Says that a job has this status now."""
    return NewEvent(kind=EventKind.JOB_STATUS, data={"status": str(status), "message": message})
