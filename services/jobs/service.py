"""What people do with jobs: submit, watch over, steer, and read their results. Takes ports, never settings."""

from __future__ import annotations

import asyncio
import itertools
import math
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from services.domain import codec
from services.domain.candidate_text import candidate_source
from services.domain.candidates import EvaluatedCandidate, content_hash
from services.domain.deletion import Deletion
from services.domain.digests import BestSpeedup, CandidateDigest, JobCosts, RecordedStep, StepDigest, sum_costs
from services.domain.errors import ConfigurationError, ConflictError, DeletedError, NotFoundError
from services.domain.evaluations import Verdict
from services.domain.jobs import EVALUATE_ONLY, MAX_GUIDANCE, Budget, Job, JobFilter, JobPage, JobSpec, JobStatus
from services.domain.measurements import Speedup
from services.domain.steps import ModelCall, Step, TrajectoryStep
from services.domain.texts import visible
from services.domain.usage import Usage
from services.jobs.catalogue import Catalogue
from services.ports.jobs import CandidateStore, JobStore
from services.ports.runtime import Clock
from services.problems.lint import lint_problem
from services.teams.quotas import QuotaService

MAX_ROUNDS = 1000
MOST_PRIORITY = 100
MAX_BEAM = 16
MAX_CANDIDATE_BYTES = 1 << 20


@dataclass(frozen=True, kw_only=True)
class BestResult:
    """A job's best accepted candidate, as the result document names it."""

    candidate_id: str
    source_path: str | None
    """Absolute path of the exported kernel; None where nothing was exported."""
    speedup: Speedup
    verdict: Verdict


@dataclass(frozen=True, kw_only=True)
class ResultDocument:
    """What `run --json` prints. Field names are its JSON names."""

    job_id: str
    status: JobStatus
    best: BestResult | None
    rounds: int
    """Recorded steps."""
    candidates: int
    usage: Usage
    trajectory_path: str | None
    """Absolute path of the exported trajectory; None where nothing was exported."""


