"""Jobs of a bench, made and read through the REST API: of a server, or of the embedded service in this process."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelwright.bench.rows import JobFacts
from kernelwright.bench.terms import BenchTerms
from kernelwright.whole_files import replace_text
from services.client import Client
from services.domain import codec
from services.domain.digests import CandidateDigest
from services.domain.errors import InfrastructureError
from services.domain.evaluations import EvaluationReport
from services.domain.events import Event, EventKind
from services.domain.jobs import JobSpec, JobStatus
from services.domain.problems import Problem
from services.domain.usage import Usage
from services.ports.runtime import Clock
from services.problems.lint import lint_problem

if TYPE_CHECKING:
    from kernelwright.local_job import Solver
    from kernelwright.settings import Settings

POLL_S = 1.0
GIVE_UP_S = 300.0
"""How long a server may be away before waiting for a job ends; a second call goes on."""
_TOLD = frozenset({EventKind.JOB_STATUS, EventKind.JOB_VALIDATED, EventKind.JOB_FINISHED})


class BenchJobs(ABC):
    """Jobs of one bench, all on the same terms, one at a time."""

    def __init__(self, client: Client, terms: BenchTerms) -> None:
        self._client = client
        self._terms = terms

    @abstractmethod
    def check(self, problem: Problem) -> None:
        """Raise `ProblemError` for what reading the problem finds wrong, another `UserError` for the terms."""

    @abstractmethod
    async def _kernel(self, job_id: str, folder: Path) -> Path | None:
        """The file of the best kernel, written into a folder once the job has ended."""

    async def submit(self, problem: Problem, name: str) -> str:
        """Make the problem's job, once for each name; its id. Raises `UserError`, `InfrastructureError`."""
        body = codec.to_data(self._spec(problem)) | {"compiler_draft": self._terms.compiler_draft}
        return str((await asyncio.to_thread(self._client.submit, body, idempotency_key=name))["id"])

    async def finish(self, job_id: str, folder: Path) -> JobFacts:
        """Wait for a job's end and put its kernel into a folder. Raises `UserError`, `InfrastructureError`."""
        kernel = await self._kernel(job_id, folder)
        return await asyncio.to_thread(self._facts, job_id, kernel)

    def _facts(self, job_id: str, kernel: Path | None) -> JobFacts:
        job, candidates = self._client.job(job_id), self._client.candidates(job_id)
        result, analysis = self._client.result(job_id), job["analysis"] or {"family": None, "operators": []}
        events = [event.data for event in self._client.events(job_id) if event.kind in _TOLD]
        return JobFacts(
            job_id=job_id,
            status=JobStatus(job["status"]),
            message=job["message"],
            family=analysis["family"],
            operators=tuple(analysis["operators"]),
            started_at=None if job["started_at"] is None else datetime.fromisoformat(job["started_at"]),
            finished_at=datetime.fromisoformat(job["finished_at"] or job["updated_at"]),
            events=tuple(codec.from_data(Event, event) for event in events),
            candidates=tuple(codec.from_data(CandidateDigest, each) for each in candidates),
            best_candidate_id=job["best_candidate_id"],
            report=self._report(job["best_candidate_id"], candidates),
            rounds=result["rounds"],
            usage=codec.from_data(Usage, result["usage"]),
            kernel=kernel,
        )

    def _report(self, best: str | None, candidates: list[dict[str, Any]]) -> EvaluationReport | None:
        """Of the best candidate, or else of the last one that was judged."""
        judged = best or next((each["id"] for each in reversed(candidates) if each["verdict"] is not None), None)
        found = None if judged is None else self._client.candidate(judged)["report"]
        return codec.from_data(EvaluationReport, found) if found else None

    def _spec(self, problem: Problem) -> JobSpec:
        terms = self._terms
        return JobSpec(
            problem=terms.applied(problem),
            backend=terms.backend,
            device=terms.device,
            model=terms.model,
            strategy=terms.strategy,
            beam=terms.beam,
            agents=terms.agents,
            verify_first=terms.verify_first,
            budget=terms.budget,
            baselines=terms.baselines,
            compiler_draft=bool(terms.compiler_draft),
        )


class ServerJobs(BenchJobs):
    """Has jobs run by a server."""

    def __init__(self, client: Client, terms: BenchTerms, clock: Clock) -> None:
        super().__init__(client, terms)
        self._clock = clock

    def check(self, problem: Problem) -> None:
        """Raise `ProblemError`; the server checks the terms with the first job."""
        lint_problem(self._terms.applied(problem))

    async def _kernel(self, job_id: str, folder: Path) -> Path | None:
        best = (await self._ended(job_id))["best_candidate_id"]
        return None if best is None else await asyncio.to_thread(self._saved, job_id, best, folder)

    async def _ended(self, job_id: str) -> dict[str, Any]:
        """The job once it has ended; a server that is away for a while is waited for."""
        answered = self._clock.monotonic()
        while True:
            try:
                job = await asyncio.to_thread(self._client.job, job_id)
                answered = self._clock.monotonic()
                if JobStatus(job["status"]).is_final:
                    return job
            except InfrastructureError:
                if self._clock.monotonic() - answered > GIVE_UP_S:
                    raise
            await self._clock.sleep(POLL_S)

    def _saved(self, job_id: str, best: str, folder: Path) -> Path:
        kernel = folder / "kernel.py"
        source = self._client.candidate(best)["source"]
        folder.mkdir(parents=True, exist_ok=True)
        replace_text(kernel, source)
        self._client.save_bundle(job_id, folder / "bundle.zip")
        return kernel


class EmbeddedJobs(BenchJobs):
    """Runs jobs over this machine's worker; one that was interrupted goes on from its last step."""

    def __init__(self, client: Client, terms: BenchTerms, solver: Solver) -> None:
        super().__init__(client, terms)
        self._solver = solver

    def check(self, problem: Problem) -> None:
        """Raise `ProblemError` or `ConfigurationError`."""
        self._solver.here.service.check(self._spec(problem))

    async def _kernel(self, job_id: str, folder: Path) -> Path | None:
        await self._solver.resumable(job_id)
        return (await self._solver.finish(job_id, out=folder)).export.kernel


@asynccontextmanager
async def open_jobs(
    server: Client | None, settings: Settings, terms: BenchTerms, clock: Clock
) -> AsyncIterator[BenchJobs]:
    """Jobs on a server, or else here."""
    if server is not None:
        yield ServerJobs(server, terms, clock)
        return
    from kernelwright.local_job import open_solver
    from kernelwright.wiring.web import open_local_client

    async with open_solver(settings) as solver, open_local_client(solver.here) as client:
        yield EmbeddedJobs(client, terms, solver)
