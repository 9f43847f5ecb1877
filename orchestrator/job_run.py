"""One leased job, from where it stands to its end."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

from agents.strategies.registry import strategy as strategy_of
from agents.workflow.compiler_draft import absence
from agents.workflow.context import JobContext, LeaseHolder, Stores
from agents.workflow.graph import Graph
from agents.workflow.leaderboard import without_gain
from agents.workflow.rounds import useless_model
from agents.workflow.rules import JobRules
from agents.workflow.seed_kernel import evaluation_of, must_prove, seed_fault, seed_of
from agents.workflow.state import WorkflowState
from orchestrator.drain import Drain
from orchestrator.job_monitor import Interruption, JobMonitor, PollingIntervals
from orchestrator.lease_renewal import LeaseRenewal
from services.domain import codec
from services.domain.candidates import evaluation_id
from services.domain.errors import (
    ConfigurationError,
    InfrastructureError,
    KernelwrightError,
    LeaseLostError,
    ModelError,
    ProblemError,
    StorageError,
)
from services.domain.evaluations import Verdict
from services.domain.events import EventKind, JsonValue
from services.domain.jobs import EVALUATE_ONLY, WHOLE_MODEL, Job, JobStatus
from services.domain.problems import Problem
from services.domain.validations import ProblemRefusal, ValidationReport, ValidationRequest
from services.ports.models import ChatModel
from services.ports.runtime import Clock
from services.ports.work import EvaluationQueue
from services.telemetry.observed import observed_evaluation
from services.telemetry.traces import job_span

log = logging.getLogger(__name__)
_NO_LIMIT = 1_000_000_000
"""LangGraph's bound on supersteps is no stop rule of ours."""


