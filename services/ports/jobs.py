"""Jobs, candidates, verdicts, events and artefacts as they are stored."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Protocol

from services.domain.candidates import Candidate, EvaluatedCandidate
from services.domain.deletion import Deletion
from services.domain.digests import BestSpeedup, CandidateDigest, RecordedStep, StepDigest
from services.domain.evaluations import EvaluationReport, EvaluationRequest
from services.domain.events import Event, EventKind, JsonValue
from services.domain.jobs import ControlFlags, Job, JobFilter, JobPage, JobStatus, Lease
from services.domain.problems import ProblemAnalysis
from services.domain.steps import ModelCall, Step, StepRecord
from services.domain.verdicts import StoredVerdict


class JobStore(Protocol):
    """Jobs, their leases and their steps. Reads carry the team; writes by an orchestrator carry its lease."""

    async def create(self, job: Job) -> None:
        """Store a new job with its first `job.status` event."""

    async def get(self, team_id: str, job_id: str) -> Job:
        """One job. Raises `NotFoundError`."""

    async def list(
        self,
        team_id: str,
        *,
        status: JobStatus | None = None,
        wanted: JobFilter | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> JobPage:
        """Newest first."""

    async def acquire(
        self,
        owner: str,
        ttl_s: float,
        job_id: str | None = None,
        *,
        team_cap: int | None = None,
        busy: Collection[str] = (),
    ) -> Lease | None:
        """Lease one job that is not final and not held: the named one, or the next; None when there is none.

        The next is of the team with the fewest running jobs for its weight (served longest ago among equals), and of
        its jobs the one with the highest priority, then the oldest. A team that runs `team_cap` jobs gets no further
        one.
        `busy` jobs are left alone: the owner runs them, however late it is with their renewal."""

    async def control_flags(self, owner: str) -> Mapping[str, ControlFlags]:
        """What is wanted of all jobs that an orchestrator holds, by job id, in one query."""

    async def renew(self, lease: Lease, ttl_s: float) -> Lease:
        """Extend a lease. Raises `LeaseLostError`."""

    async def renew_all(self, held: Sequence[Lease], ttl_s: float) -> tuple[Lease, ...]:
        """Extend leases of one orchestrator in one go: those that are not lost, and whose job nobody is writing to at
        this moment. As they are now; the others are left out."""

    async def release(self, lease: Lease) -> None:
        """Give a lease back; harmless when it is lost already."""

    async def holder(self, job_id: str) -> Lease | None:
        """The lease under which a job is held now, whoever holds it; None where it is free or unknown."""

    async def holders(self) -> frozenset[str]:
        """The names of all orchestrators that hold jobs now."""

    async def release_all(self, owner: str) -> int:
        """Give back all leases of an orchestrator that has ended; how many jobs that frees."""

    async def set_status(
        self, lease: Lease, status: JobStatus, *, message: str | None = None, analysis: ProblemAnalysis | None = None
    ) -> Job:
        """Move the job, with its `job.status` event and, where it ends, its `job.finished`. Raises `LeaseLostError`."""

    async def request(self, team_id: str, job_id: str, action: str) -> Job:
        """Ask for `cancel`, `pause` or `resume`; idempotent. A queued job is moved at once, a running one is flagged.

        Raises `NotFoundError`, and `ConflictError` where the job is final (except cancel of a cancelled job)."""

    async def reopen(self, team_id: str, job_id: str, *, model: str, rounds: int) -> Job:
        """Put a failed or paused job back into the queue, or let a paused one that is held go on, with this model and
        number of rounds. Raises `NotFoundError`, and `ConflictError` for a job in another state."""

    async def children(self, team_id: str, job_id: str) -> tuple[Job, ...]:
        """The jobs that work for one, oldest first. Raises `NotFoundError`."""

    async def hand_in(self, team_id: str, job_id: str, source: str, allow_library: Sequence[str]) -> Job:
        """Give a paused job the kernel that it waited for, and let it go on; its candidates may keep these library
        operators. Raises `NotFoundError`, and `ConflictError` for a job that does not wait for one."""

    async def delete(self, team_id: str, job_id: str, actor: str) -> Deletion:
        """Remove a job that has ended, with everything that came from it, in one transaction; its id stays known as
        deleted. Raises `NotFoundError`, `DeletedError` where it was deleted before, and `ConflictError` where it goes
        on."""

    async def record_step(self, lease: Lease, record: StepRecord) -> bool:
        """Write a step with everything it produced in one transaction; False when (job, index) was written before.

        Raises `LeaseLostError`, and then nothing was written."""

    async def keep_call(self, lease: Lease, step: int, call: ModelCall) -> None:
        """Keep a call of a step that is not recorded and perhaps never will be (it came to no answer, or the job ends
        within the step), until `record_step` puts the step's own calls in its place. Nothing for a step that is
        recorded. Raises `LeaseLostError`."""

    async def kept_calls(self, team_id: str, job_id: str) -> Mapping[int, tuple[ModelCall, ...]]:
        """Calls kept of steps that are not recorded, by step, in order. Raises `NotFoundError`."""

    async def steps(self, team_id: str, job_id: str) -> tuple[Step, ...]:
        """All steps in order. Raises `NotFoundError`."""

    async def step(self, team_id: str, job_id: str, index: int) -> RecordedStep:
        """One step with the experiences it used. Raises `NotFoundError`."""

    async def step_digests(self, team_id: str, job_id: str) -> tuple[StepDigest, ...]:
        """All steps in order, without prompts and replies. Raises `NotFoundError`."""


class CandidateStore(Protocol):
    """Candidates and their evaluations."""

    async def add(self, lease: Lease, candidate: Candidate) -> None:
        """Store a candidate; a second call with the same id changes nothing. Raises `LeaseLostError`."""

    async def get(self, team_id: str, candidate_id: str) -> EvaluatedCandidate:
        """One candidate with its report. Raises `NotFoundError`."""

    async def list(self, team_id: str, job_id: str) -> tuple[EvaluatedCandidate, ...]:
        """A job's candidates in order of their steps. Raises `NotFoundError`."""

    async def digests(self, team_id: str, job_id: str) -> tuple[CandidateDigest, ...]:
        """A job's candidates in order of their steps, without sources. Raises `NotFoundError`."""

    async def speedups(self, team_id: str, candidate_ids: Sequence[str]) -> Mapping[str, BestSpeedup]:
        """Candidate id to speedup, of those that were timed against a baseline."""

    async def finish(self, request: EvaluationRequest, report: EvaluationReport) -> bool:
        """Store a report; False when the evaluation has one already (the first one stays)."""

    async def report(self, evaluation_id: str) -> EvaluationReport | None:
        """The stored report, if any."""


