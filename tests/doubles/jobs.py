"""Jobs, steps and events in dictionaries and lists."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from services.domain.deletion import Deletion
from services.domain.digests import RecordedStep, RecordedUse, StepDigest, digest_call
from services.domain.errors import ConfigurationError, ConflictError, LeaseLostError, NotFoundError
from services.domain.events import Event, EventKind, JsonValue
from services.domain.experiences import (
    ExperienceUse,
)
from services.domain.jobs import ControlFlags, Job, JobFilter, JobPage, JobStatus, Lease, check_awaits, check_reopens
from services.domain.problems import ProblemAnalysis
from services.domain.steps import ModelCall, Step, StepRecord
from services.ports.jobs import EventLog, JobStore
from tests.doubles.database import InMemoryDatabase
from tests.doubles.deletion import erase


class InMemoryJobStore(JobStore):
    """A `JobStore` with leases, fencing and idempotent steps."""

    def __init__(self, database: InMemoryDatabase) -> None:
        self._database = database

    async def create(self, job: Job) -> None:
        """Store a new job. Raises `ConflictError` where its id is taken."""
        if job.id in self._database.jobs:
            raise ConflictError(f"job {job.id} exists")
        self._database.ensure_team(job.team_id)
        self._database.jobs[job.id] = job
        self._database.steps[job.id] = []
        self._database.append(job.id, EventKind.JOB_STATUS, {"status": job.status.value, "message": job.message})

    async def get(self, team_id: str, job_id: str) -> Job:
        """One job. Raises `NotFoundError`."""
        return self._database.job(team_id, job_id)

    async def list(
        self,
        team_id: str,
        *,
        status: JobStatus | None = None,
        wanted: JobFilter | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> JobPage:
        """Newest first; the cursor is the last id of the page before."""
        wanted = wanted or JobFilter()
        jobs = [
            job
            for job in self._database.jobs.values()
            if job.team_id == team_id and (status is None or job.status is status) and wanted.admits(job)
        ]
        jobs.sort(key=lambda job: (job.created_at, job.id), reverse=True)
        if cursor is not None:
            last = self._database.job(team_id, cursor)
            jobs = [job for job in jobs if (job.created_at, job.id) < (last.created_at, last.id)]
        page = tuple(jobs[:limit])
        return JobPage(jobs=page, next_cursor=page[-1].id if len(jobs) > limit else None)

    async def acquire(
        self,
        owner: str,
        ttl_s: float,
        job_id: str | None = None,
        *,
        team_cap: int | None = None,
        busy: Collection[str] = (),
    ) -> Lease | None:
        """Lease the next free job, or the named one. A paused job is taken only by name or after its resume."""
        database = self._database
        free: Sequence[Job] = [
            job
            for job in database.jobs.values()
            if not job.status.is_final and not database.held(job.id) and job_id in (None, job.id)
        ]
        if job_id is None:
            free = [job for job in free if not (job.status is JobStatus.PAUSED and job.pause_requested)]
            free = self._of_next_team([job for job in free if job.id not in busy], team_cap)
        if not free:
            return None
        job = min(free, key=lambda job: (-job.spec.priority, job.created_at, job.id))
        database.served[job.team_id] = max(database.served.values(), default=0) + 1
        database.tokens[job.id] = database.tokens.get(job.id, 0) + 1
        return self._grant(
            Lease(
                job_id=job.id,
                team_id=job.team_id,
                owner=owner,
                token=database.tokens[job.id],
                expires_at=database.clock.now(),
            ),
            ttl_s,
        )

    async def control_flags(self, owner: str) -> Mapping[str, ControlFlags]:
        """What is wanted of the jobs that an orchestrator holds."""
        database = self._database
        mine = [lease for lease in database.leases.values() if lease.owner == owner]
        return {lease.job_id: _control_flags(database.jobs[lease.job_id], lease) for lease in mine}

    async def renew(self, lease: Lease, ttl_s: float) -> Lease:
        """Extend a lease. Raises `LeaseLostError`."""
        self._database.check(lease)
        return self._grant(lease, ttl_s)

    async def renew_all(self, held: Sequence[Lease], ttl_s: float) -> tuple[Lease, ...]:
        """Extend those leases that are not lost."""
        renewed = []
        for lease in held:
            with contextlib.suppress(LeaseLostError):
                renewed.append(await self.renew(lease, ttl_s))
        return tuple(renewed)

    async def release(self, lease: Lease) -> None:
        """Give a lease back."""
        held = self._database.leases.get(lease.job_id)
        if held is not None and held.token == lease.token:
            del self._database.leases[lease.job_id]

    async def holder(self, job_id: str) -> Lease | None:
        """The lease in force."""
        return self._database.leases[job_id] if self._database.held(job_id) else None

    async def holders(self) -> frozenset[str]:
        """The names of all orchestrators that hold jobs now."""
        held = self._database.leases.values()
        return frozenset(lease.owner for lease in held if self._database.held(lease.job_id))

    async def release_all(self, owner: str) -> int:
        """Give back all leases of an orchestrator that has ended; how many jobs that frees."""
        held = [lease.job_id for lease in self._database.leases.values() if lease.owner == owner]
        for job_id in held:
            del self._database.leases[job_id]
        return len(held)

    async def set_status(
        self, lease: Lease, status: JobStatus, *, message: str | None = None, analysis: ProblemAnalysis | None = None
    ) -> Job:
        """Move the job. Raises `LeaseLostError`."""
        job = self._database.check(lease)
        if analysis is not None:
            job = replace(job, analysis=analysis)
        return self._database.move(job, status, message)

    async def request(self, team_id: str, job_id: str, action: str) -> Job:
        """Ask for `cancel`, `pause` or `resume`. Raises `NotFoundError`, `ConflictError`."""
        job = self._database.job(team_id, job_id)
        if action not in ("cancel", "pause", "resume"):
            raise ConfigurationError(f"unknown action {action!r}: use cancel, pause or resume")
        if job.status.is_final:
            if action == "cancel" and job.status is JobStatus.CANCELLED:
                return job
            raise ConflictError(f"job {job_id} is {job.status.value}: too late to {action} it")
        waiting = not self._database.held(job_id) and job.status in (JobStatus.QUEUED, JobStatus.PAUSED)
        job = self._flag(job, action)
        return self._move_waiting(job, action) if waiting else job

    async def reopen(self, team_id: str, job_id: str, *, model: str, rounds: int) -> Job:
        """Let a failed or paused job go on. Raises `NotFoundError`, `ConflictError`."""
        job = self._database.job(team_id, job_id)
        check_reopens(job_id, job.status)
        spec = replace(job.spec, model=model, budget=replace(job.spec.budget, rounds=rounds))
        self._database.jobs[job_id] = replace(job, spec=spec)
        if job.status is JobStatus.PAUSED:
            return await self.request(team_id, job_id, "resume")
        afresh = replace(self._database.jobs[job_id], cancel_requested=False, pause_requested=False, message=None)
        return self._database.move(afresh, JobStatus.QUEUED)

    async def children(self, team_id: str, job_id: str) -> tuple[Job, ...]:
        """The jobs that work for one. Raises `NotFoundError`."""
        self._database.job(team_id, job_id)
        found = [job for job in self._database.jobs.values() if job.parent_id == job_id]
        return tuple(sorted(found, key=lambda job: (job.created_at, job.id)))

    async def hand_in(self, team_id: str, job_id: str, source: str, allow_library: Sequence[str]) -> Job:
        """Give a paused job its kernel. Raises `NotFoundError`, `ConflictError`."""
        job = self._database.job(team_id, job_id)
        check_awaits(job)
        problem = replace(job.spec.problem, allow_library=tuple(allow_library))
        spec = replace(job.spec, problem=problem, seed_candidate=source)
        self._database.jobs[job_id] = replace(job, spec=spec)
        return await self.request(team_id, job_id, "resume")

    async def delete(self, team_id: str, job_id: str, actor: str) -> Deletion:
        """Remove an ended job. Raises `NotFoundError`, `DeletedError`, `ConflictError`."""
        job = self._database.job(team_id, job_id)
        if not job.status.is_final:
            raise ConflictError(f"job {job_id} is {job.status.value}: cancel it, and delete it when it has ended")
        return erase(self._database, job, actor)

    async def record_step(self, lease: Lease, record: StepRecord) -> bool:
        """Write a step and what it produced. Raises `LeaseLostError`."""
        job = self._database.check(lease)
        steps = self._database.steps[job.id]
        if any(step.index == record.step.index for step in steps):
            return False
        steps.append(record.step)
        self._database.kept_calls.pop((job.id, record.step.index), None)
        self._database.uses[job.id, record.step.index] = record.uses
        steps.sort(key=lambda step: step.index)
        known = set(self._database.experiences)
        self._database.remember(record.experiences)
        for evaluation_id, report in record.revised.items():
            judged = self._database.reports.get(evaluation_id)
            if judged is not None and judged.accepted:
                self._database.reports[evaluation_id] = report
        made = [item.id for item in record.experiences if item.id in self._database.experiences.keys() - known]
        self._database.learn(record, made)
        self._database.jobs[job.id] = replace(
            job,
            steps_done=len(steps),
            best_candidate_id=record.best_candidate_id or job.best_candidate_id,
            updated_at=self._database.clock.now(),
        )
        for event in record.events:
            self._database.append(job.id, event.kind, event.data)
        return True

    async def keep_call(self, lease: Lease, step: int, call: ModelCall) -> None:
        """Keep a call of a step that is not recorded. Raises `LeaseLostError`."""
        job = self._database.check(lease)
        if all(known.index != step for known in self._database.steps[job.id]):
            kept = self._database.kept_calls
            kept[job.id, step] = (*kept.get((job.id, step), ()), call)

    async def kept_calls(self, team_id: str, job_id: str) -> Mapping[int, tuple[ModelCall, ...]]:
        """Calls kept of steps that are not recorded. Raises `NotFoundError`."""
        self._database.job(team_id, job_id)
        return {step: calls for (name, step), calls in self._database.kept_calls.items() if name == job_id}

    async def steps(self, team_id: str, job_id: str) -> tuple[Step, ...]:
        """All steps in order. Raises `NotFoundError`."""
        self._database.job(team_id, job_id)
        return tuple(self._database.steps[job_id])

    async def step(self, team_id: str, job_id: str, index: int) -> RecordedStep:
        """One step with the experiences it used. Raises `NotFoundError`."""
        for step in await self.steps(team_id, job_id):
            if step.index == index:
                ranked = {use.experience_id: use for use in self._database.uses[job_id, index]}
                uses = (self._use(name, ranked.get(name)) for name in dict.fromkeys(step.experiences_used))
                return RecordedStep(step=step, uses=tuple(uses))
        raise NotFoundError(f"job {job_id} has no step {index}")

    async def step_digests(self, team_id: str, job_id: str) -> tuple[StepDigest, ...]:
        """All steps in order, without prompts and replies. Raises `NotFoundError`."""
        return tuple(map(digest_step, await self.steps(team_id, job_id)))

    def _use(self, experience_id: str, ranked: ExperienceUse | None) -> RecordedUse:
        known = self._database.experiences.get(experience_id)
        return RecordedUse(
            experience_id=experience_id,
            title=known.title if known else None,
            kind=known.kind if known else None,
            similarity=ranked.similarity if ranked else None,
            value=ranked.value if ranked else None,
        )

    def _grant(self, lease: Lease, ttl_s: float) -> Lease:
        granted = replace(lease, expires_at=self._database.clock.now() + timedelta(seconds=ttl_s))
        self._database.leases[lease.job_id] = granted
        return granted

    def _of_next_team(self, free: Sequence[Job], team_cap: int | None) -> Sequence[Job]:
        """The free jobs of the team whose turn it is."""
        database = self._database
        running = {job.team_id: 0 for job in free}
        for lease in database.leases.values():
            if lease.team_id in running and database.held(lease.job_id):
                running[lease.team_id] += 1
        allowed = [team for team, count in running.items() if team_cap is None or count < team_cap]
        turn = min(
            allowed,
            key=lambda team: (running[team] / database.weight(team), database.served.get(team, 0), team),
            default=None,
        )
        return [job for job in free if job.team_id == turn]

    def _flag(self, job: Job, action: str) -> Job:
        job = replace(
            job,
            cancel_requested=job.cancel_requested or action == "cancel",
            pause_requested=(job.pause_requested or action == "pause") and action != "resume",
            updated_at=self._database.clock.now(),
        )
        self._database.jobs[job.id] = job
        return job

    def _move_waiting(self, job: Job, action: str) -> Job:
        """Nobody runs the job: what was asked happens here."""
        target = {"cancel": JobStatus.CANCELLED, "pause": JobStatus.PAUSED, "resume": JobStatus.QUEUED}[action]
        if job.status is target:
            return job
        return self._database.move(job, target)


def _control_flags(job: Job, lease: Lease) -> ControlFlags:
    return ControlFlags(
        token=lease.token,
        cancel_requested=job.cancel_requested,
        pause_requested=job.pause_requested,
        started_at=job.started_at,
    )


class InMemoryEventLog(EventLog):
    """An `EventLog` in lists."""

    def __init__(self, database: InMemoryDatabase) -> None:
        self._database = database

    async def append(self, job_id: str, kind: EventKind, data: Mapping[str, JsonValue]) -> Event:
        """Add one event."""
        return self._database.append(job_id, kind, data)

    async def read(self, job_id: str, after: int = 0, limit: int = 500) -> tuple[Event, ...]:
        """Events after a sequence number."""
        return tuple(self._database.events.get(job_id, [])[after : after + limit])

    async def follow(self, job_id: str, after: int = 0) -> AsyncIterator[Event]:
        """Events as they come, until `job.finished`."""
        while True:
            changed = self._database.changed
            for event in await self.read(job_id, after):
                after = event.seq
                yield event
                if event.kind is EventKind.JOB_FINISHED and not await self.read(job_id, after, 1):
                    return
            if changed is self._database.changed:
                await changed.wait()


def digest_step(step: Step) -> StepDigest:
    """A step in short form, as the database reads it."""
    return StepDigest(
        index=step.index,
        stage=step.stage,
        start_point=step.start_point,
        candidate_id=step.candidate_id,
        verdict=step.verdict,
        reward=step.reward,
        hypothesis=None if step.plan is None else step.plan.hypothesis,
        failure=step.failure,
        experiences=len(step.experiences_used),
        calls=tuple(map(digest_call, step.calls)),
        started_at=step.started_at,
        finished_at=step.finished_at,
    )