@dataclass(frozen=True, kw_only=True)
class Collaborators:
    """What every job of an orchestrator shares."""

    stores: Stores
    queue: EvaluationQueue
    models: Callable[[str], ChatModel]
    """The model of a name. Raises `ConfigurationError`."""
    public_source: Callable[[Problem], str]
    """A problem's text without what is held out."""
    graph: Graph
    checkpoints: BaseCheckpointSaver[Any]
    clock: Clock
    rules: JobRules
    polling: PollingIntervals
    renewal: LeaseRenewal
    drain: Drain
    after_job: Callable[[str], Awaitable[object]] | None
    """Called with the team's id when a job has ended."""


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a job ends."""

    status: JobStatus
    message: str | None
    resumable: bool = False
    """Whether it stopped within a step, whose checkpoint is kept so that it can go on."""


class JobRun:
    """Takes one leased job to its end, through interruptions."""

    def __init__(self, job: Job, lease: LeaseHolder, with_: Collaborators) -> None:
        self._job = job
        self._lease = lease
        self._with = with_
        self._jobs = with_.stores.jobs
        self._monitor = JobMonitor(job, with_.renewal, with_.clock, with_.polling, lease)
        self._context: JobContext | None = None

    async def finish(self) -> Job:
        """Work until the job is final. Raises `LeaseLostError` when another orchestrator took it, `StorageError` when
        the database is out of reach; the job can then be resumed."""
        while True:
            outcome: Ending | Interruption | None = Interruption.PAUSE
            if not (self._job.status is JobStatus.PAUSED and self._job.pause_requested):
                outcome = await self._attempt()
            if outcome is Interruption.PAUSE:
                outcome = await self._pause()
            if outcome is not None:
                return await self.end(outcome if isinstance(outcome, Ending) else await self._ending(outcome))

    async def _attempt(self) -> Ending | Interruption:
        """Work until it ends or somebody interrupts it."""
        work: asyncio.Task[Ending] = asyncio.create_task(self._work())
        interruption: Interruption | None = None
        try:
            interruption = await self._monitor.until_interrupted(work)
        finally:
            if not work.done():
                await self._stop(work, interruption)
        return await work if interruption is None else interruption

    async def _work(self) -> Ending:
        """Validation and the graph. The machine's failures end the job with a message, those of the store do not."""
        try:
            refusal = await self._prepare()
            if refusal is not None:
                return Ending(status=JobStatus.REFUSED, message=refusal)
            state = await self._drive()
            ending = await self._verdict(state.get("stop"))
            return self._in_vain() or ending if ending.status is JobStatus.UNSOLVED else ending
        except (LeaseLostError, StorageError):
            raise
        except ModelError as error:
            return Ending(status=JobStatus.FAILED, message=_with_remedy(str(error), self._job.id), resumable=True)
        except InfrastructureError as error:
            return Ending(status=JobStatus.FAILED, message=str(error), resumable=True)

    async def _prepare(self) -> str | None:
        """Build the context from stored knowledge, or validate the problem; why it is refused, or None."""
        job = self._job
        model, strategy = self._model(), strategy_of(job.spec.strategy)
        validation = await self._known_validation()
        if validation is None:
            validation = await self._validate()
            if validation.refusal is not None:
                return _refused(job, validation.refusal)
            fault = await self._prove_seed() if must_prove(job) else None
            if fault is not None:
                return fault
            self._job = await self._jobs.set_status(
                self._lease.current, JobStatus.RUNNING, analysis=validation.analysis
            )
        elif self._job.status is not JobStatus.RUNNING:
            self._job = await self._jobs.set_status(self._lease.current, JobStatus.RUNNING)
        problem = dataclasses.replace(job.spec.problem, source=self._with.public_source(job.spec.problem))
        self._context = JobContext(
            job=self._job,
            lease=self._lease,
            stores=self._with.stores,
            model=model,
            strategy=strategy,
            public_problem=problem,
            validation=validation,
        )
        await self._context.load()
        await self._context.emit(EventKind.JOB_VALIDATED, _validated(validation))
        for note in validation.notes if not self._context.attempts else ():
            await self._context.emit(EventKind.JOB_NOTICE, {"step": 0, "message": note})
        if (told := absence(validation)) is not None and not self._context.attempts:
            await self._context.emit(EventKind.JOB_NOTICE, {"step": 0, "message": told})
        return None

    def _model(self) -> ChatModel:
        """The job's model. Raises `ModelError` where the settings of this process know none of that name."""
        try:
            return self._with.models(self._job.spec.model)
        except ConfigurationError as error:
            raise ModelError(str(error), retryable=False) from error

    async def _known_validation(self) -> ValidationReport | None:
        """The validation that the job's checkpoint names; None where the job has none yet."""
        if self._job.started_at is None or self._job.analysis is None:
            return None
        found = await self._with.checkpoints.aget_tuple(self._config())
        key = found.checkpoint["channel_values"].get("validation") if found is not None else None
        if not isinstance(key, str):
            return None
        text = await self._with.stores.artefacts.get(self._job.team_id, key)
        return codec.loads(ValidationReport, text)

    async def _validate(self) -> ValidationReport:
        """Ask the queue; the machine's failures are retried. Raises `InfrastructureError`."""
        if self._job.status is not JobStatus.VALIDATING:
            self._job = await self._jobs.set_status(self._lease.current, JobStatus.VALIDATING)
        spec, retry_policy = self._job.spec, self._with.rules.worker_retries
        request = ValidationRequest(
            job_id=self._job.id,
            team_id=self._job.team_id,
            problem=spec.problem,
            device=spec.device,
            backend=spec.backend,
            baselines=spec.baselines,
            draft=spec.compiler_draft,
        )
        for failures in range(1, retry_policy.attempts + 1):
            try:
                with job_span(self._job.id, "validate"):
                    report = await self._with.queue.validate(request)
            except InfrastructureError as error:
                if failures == retry_policy.attempts:
                    raise InfrastructureError(f"the problem could not be validated: {error}") from error
            else:
                if (report.analysis is None) == (report.refusal is None):
                    raise InfrastructureError("the worker's validation has neither analysis nor refusal, or both")
                return report
            await self._with.clock.sleep(retry_policy.wait_s(failures))
        raise AssertionError("unreachable: the last failure is raised")

    async def _prove_seed(self) -> str | None:
        """Have the kernel that came with the job judged, as step 0 would; why it is wrong, or None.

        What the machine could not do is left to step 0, which tries again."""
        await self._lease.ensure()
        candidate = seed_of(self._job, self._with.clock.now())
        await self._with.stores.candidates.add(self._lease.current, candidate)
        request = evaluation_of(self._job, candidate, self._with.rules.evaluation_timeout_s)
        with observed_evaluation(request) as counted:
            report = counted(await self._with.queue.evaluate(request))
        if report.verdict is Verdict.INFRASTRUCTURE_ERROR:
            return None
        await self._with.stores.candidates.finish(request, report)
        return seed_fault(report) if report.verdict is Verdict.REJECTED else None

    async def _drive(self) -> WorkflowState:
        """Run the graph from its checkpoint, or from its start."""
        assert self._context is not None
        config, graph = self._config(), self._with.graph
        found = await self._with.checkpoints.aget_tuple(config)
        start: WorkflowState | None = None
        if found is None:
            key = await self._with.stores.artefacts.put(
                self._job.team_id, codec.dumps(self._context.validation).encode(), job_id=self._job.id
            )
            start = WorkflowState(job_id=self._job.id, validation=key)
        final = await graph.ainvoke(start, config, context=self._context, durability="sync")
        return cast("WorkflowState", final)

    async def _verdict(self, reason: str | None) -> Ending:
        """Solved when something accepted is surely faster than the best baseline, else without gain, or unsolved."""
        self._job = await self._jobs.get(self._job.team_id, self._job.id)
        best = self._job.best_candidate_id
        if best is None:
            return Ending(status=JobStatus.UNSOLVED, message=reason)
        report = await self._with.stores.candidates.report(evaluation_id(best))
        tags = self._job.spec.tags
        only_judged = EVALUATE_ONLY in tags and WHOLE_MODEL not in tags
        vain = None if report is None or only_judged else without_gain(report)
        if vain is None:
            return Ending(status=JobStatus.SOLVED, message=reason)
        return Ending(status=JobStatus.NO_GAIN, message=f"{vain}; {reason}" if reason else vain)

    def _in_vain(self) -> Ending | None:
        """How a job ends whose model gave nothing that could be used; None where it did."""
        assert self._context is not None
        fault = useless_model(self._context.attempts, self._job.spec.model)
        return None if fault is None else Ending(status=JobStatus.FAILED, message=_with_remedy(fault, self._job.id))

    async def _ending(self, interruption: Interruption) -> Ending:
        """How an interrupted job ends. Raises `LeaseLostError`."""
        if interruption is Interruption.LEASE_LOST:
            raise LeaseLostError(f"another orchestrator took job {self._job.id}")
        if interruption is Interruption.CANCEL:
            return Ending(status=JobStatus.CANCELLED, message="Cancelled by user")
        return await self._verdict(f"the wall budget of {self._job.spec.budget.wall_s:g} s is used up")

    async def _stop(self, work: asyncio.Task[Ending], why: Interruption | None) -> None:
        """Stop the work at once, on this side and on the workers (unless they serve the job's next holder)."""
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        if why is not Interruption.LEASE_LOST and not (why is None and self._with.drain.begun):
            await self._with.queue.cancel(self._job.id)

    async def _pause(self) -> Interruption | None:
        """Wait, the lease kept, until the job is wanted again (None) or must stop for another reason."""
        if self._job.status is not JobStatus.PAUSED:
            self._job = await self._jobs.set_status(self._lease.current, JobStatus.PAUSED)
        log.info("the job is paused: it waits to be resumed")
        interruption = await self._monitor.until_resumed()
        log.info("the job is no longer paused%s", "" if interruption is None else f", but stopped: {interruption}")
        if interruption is None:
            self._job = await self._jobs.set_status(self._lease.current, JobStatus.RUNNING)
        return interruption

    async def end(self, ending: Ending) -> Job:
        """Write the end, which tells those who watch, and free what the job held."""
        if self._context is not None:
            await self._context.keep_calls()
        job = await self._jobs.set_status(self._lease.current, ending.status, message=ending.message)
        log.info("the job ended %s%s", ending.status, f": {ending.message}" if ending.message else "")
        await self._with.queue.cancel(job.id)
        if not ending.resumable:
            await self._with.checkpoints.adelete_thread(job.id)
        return job

    def _config(self) -> RunnableConfig:
        """The run's thread, and the lease under which a saver that fences lets it write."""
        configurable = {"thread_id": self._job.id, "checkpoint_ns": "", "lease": self._lease.current}
        return {"configurable": configurable, "recursion_limit": _NO_LIMIT}