class VerdictStore(Protocol):
    """Results that were accepted once, for judging them again."""

    async def accepted(self, team_id: str, *, after: str | None = None, limit: int = 50) -> tuple[StoredVerdict, ...]:
        """Accepted results of jobs that have ended, and of no job, in order of their evaluations' ids, from behind
        `after` on."""

    async def verified(self, stored: StoredVerdict, report: EvaluationReport, actor: str) -> bool:
        """Keep what judging again has shown; False when the result is not accepted any more: nothing was written.

        A report that is not accepted takes the old one's place (which is kept beside it), and the job's best becomes
        the fastest of its other accepted candidates, or none."""


class EventLog(Protocol):
    """A job's events, gapless and in order."""

    async def append(self, job_id: str, kind: EventKind, data: Mapping[str, JsonValue]) -> Event:
        """Add one event; sequence numbers are given here."""

    async def read(self, job_id: str, after: int = 0, limit: int = 500) -> tuple[Event, ...]:
        """Events with `seq > after`, in order."""

    def follow(self, job_id: str, after: int = 0) -> AsyncIterator[Event]:
        """Events with `seq > after`, then new ones as they come; ends after `job.finished`."""


class ArtefactStore(Protocol):
    """Contents under their SHA-256: what is too large for a row or a checkpoint is kept here and referred to."""

    async def put(self, team_id: str, content: bytes, *, job_id: str | None = None) -> str:
        """Keep an artefact; its SHA-256. The same content twice is kept once a team. With `job_id` it goes when that
        job is deleted, unless something else refers to it. Raises `StorageError`."""

    async def get(self, team_id: str, key: str) -> bytes:
        """An artefact. Raises `NotFoundError`, and `StorageError` where it is gone or damaged."""
