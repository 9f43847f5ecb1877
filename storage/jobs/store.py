"""The `JobStore` port over the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, bindparam, select, update

from services.domain.codec import dumps, loads
from services.domain.deletion import Deletion
from services.domain.digests import RecordedStep, StepDigest
from services.domain.errors import ConfigurationError, ConflictError, NotFoundError
from services.domain.jobs import (
    Job,
    JobFilter,
    JobPage,
    JobSpec,
    JobStatus,
    Lease,
    check_awaits,
    check_reopens,
    searched_text,
)
from services.domain.problems import ProblemAnalysis
from services.domain.steps import ModelCall, Step, StepRecord
from storage.db.runners import T, Work
from storage.db.transactions import reads, writes
from storage.jobs.candidates import revise
from storage.jobs.creation import JobCreation
from storage.jobs.deletion import check_not_deleted, erase_job
from storage.jobs.digests import recorded_uses, step_digests
from storage.jobs.events import append_events
from storage.jobs.leases import JobLeases, fence
from storage.jobs.rows import handed_in, jobs_from_rows, jobs_of, page_of
from storage.jobs.steps import insert_kept_call, insert_step, read_kept_calls, read_step, read_steps, step_exists
from storage.jobs.transitions import ACTIONS, move, request
from storage.memory.rows import insert_experiences
from storage.memory.value_log import append_outcome
from storage.tables import jobs

_AFRESH = {"cancel_requested": False, "pause_requested": False, "message": None}
"""What a job that failed forgets when it goes on."""


class SqlJobStore(JobCreation, JobLeases):
    """Jobs, leases and steps; each method is one transaction."""

    async def get(self, team_id: str, job_id: str) -> Job:
        """One job. Raises `NotFoundError`."""
        return await self._database.read(lambda connection: _get(connection, team_id, job_id))

    async def list(
        self,
        team_id: str,
        *,
        status: JobStatus | None = None,
        wanted: JobFilter | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> JobPage:
        """Newest first. Raises `ConfigurationError` for a cursor that is not ours."""
        wanted = wanted or JobFilter()
        query = jobs_of(team_id, status, wanted)
        return await self._database.read(lambda connection: page_of(connection, query, wanted, limit, cursor))

    async def set_status(
        self, lease: Lease, status: JobStatus, *, message: str | None = None, analysis: ProblemAnalysis | None = None
    ) -> Job:
        """Move the job, with its event. Raises `LeaseLostError`, `ConflictError` out of a final status."""

        def work(connection: Connection) -> Job:
            row = fence(connection, lease)
            if JobStatus(row.status).is_final and row.status != status:
                raise ConflictError(f"job {row.id} is {row.status}: it cannot become {status}")
            move(connection, row, status, message, self._clock.now())
            if analysis is not None:
                connection.execute(update(jobs).where(jobs.c.id == row.id).values(analysis=dumps(analysis)))
            return _get(connection, row.team_id, row.id)

        return await self._change(lease.job_id, work)

    async def request(self, team_id: str, job_id: str, action: str) -> Job:
        """Ask for `cancel`, `pause` or `resume`. Raises `NotFoundError`, `ConflictError`, `ConfigurationError`."""
        if action not in ACTIONS:
            raise ConfigurationError(f"unknown action {action!r}: use {', '.join(ACTIONS)}")
        now = self._clock.now()

        def work(connection: Connection) -> Job:
            request(connection, _row(connection, team_id, job_id, lock=True), action, now)
            return _get(connection, team_id, job_id)

        return await self._change(job_id, work)

    async def reopen(self, team_id: str, job_id: str, *, model: str, rounds: int) -> Job:
        """Let a failed or paused job go on with this model and number of rounds. Raises `NotFoundError`,
        `ConflictError`."""
        now = self._clock.now()

        def work(connection: Connection) -> Job:
            row = _row(connection, team_id, job_id, lock=True)
            check_reopens(job_id, JobStatus(row.status))
            if row.expired:
                raise ConflictError(f"what job {job_id} would go on from has expired: submit it again")
            spec = loads(JobSpec, row.spec)
            changed = replace(spec, model=model, budget=replace(spec.budget, rounds=rounds))
            found = searched_text(replace(_get(connection, team_id, job_id), spec=changed))
            connection.execute(update(jobs).where(jobs.c.id == job_id).values(spec=dumps(changed), search=found))
            if row.status == JobStatus.PAUSED:
                request(connection, row, "resume", now)
            else:
                connection.execute(update(jobs).where(jobs.c.id == job_id).values(_AFRESH))
                move(connection, _row(connection, team_id, job_id), JobStatus.QUEUED, None, now)
            return _get(connection, team_id, job_id)

        return await self._change(job_id, work)

    async def _change(self, job_id: str, work: Work[T]) -> T:
        """Run a writing transaction, and wake who follows the job."""
        done = await self._database.write(work)
        self._database.changes.notify(job_id)
        return done

    @reads
    def children(self, connection: Connection, team_id: str, job_id: str) -> tuple[Job, ...]:
        """The jobs that work for one, oldest first. Raises `NotFoundError`."""
        query = select(jobs).where(jobs.c.team_id == team_id, jobs.c.parent_id == job_id)
        _row(connection, team_id, job_id)
        return jobs_from_rows(connection, connection.execute(query.order_by(jobs.c.created_at, jobs.c.id)).all())

    async def hand_in(self, team_id: str, job_id: str, source: str, allow_library: Sequence[str]) -> Job:
        """Give a paused job the kernel that it waited for. Raises `NotFoundError`, `ConflictError`."""
        now = self._clock.now()

        def work(connection: Connection) -> Job:
            row = _row(connection, team_id, job_id, lock=True)
            job = jobs_from_rows(connection, [row])[0]
            check_awaits(job)
            connection.execute(
                update(jobs).where(jobs.c.id == job_id).values(handed_in(connection, job, source, tuple(allow_library)))
            )
            request(connection, _row(connection, team_id, job_id), "resume", now)
            return _get(connection, team_id, job_id)

        return await self._change(job_id, work)

    async def delete(self, team_id: str, job_id: str, actor: str) -> Deletion:
        """Remove an ended job with everything that came from it. Raises `NotFoundError`, `DeletedError`,
        `ConflictError`."""
        now = self._clock.now()

        def work(connection: Connection) -> Deletion:
            return erase_job(connection, _row(connection, team_id, job_id, lock=True), actor, now)

        return await self._change(job_id, work)

    async def record_step(self, lease: Lease, record: StepRecord) -> bool:
        """Write a step and all it produced; False when it was written before. Raises `LeaseLostError`."""
        if (record.step.job_id, record.step.team_id) != (lease.job_id, lease.team_id):
            raise ValueError(f"a step of job {record.step.job_id} under the lease of job {lease.job_id}")
        now = self._clock.now()

        def work(connection: Connection) -> bool:
            row = fence(connection, lease)
            if step_exists(connection, lease.job_id, record.step.index):
                return False
            insert_step(connection, record)
            revise(connection, record.revised)
            made = insert_experiences(connection, record.experiences)
            append_outcome(connection, record, made, now)
            best = record.best_candidate_id or row.best_candidate_id
            changed = {"done": row.steps_done + 1, "best": best, "at": now}
            connection.execute(_STEP_DONE, {"job": lease.job_id, **changed})
            append_events(connection, lease.job_id, record.events, now)
            return True

        return await self._change(lease.job_id, work)

    @writes
    def keep_call(self, connection: Connection, lease: Lease, step: int, call: ModelCall) -> None:
        """Keep a call of a step that is not recorded. Raises `LeaseLostError`."""
        fence(connection, lease)
        if not step_exists(connection, lease.job_id, step):
            insert_kept_call(connection, lease.team_id, lease.job_id, step, call)

    @reads
    def kept_calls(self, connection: Connection, team_id: str, job_id: str) -> Mapping[int, tuple[ModelCall, ...]]:
        """Calls kept of steps that are not recorded, by step. Raises `NotFoundError`."""
        _row(connection, team_id, job_id)
        return read_kept_calls(connection, team_id, job_id)

    @reads
    def steps(self, connection: Connection, team_id: str, job_id: str) -> tuple[Step, ...]:
        """All steps in order. Raises `NotFoundError`."""
        _row(connection, team_id, job_id)
        return read_steps(connection, team_id, job_id)

    @reads
    def step(self, connection: Connection, team_id: str, job_id: str, index: int) -> RecordedStep:
        """One step with the experiences it used. Raises `NotFoundError`."""
        step = read_step(connection, team_id, job_id, index)
        if step is None:
            raise NotFoundError(f"job {job_id} has no step {index}")
        return RecordedStep(step=step, uses=recorded_uses(connection, job_id, index))

    @reads
    def step_digests(self, connection: Connection, team_id: str, job_id: str) -> tuple[StepDigest, ...]:
        """All steps in order, without prompts and replies. Raises `NotFoundError`."""
        _row(connection, team_id, job_id)
        return step_digests(connection, team_id, job_id)


_ROW = select(jobs).where(jobs.c.id == bindparam("job"), jobs.c.team_id == bindparam("team"))
_STEP_DONE = (
    update(jobs)
    .where(jobs.c.id == bindparam("job"))
    .values(steps_done=bindparam("done"), best_candidate_id=bindparam("best"), updated_at=bindparam("at"))
)
_LOCKED_ROW = _ROW.with_for_update(key_share=True)


def _row(connection: Connection, team_id: str, job_id: str, *, lock: bool = False) -> Row[Any]:
    row = connection.execute(_LOCKED_ROW if lock else _ROW, {"job": job_id, "team": team_id}).one_or_none()
    if row is None:
        check_not_deleted(connection, team_id, job_id)
        raise NotFoundError(f"no job {job_id}")
    return row


def _get(connection: Connection, team_id: str, job_id: str) -> Job:
    return jobs_from_rows(connection, [_row(connection, team_id, job_id)])[0]
