"""What becomes of a job's status, and who is told. Functions over the caller's transaction."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, select, update

from services.domain.errors import ConflictError
from services.domain.events import EventKind, JsonValue
from services.domain.jobs import JobStatus
from services.domain.measurements import gain_within
from services.domain.steps import NewEvent
from storage.jobs.creation import status_event
from storage.jobs.events import append_events
from storage.jobs.rows import is_claimable
from storage.tables import checkpoint_writes, checkpoints, evaluations, jobs

ACTIONS = ("cancel", "pause", "resume")
"""What people may ask of a job."""


def move(connection: Connection, row: Row[Any], status: JobStatus, message: str | None, now: datetime) -> None:
    """Give a job, whose row the caller has locked, a status, with its events; an end frees what it went on from."""
    started = row.started_at
    if started is None and status in {JobStatus.VALIDATING, JobStatus.RUNNING}:
        started = now
    connection.execute(
        update(jobs)
        .where(jobs.c.id == row.id)
        .values(
            status=str(status),
            claimable=is_claimable(status, pause_requested=row.pause_requested),
            message=row.message if message is None else message,
            started_at=started,
            finished_at=now if status.is_final else None,
            updated_at=now,
        )
    )
    said = [status_event(status, message)]
    if status.is_final and not JobStatus(row.status).is_final:
        # In the same transaction: a job whose end nobody is told of has followers that wait for ever.
        said.append(_ending_event(connection, row, status, row.message if message is None else message))
        if status is not JobStatus.FAILED:  # which may go on, with another model, from where it stopped
            for table in (checkpoint_writes, checkpoints):
                connection.execute(delete(table).where(table.c.thread_id == row.id))
    append_events(connection, row.id, said, now)


def request(connection: Connection, row: Row[Any], action: str, now: datetime) -> None:
    """Ask one of `ACTIONS` of a job, whose row the caller has locked: who runs it will see to that, and where nobody
    does, it happens here. Raises `ConflictError` where it has ended."""
    status = JobStatus(row.status)
    if status.is_final:
        if action == "cancel" and status is JobStatus.CANCELLED:
            return
        raise ConflictError(f"job {row.id} is {status}: too late to {action} it")
    pause = (row.pause_requested or action == "pause") and action != "resume"
    flags = {
        "cancel_requested": row.cancel_requested or action == "cancel",
        "pause_requested": pause,
        "claimable": is_claimable(status, pause_requested=pause),
        "updated_at": now,
    }
    connection.execute(update(jobs).where(jobs.c.id == row.id).values(flags))
    held = row.lease_owner is not None and row.lease_expires_at > now
    if status in {JobStatus.QUEUED, JobStatus.PAUSED} and not held:
        _move_waiting(connection, row, action, now)


def _move_waiting(connection: Connection, row: Row[Any], action: str, now: datetime) -> None:
    """Nobody runs the job: what was asked happens here and now."""
    target = {"cancel": JobStatus.CANCELLED, "pause": JobStatus.PAUSED, "resume": JobStatus.QUEUED}[action]
    if row.status == target:
        return
    changed = connection.execute(select(jobs).where(jobs.c.id == row.id)).one()
    move(connection, changed, target, None, now)
    # A holder whose lease has run out must not wake up and write to a job that was moved behind its back.
    connection.execute(update(jobs).where(jobs.c.id == row.id).values(lease_owner=None, lease_expires_at=None))


def _ending_event(connection: Connection, row: Row[Any], status: JobStatus, message: str | None) -> NewEvent:
    own = evaluations.c
    query = select(own.speedup, own.speedup_low, own.speedup_high).where(own.candidate_id == row.best_candidate_id)
    best = None if row.best_candidate_id is None else connection.execute(query.limit(1)).one_or_none()
    speedup, low, high = best or (None, None, None)
    data: dict[str, JsonValue] = {
        "status": str(status),
        "message": message,
        "best_candidate_id": row.best_candidate_id,
        "speedup": speedup,
        "gain": gain_within(None if low is None or high is None else (low, high)),
        "rounds": row.steps_done,
    }
    return NewEvent(kind=EventKind.JOB_FINISHED, data=data)