class JobService:
    """The use cases of jobs for one installation."""

    def __init__(
        self,
        jobs: JobStore,
        candidates: CandidateStore,
        catalogue: Catalogue,
        clock: Clock,
        quotas: QuotaService | None = None,
        *,
        evaluation_timeout_s: float = 0.0,
    ) -> None:
        """`evaluation_timeout_s`: the most that one evaluation may take, which every device budget has to cover."""
        self._jobs = jobs
        self._evaluation_timeout_s = evaluation_timeout_s
        self._quotas = quotas
        self._admitting = asyncio.Lock()
        self._candidates = candidates
        self._clock = clock
        self.catalogue = catalogue

    async def submit(self, team_id: str, spec: JobSpec, *, idempotency_key: str | None = None) -> tuple[Job, bool]:
        """Check a spec and store it as a queued job; the job, and whether it is new.

        With a key, a second submission gives the first one's job. Raises `ProblemError`, `ConfigurationError`,
        `ConflictError` when the key was used for another spec, and `LimitError` when a quota is used up."""
        spec = self.check(spec)
        _check_device_budget(spec.budget.device_s, self._evaluation_timeout_s)
        job = self._new_job(team_id, spec, idempotency_key)
        if idempotency_key is None:
            await self._create(job)
            return job, True
        try:
            existing = await self._find(team_id, job.id)
        except DeletedError:
            raise ConflictError("this Idempotency-Key made a job that was deleted: use a fresh key") from None
        if existing is None:
            try:
                await self._create(job)
            except ConflictError:  # a twin request was faster
                existing = await self._find(team_id, job.id)
            else:
                return job, True
        if existing is None or existing.spec != spec:
            raise ConflictError("this Idempotency-Key was used for another request: use a fresh key")
        return existing, False

    async def store(self, team_id: str, spec: JobSpec, finish: Callable[[Job], Job]) -> Job:
        """Check a spec and store it as the job that `finish` makes of a new queued one. Raises `UserError`."""
        spec = self.check(spec)
        job = finish(self._new_job(team_id, spec, None))
        await self._jobs.create(job)
        return job

    async def children(self, team_id: str, job_id: str) -> tuple[Job, ...]:
        """The jobs that work for one, oldest first. Raises `NotFoundError`."""
        return await self._jobs.children(team_id, job_id)

    async def get(self, team_id: str, job_id: str) -> Job:
        """One job. Raises `NotFoundError`."""
        return await self._jobs.get(team_id, job_id)

    async def list(
        self,
        team_id: str,
        *,
        status: JobStatus | None = None,
        wanted: JobFilter | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> JobPage:
        """One page of the team's jobs, newest first."""
        return await self._jobs.list(team_id, status=status, wanted=wanted, limit=limit, cursor=cursor)

    async def cancel(self, team_id: str, job_id: str) -> Job:
        """Ask a job to stop. Raises `NotFoundError`, `ConflictError` when it has ended otherwise."""
        return await self._jobs.request(team_id, job_id, "cancel")

    async def pause(self, team_id: str, job_id: str) -> Job:
        """Ask a job to pause after its step. Raises `NotFoundError`, `ConflictError`."""
        return await self._jobs.request(team_id, job_id, "pause")

    async def resume(self, team_id: str, job_id: str, *, model: str | None = None, rounds: int | None = None) -> Job:
        """Let a paused job go on; with another model or more rounds a failed one too.

        Rounds of a failed job that gave no candidate are not counted again. Raises `NotFoundError`, `ConflictError`,
        and `ConfigurationError` for a model that cannot be used."""
        job = await self._jobs.get(team_id, job_id)
        if job.awaits_parts and job.status is JobStatus.PAUSED:
            raise ConflictError(
                f"job {job_id} waits for its parts and continues when they are done; if nothing works on "
                f"them: kernelwright profile --resume {job_id}"
            )
        if model is None and rounds is None and job.status is not JobStatus.FAILED:
            return await self._jobs.request(team_id, job_id, "resume")
        spec = replace(job.spec, model=job.spec.model if model is None else model)
        if rounds is None:
            lost = [step for step in await self._jobs.step_digests(team_id, job_id) if step.candidate_id is None]
            rounds = min(spec.budget.rounds + len(lost), MAX_ROUNDS)
        self.catalogue.check(spec)
        _check_budget(replace(spec.budget, rounds=rounds))
        return await self._jobs.reopen(team_id, job_id, model=spec.model, rounds=rounds)

    async def delete(self, team_id: str, job_id: str, actor: str) -> Deletion:
        """Remove a job that has ended: its candidates, steps, events, sources and artefacts that nothing else uses,
        and its lessons with the credit that they gave. Raises `NotFoundError`, `DeletedError` the second time, and
        `ConflictError` for a job that goes on."""
        return await self._jobs.delete(team_id, job_id, actor)

    async def candidates(self, team_id: str, job_id: str) -> tuple[EvaluatedCandidate, ...]:
        """A job's candidates in order of their steps. Raises `NotFoundError`."""
        return await self._candidates.list(team_id, job_id)

    async def digests(self, team_id: str, job_id: str) -> tuple[CandidateDigest, ...]:
        """A job's candidates in order of their steps, without sources. Raises `NotFoundError`."""
        return await self._candidates.digests(team_id, job_id)

    async def speedups(self, team_id: str, jobs: Sequence[Job]) -> Mapping[str, BestSpeedup]:
        """Job id to the speedup of its best candidate, of those that have one."""
        best = {job.id: job.best_candidate_id for job in jobs if job.best_candidate_id is not None}
        found = await self._candidates.speedups(team_id, tuple(best.values())) if best else {}
        return {job: found[candidate] for job, candidate in best.items() if candidate in found}

    async def step_digests(self, team_id: str, job_id: str) -> tuple[StepDigest, ...]:
        """A job's steps in order, without prompts and replies. Raises `NotFoundError`."""
        return await self._jobs.step_digests(team_id, job_id)

    async def step(self, team_id: str, job_id: str, index: int) -> RecordedStep:
        """One step with prompts, replies and the experiences it used. Raises `NotFoundError`."""
        return await self._jobs.step(team_id, job_id, index)

    async def costs(self, team_id: str, job_id: str) -> JobCosts:
        """What a job has used so far, by agent. Raises `NotFoundError`."""
        steps = await self._jobs.step_digests(team_id, job_id)
        return sum_costs(steps, await self._candidates.digests(team_id, job_id), await self._kept(team_id, job_id))

    async def candidate(self, team_id: str, candidate_id: str) -> EvaluatedCandidate:
        """One candidate with its report. Raises `NotFoundError`."""
        return await self._candidates.get(team_id, candidate_id)

    async def best(self, team_id: str, job_id: str) -> EvaluatedCandidate | None:
        """The job's best accepted candidate, or None. Raises `NotFoundError` for an unknown job."""
        job = await self._jobs.get(team_id, job_id)
        if job.best_candidate_id is None:
            return None
        return await self._candidates.get(team_id, job.best_candidate_id)

    async def trajectory(self, team_id: str, job_id: str) -> AsyncIterator[str]:
        """The job's steps as JSON lines, oldest first, each ended by a newline. Raises `NotFoundError`."""
        steps = await self._jobs.steps(team_id, job_id)
        found = {entry.candidate.id: entry for entry in await self._candidates.list(team_id, job_id)}
        return _lines(steps, found)

    async def result(
        self, team_id: str, job_id: str, *, source_path: str | None = None, trajectory_path: str | None = None
    ) -> ResultDocument:
        """The result document; paths are of what was exported. Raises `NotFoundError`."""
        job = await self._jobs.get(team_id, job_id)
        steps = await self._jobs.steps(team_id, job_id)
        best = await self.best(team_id, job_id)
        kept = await self._kept(team_id, job_id)
        usage = sum((*(step.usage for step in steps), *(call.usage for call in kept)), Usage())
        return ResultDocument(
            job_id=job.id,
            status=job.status,
            best=None if best is None else _best_result(best, source_path),
            rounds=len(steps),
            candidates=len(await self._candidates.list(team_id, job_id)),
            usage=usage,
            trajectory_path=trajectory_path,
        )

    async def _kept(self, team_id: str, job_id: str) -> tuple[ModelCall, ...]:
        """Calls that no step holds (yet): the job ended, or waits, within a step."""
        return tuple(itertools.chain.from_iterable((await self._jobs.kept_calls(team_id, job_id)).values()))

    def check(self, spec: JobSpec) -> JobSpec:
        """The spec as a job has it. Raises `ProblemError` or `ConfigurationError` for what reading it finds wrong."""
        spec = _normal(spec)
        _check_texts(spec)
        lint_problem(spec.problem)
        self.catalogue.check(spec)
        _check_budget(spec.budget)
        if not -MOST_PRIORITY <= spec.priority <= MOST_PRIORITY:
            raise ConfigurationError(f"priority must be -{MOST_PRIORITY} to {MOST_PRIORITY}, not {spec.priority}")
        if not 1 <= spec.beam <= MAX_BEAM:
            raise ConfigurationError(f"beam must be 1 to {MAX_BEAM}, not {spec.beam}")
        return spec

    async def _create(self, job: Job) -> None:
        if self._quotas is None or not await self._quotas.limits(job.team_id):
            await self._jobs.create(job)
            return
        async with self._admitting:  # one after the other, or many at once would all find the last place free
            await self._quotas.admit(job.team_id)
            await self._jobs.create(job)

    def _new_job(self, team_id: str, spec: JobSpec, key: str | None) -> Job:
        now = self._clock.now()
        unique = uuid.uuid4().hex if key is None else content_hash(f"{team_id}\x1f{key}")
        return Job(
            id=f"job-{unique[:20]}", team_id=team_id, spec=spec, status=JobStatus.QUEUED, created_at=now, updated_at=now
        )

    async def _find(self, team_id: str, job_id: str) -> Job | None:
        try:
            return await self._jobs.get(team_id, job_id)
        except DeletedError:
            raise
        except NotFoundError:
            return None


def evaluation_spec(spec: JobSpec, source: str) -> JobSpec:
    """The spec of a job that only evaluates a candidate: its seed candidate is its one round."""
    budget = replace(spec.budget, rounds=1)
    return replace(spec, seed_candidate=source, budget=budget, tags=(*spec.tags, EVALUATE_ONLY))


async def _lines(steps: tuple[Step, ...], found: dict[str, EvaluatedCandidate]) -> AsyncIterator[str]:
    for step in steps:
        entry = found.get(step.candidate_id or "")
        line = TrajectoryStep(
            step=step, candidate=entry.candidate if entry else None, report=entry.report if entry else None
        )
        yield codec.dumps(line) + "\n"


def _best_result(best: EvaluatedCandidate, source_path: str | None) -> BestResult:
    report = best.report
    return BestResult(
        candidate_id=best.candidate.id,
        source_path=source_path,
        speedup=report.speedup if report else Speedup(),
        verdict=report.verdict if report else Verdict.ACCEPTED,
    )


def _check_budget(budget: Budget) -> None:
    if not 1 <= budget.rounds <= MAX_ROUNDS:
        raise ConfigurationError(f"rounds must be 1 to {MAX_ROUNDS}, not {budget.rounds}")
    for name in ("wall_s", "tokens", "dollars", "device_s"):
        value = getattr(budget, name)
        if value is not None and not (value > 0 and math.isfinite(value)):
            raise ConfigurationError(f"budget {name} must be a positive number, not {value}")


def _check_device_budget(device_s: float | None, evaluation_timeout_s: float) -> None:
    """An evaluation is begun only where all that it may take is left, so that less would begin none."""
    if device_s is not None and device_s < evaluation_timeout_s:
        raise ConfigurationError(
            f"a device budget of {device_s:g} s permits no evaluation, since one may take {evaluation_timeout_s:g} s: "
            f"give at least {evaluation_timeout_s:g} s, or lower KERNELWRIGHT_EVALUATION_TIMEOUT_S"
        )


def _normal(spec: JobSpec) -> JobSpec:
    """A spec with each baseline once, and the module of a candidate that came as a chat's answer. Raises
    `ConfigurationError` where there is no module."""
    spec = replace(spec, baselines=tuple(dict.fromkeys(spec.baselines)))
    source = spec.seed_candidate
    if source is None:
        return spec
    if not (_is_storable(source) and len(source.encode()) <= MAX_CANDIDATE_BYTES):
        raise ConfigurationError(f"the candidate must be valid text of at most {MAX_CANDIDATE_BYTES} bytes")
    if not source.strip():
        raise ConfigurationError("the candidate is empty: it must be a module defining ModelNew")
    return replace(spec, seed_candidate=candidate_source(source))


def _check_texts(spec: JobSpec) -> None:
    """Every text of a spec can be stored: valid Unicode without null characters, of sensible length."""
    problem = spec.problem
    names = {"problem name": problem.name, "problem path": problem.path}
    names |= {f"tag {index}": tag for index, tag in enumerate(spec.tags, start=1)}
    names |= {f"library operator {index}": item for index, item in enumerate(problem.allow_library, start=1)}
    for what, text in names.items():
        if visible(text) != text or not 0 < len(text) <= 1000:
            raise ConfigurationError(
                f"the {what} must be 1 to 1000 characters of valid text without control characters"
            )
    if not _is_storable(spec.guidance) or len(spec.guidance) > MAX_GUIDANCE:
        raise ConfigurationError(
            f"the guidance must be valid text of at most {MAX_GUIDANCE} characters (it has {len(spec.guidance)}): "
            "every prompt of the job carries it; keep longer notes with kernelwright memory add"
        )


def _is_storable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text
