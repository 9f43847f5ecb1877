"""Jobs of a bench in this process."""

from __future__ import annotations

from pathlib import Path

from kernelwright.bench.rows import JobFacts
from kernelwright.bench.terms import BenchTerms
from kernelwright.solving import Solver
from kernelwright.wiring.installation import Installation
from services.domain.candidates import EvaluatedCandidate
from services.domain.digests import digest_candidate
from services.domain.evaluations import EvaluationReport
from services.domain.jobs import JobSpec
from services.domain.problems import Problem


class LocalJobs:
    """Runs jobs over this machine's worker; one that was interrupted goes on from its last step."""

    def __init__(self, installation: Installation, solver: Solver, terms: BenchTerms) -> None:
        self._service = installation.service
        self._solver = solver
        self._terms = terms

    def check(self, problem: Problem) -> None:
        """Raise `ProblemError` or `ConfigurationError`."""
        self._service.check(self._spec(problem))

    async def submit(self, problem: Problem, name: str) -> str:
        """Store the problem's job. Raises `UserError`."""
        return (await self._solver.submit(self._spec(problem), idempotency_key=name)).id

    async def finish(self, job_id: str, folder: Path) -> JobFacts:
        """Run a job to its end. Raises `ConflictError`, `InfrastructureError`."""
        _, after = await self._solver.resumable(job_id)
        outcome = await self._solver.finish(job_id, out=folder, listener=lambda _event, _report: None, after=after)
        job, candidates = outcome.job, await self._solver.candidates(job_id)
        judged = outcome.report or _last_report(candidates)
        return JobFacts(
            job_id=job.id,
            status=job.status,
            message=job.message,
            family=None if job.analysis is None else job.analysis.family,
            operators=() if job.analysis is None else tuple(item.target for item in job.analysis.operators),
            started_at=job.started_at,
            finished_at=job.finished_at or job.updated_at,
            events=await self._solver.events(job_id),
            candidates=tuple(map(digest_candidate, candidates)),
            best_candidate_id=job.best_candidate_id,
            report=judged,
            rounds=outcome.document.rounds,
            usage=outcome.document.usage,
            kernel=outcome.export.kernel,
        )

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


def _last_report(candidates: tuple[EvaluatedCandidate, ...]) -> EvaluationReport | None:
    return next((each.report for each in reversed(candidates) if each.report is not None), None)
