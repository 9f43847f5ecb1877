"""Deleting a job with everything that came from it. Functions over the caller's transaction."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Table, delete, func, insert, select

from services.domain.deletion import Deletion
from services.domain.errors import ConflictError, DeletedError
from services.domain.jobs import JobStatus
from storage.contents.references import contents_of, remove_unused
from storage.db.statements import chunks
from storage.memory.retraction import RETRACTED, audit_action, retract_evaluation, set_state
from storage.memory.snapshots import drop_ranges
from storage.tables import (
    candidates,
    checkpoint_writes,
    checkpoints,
    deleted_jobs,
    embeddings,
    evaluations,
    events,
    experiences,
    jobs,
    metadata,
    steps,
    verifications,
)

_OF_JOB = tuple(table for table in reversed(metadata.sorted_tables) if "job_id" in table.c and table is not experiences)
"""Tables whose rows belong to a job, those first that refer to others."""


def erase_job(connection: Connection, row: Row[Any], actor: str, now: datetime) -> Deletion:
    """Remove a job, whose row the caller has locked. Raises `ConflictError` while it goes on."""
    if not JobStatus(row.status).is_final:
        raise ConflictError(f"job {row.id} is {row.status}: cancel it, and delete it when it has ended")
    team_id, job_id = row.team_id, row.id
    hashes = contents_of(connection, [job_id])
    lessons = _forget_lessons(connection, team_id, job_id, actor, now)
    counts = {table.name: _count(connection, table, job_id) for table in (steps, candidates, evaluations, events)}
    judged = select(evaluations.c.id).where(evaluations.c.job_id == job_id)
    connection.execute(delete(verifications).where(verifications.c.evaluation_id.in_(judged)))
    for table in _OF_JOB:
        connection.execute(delete(table).where(table.c.job_id == job_id))
    for table in (checkpoint_writes, checkpoints):
        connection.execute(delete(table).where(table.c.thread_id == job_id))
    connection.execute(delete(jobs).where(jobs.c.id == job_id))
    stone = {"id": job_id, "team_id": team_id, "deleted_by": actor, "deleted_at": now}
    connection.execute(insert(deleted_jobs).values(stone))
    removed = remove_unused(connection, team_id, hashes)
    audit_action(connection, team_id, "delete", job_id, f"{lessons} experiences", actor, now)
    return Deletion(
        job_id=job_id,
        steps=counts["steps"],
        candidates=counts["candidates"],
        evaluations=counts["evaluations"],
        events=counts["events"],
        experiences=lessons,
        contents=removed.contents,
        content_bytes=removed.bytes,
    )


def check_not_deleted(connection: Connection, team_id: str, job_id: str) -> None:
    """Raises `DeletedError` for a job of the team that was there once."""
    query = select(deleted_jobs).where(deleted_jobs.c.id == job_id, deleted_jobs.c.team_id == team_id)
    stone = connection.execute(query).one_or_none()
    if stone is not None:
        raise DeletedError(
            f"job {job_id} was deleted by {stone.deleted_by} on {stone.deleted_at:%Y-%m-%d %H:%M} UTC, with everything "
            "that came from it"
        )


def _forget_lessons(connection: Connection, team_id: str, job_id: str, actor: str, now: datetime) -> int:
    """Take back what the job's evaluations taught, and remove its experiences; how many."""
    judged = select(steps.c.evaluation_id).where(steps.c.job_id == job_id, steps.c.evaluation_id.is_not(None))
    for evaluation in connection.execute(judged.order_by(steps.c.step)).scalars().all():
        retract_evaluation(connection, team_id, evaluation, f"job {job_id} was deleted", actor, now)
    own = (experiences.c.team_id == team_id) & (experiences.c.job_id == job_id)
    rows = connection.execute(select(experiences.c.id, experiences.c.number).where(own)).all()
    names = [row.id for row in rows]
    set_state(connection, team_id, names, RETRACTED)
    drop_ranges(connection, team_id, [row.number for row in rows])
    for chunk in chunks(names):
        connection.execute(delete(embeddings).where(embeddings.c.experience_id.in_(chunk)))
        connection.execute(delete(experiences).where(experiences.c.id.in_(chunk)))
    return len(names)


def _count(connection: Connection, table: Table, job_id: str) -> int:
    return int(connection.execute(select(func.count()).where(table.c.job_id == job_id)).scalar_one())
