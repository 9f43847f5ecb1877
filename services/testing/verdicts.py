"""Accepted results among the reports in memory."""

from __future__ import annotations

from dataclasses import replace

from services.domain.evaluations import EvaluationReport, EvaluationRequest
from services.domain.jobs import JobStatus
from services.domain.measurements import BASELINES
from services.domain.problems import Problem
from services.domain.verdicts import UNSOLVED, StoredVerdict
from services.ports.jobs import VerdictStore
from services.testing.database import InMemoryDatabase


class InMemoryVerdictStore(VerdictStore):
    """A `VerdictStore` over the reports of an `InMemoryCandidateStore`."""

    def __init__(self, database: InMemoryDatabase) -> None:
        self._database = database

    async def accepted(self, team_id: str, *, after: str | None = None, limit: int = 50) -> tuple[StoredVerdict, ...]:
        """Accepted results of jobs that have ended, and of no job, in order of their ids."""
        found = [self._stored(name) for name in sorted(self._database.judged) if after is None or name > after]
        return tuple(one for one in found if one.request.team_id == team_id and self._counts(one))[:limit]

    async def verified(self, stored: StoredVerdict, report: EvaluationReport, actor: str) -> bool:  # noqa: ARG002
        """Keep what judging again has shown; False when the result is not accepted any more."""
        name, database = stored.request.evaluation_id, self._database
        if not database.reports[name].accepted:
            return False
        database.verified[name] = report
        if report.accepted:
            database.renew_proof(stored.request.candidate_id, report.proven_by)
        else:
            database.reports[name] = report
            self._choose_best_again(stored.request)
        return True

    def _counts(self, stored: StoredVerdict) -> bool:
        job = self._database.jobs.get(stored.request.job_id)
        return stored.report.accepted and (job is None or job.status.is_final)

    def _stored(self, name: str) -> StoredVerdict:
        request, at = self._database.judged[name]
        report, job = self._database.reports[name], self._database.jobs.get(request.job_id)
        return StoredVerdict(
            request=EvaluationRequest(
                evaluation_id=name,
                job_id=request.job_id,
                team_id=request.team_id,
                candidate_id=request.candidate_id,
                problem=job.spec.problem if job else Problem(name="problem", source=request.problem.source),
                source=request.source,
                device=request.device,
                backend=request.backend,
                baselines=tuple(one for one in BASELINES if getattr(report.baselines, one)) or ("eager",),
            ),
            report=report,
            verified=self._database.verified.get(name, report).environment,
            created_at=at,
        )

    def _choose_best_again(self, request: EvaluationRequest) -> None:
        """Give the job another best candidate, or none, where this one was its best."""
        job = self._database.jobs.get(request.job_id)
        if job is None or job.best_candidate_id != request.candidate_id:
            return
        judged = ((one, self._database.reports[name]) for name, (one, _) in sorted(self._database.judged.items()))
        left = [(one, it) for one, it in judged if one.job_id == job.id and it.accepted]
        fastest = max(left, key=lambda pair: pair[1].speedup.best_baseline or 0.0, default=None)
        job = replace(job, best_candidate_id=None if fastest is None else fastest[0].candidate_id)
        if fastest is None and job.status in (JobStatus.SOLVED, JobStatus.NO_GAIN):
            job = replace(job, status=JobStatus.UNSOLVED, message=UNSOLVED)
        self._database.jobs[job.id] = job
