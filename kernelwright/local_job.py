"""Whole jobs in this process: what `run` and `bench` do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from kernelwright.orchestrator_names import is_gone
from kernelwright.settings import Settings
from kernelwright.wiring.installation import Installation, make_orchestrator, open_installation
from kernelwright.wiring.queues import open_queue
from orchestrator import Orchestrator
from services.domain.errors import NotFoundError, UserError
from services.domain.evaluations import EvaluationReport
from services.domain.events import Event, EventKind
from services.domain.jobs import LOCAL_TEAM, Job, JobSpec, JobStatus, Lease
from services.exports import Export
from services.jobs.service import ResultDocument

Listener = Callable[[Event, EvaluationReport | None], None]
"""Told of each event; for `evaluation.finished` with the candidate's report."""


def _nobody(*_: object) -> None:
    """Listens to a job that nobody watches."""


@dataclass(frozen=True, kw_only=True)
class SolveResult:
    """What came of a job."""

    job: Job
    report: EvaluationReport | None
    """Of the best accepted candidate."""
    document: ResultDocument
    export: Export


class Solver:
    """Runs jobs in this process, one at a time."""

    def __init__(self, installation: Installation, orchestrator: Orchestrator) -> None:
        self.here = installation
        """What it works over."""
        self._orchestrator = orchestrator

    async def submit(self, spec: JobSpec) -> Job:
        """Store a new job. Raises `UserError`."""
        return (await self.here.service.submit(LOCAL_TEAM, spec))[0]

    async def finish(
        self, job_id: str, *, out: Path | None, listener: Listener = _nobody, after: int = 0
    ) -> SolveResult:
        """Take a job to its end, telling of its events after a number, and write its results.

        Raises `NotFoundError`, `ConflictError`, `InfrastructureError`."""
        following = asyncio.create_task(self._follow(job_id, after, listener))
        try:
            job = await self._orchestrator.run_job(job_id, LOCAL_TEAM)
            await asyncio.wait({following}, timeout=5)
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
        return await self._outcome(job, out)

    async def outcome(self, job_id: str, out: Path | None) -> SolveResult:
        """The results of a finished job, written again. Raises `NotFoundError`."""
        return await self._outcome(await self.here.service.get(LOCAL_TEAM, job_id), out)

    async def resumable(self, job_id: str, *, model: str | None = None, rounds: int | None = None) -> tuple[Job, int]:
        """A job to continue, unpaused, and the number of its last event so far; a failed one goes on, and so does a
        paused one with another model or number of rounds. Raises `NotFoundError`, `ConflictError`,
        `ConfigurationError`."""
        job = await self.here.service.get(LOCAL_TEAM, job_id)
        if model is not None or rounds is not None:
            job = await self.here.service.resume(LOCAL_TEAM, job_id, model=model, rounds=rounds)
        elif not job.status.is_final and (job.pause_requested or job.status is JobStatus.PAUSED):
            job = await self.here.service.resume(LOCAL_TEAM, job_id)
        return job, await self._last_event(job_id)

    async def awaited_lease(self, job_id: str) -> Lease | None:
        """The lease of another orchestrator that may still be at work on a job, and will be waited for."""
        lease = await self.here.stores.jobs.holder(job_id)
        return None if lease is None or is_gone(lease.owner) else lease

    async def _last_event(self, job_id: str) -> int:
        last = 0
        while page := await self.here.stores.events.read(job_id, last):
            last = page[-1].seq
        return last

    async def _follow(self, job_id: str, after: int, listener: Listener) -> None:
        async for event in self.here.stores.events.follow(job_id, after):
            listener(event, await self._report(event))

    async def _report(self, event: Event) -> EvaluationReport | None:
        if event.kind is not EventKind.EVALUATION_FINISHED:
            return None
        try:
            found = await self.here.service.candidate(LOCAL_TEAM, str(event.data["candidate_id"]))
        except NotFoundError:
            return None
        return found.report

    async def _outcome(self, job: Job, out: Path | None) -> SolveResult:
        here = self.here
        export = await here.exporter.to_folder(LOCAL_TEAM, job.id, out or here.settings.results(job.id))
        best = await here.service.best(LOCAL_TEAM, job.id)
        document = await here.service.result(
            LOCAL_TEAM,
            job.id,
            source_path=str(export.kernel) if export.kernel else None,
            trajectory_path=str(export.trajectory),
        )
        return SolveResult(job=job, report=best.report if best else None, document=document, export=export)


@asynccontextmanager
async def open_solver(settings: Settings, *specs: JobSpec, resume: str | None = None) -> AsyncIterator[Solver]:
    """A solver over this machine's worker; the specs, and that the job to resume exists, are checked first."""
    if settings.queue != "in-process":
        raise UserError("run, bench and profile work in this process: unset KERNELWRIGHT_QUEUE, or submit to a server")
    async with open_installation(settings) as installation:
        for spec in specs:
            installation.service.check(spec)
        if resume is not None:
            await installation.service.get(LOCAL_TEAM, resume)
        async with open_queue(installation) as queue:
            yield Solver(installation, make_orchestrator(installation, queue))