async def run_to_its_end(lease: LeaseHolder, with_: Collaborators) -> Job:
    """The job that a lease is for, at its end; what this program or the machine fails at is its message. Raises
    `NotFoundError`, `LeaseLostError` and `StorageError`."""
    run = JobRun(await with_.stores.jobs.get(lease.current.team_id, lease.current.job_id), lease, with_)
    try:
        job = await run.finish()
        if with_.after_job is not None:
            await with_.after_job(job.team_id)
    except (LeaseLostError, StorageError):
        raise
    except KernelwrightError as error:
        return await run.end(Ending(status=JobStatus.FAILED, message=str(error), resumable=True))
    except Exception as error:
        log.exception("job %s failed for a fault of this program", lease.current.job_id)
        message = f"internal error: {type(error).__name__}: {error}"
        return await run.end(Ending(status=JobStatus.FAILED, message=message, resumable=True))
    return job


def _with_remedy(message: str, job_id: str) -> str:
    return f"{message.rstrip('.')}. Go on with another model: kernelwright run --resume {job_id} --model NAME"


def _refused(job: Job, refusal: ProblemRefusal) -> str:
    return str(ProblemError(refusal.reason, remedy=refusal.remedy, path=job.spec.problem.path, line=refusal.line))


def _validated(validation: ValidationReport) -> dict[str, JsonValue]:
    analysis = validation.analysis
    assert analysis is not None
    return {
        "family": analysis.family,
        "operators": [item.target for item in analysis.operators],
        "bytes": analysis.bytes_moved,
        "flops": analysis.flops,
        "floor_us": analysis.floor_us,
        "baselines": codec.to_data(validation.baselines),
        "device": codec.to_data(validation.device),
        "seconds": validation.seconds,
    }
