"""Candidates, their reports, accepted results and artefacts in dictionaries."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from services.domain.candidates import Candidate, EvaluatedCandidate
from services.domain.digests import (
    BestSpeedup,
    CandidateDigest,
    digest_candidate,
)
from services.domain.errors import NotFoundError
from services.domain.evaluations import EvaluationReport, EvaluationRequest
from services.domain.jobs import JobStatus, Lease
from services.domain.measurements import BASELINES
from services.domain.problems import Problem
from services.domain.verdicts import UNSOLVED, StoredVerdict
from services.ports.jobs import ArtefactStore, CandidateStore, VerdictStore
from tests.doubles.database import InMemoryDatabase


class InMemoryCandidateStore(CandidateStore):
    """A `CandidateStore` where the first report stays."""

    def __init__(self, database: InMemoryDatabase) -> None:
        self._database = database

    async def add(self, lease: Lease, candidate: Candidate) -> None:
        """Store a candidate once. Raises `LeaseLostError`."""
        self._database.check(lease)
        self._database.candidates.setdefault(candidate.id, candidate)

    async def get(self, team_id: str, candidate_id: str) -> EvaluatedCandidate:
        """One candidate with its report. Raises `NotFoundError`."""
        candidate = self._database.candidates.get(candidate_id)
        if candidate is None or candidate.team_id != team_id:
            raise NotFoundError(f"no candidate {candidate_id}")
        return self._evaluated(candidate)

    async def list(self, team_id: str, job_id: str) -> tuple[EvaluatedCandidate, ...]:
        """A job's candidates in order of their steps. Raises `NotFoundError`."""
        self._database.job(team_id, job_id)
        candidates = [item for item in self._database.candidates.values() if item.job_id == job_id]
        return tuple(self._evaluated(item) for item in sorted(candidates, key=lambda item: (item.step, item.id)))

    async def digests(self, team_id: str, job_id: str) -> tuple[CandidateDigest, ...]:
        """A job's candidates in order of their steps, without sources. Raises `NotFoundError`."""
        return tuple(map(digest_candidate, await self.list(team_id, job_id)))

    async def speedups(self, team_id: str, candidate_ids: Sequence[str]) -> Mapping[str, BestSpeedup]:
        """Candidate id to speedup, of those that were timed against a baseline."""
        wanted = [self._database.candidates[name] for name in candidate_ids if name in self._database.candidates]
        reports = {item.id: self._evaluated(item).report for item in wanted if item.team_id == team_id}
        found = {name: report.speedup for name, report in reports.items() if report is not None}
        return {
            name: BestSpeedup(ratio=speedup.best_baseline, ci95=speedup.ci95)
            for name, speedup in found.items()
            if speedup.best_baseline is not None
        }

    async def finish(self, request: EvaluationRequest, report: EvaluationReport) -> bool:
        """Store a report once."""
        if request.evaluation_id in self._database.reports:
            return False
        self._database.reports[request.evaluation_id] = report
        self._database.judged[request.evaluation_id] = (request, self._database.clock.now())
        self._database.evaluation_of[request.candidate_id] = request.evaluation_id
        return True

    async def report(self, evaluation_id: str) -> EvaluationReport | None:
        """The stored report, if any."""
        return self._database.reports.get(evaluation_id)

    def _evaluated(self, candidate: Candidate) -> EvaluatedCandidate:
        evaluation = self._database.evaluation_of.get(candidate.id, "")
        again = self._database.verified.get(evaluation)
        return EvaluatedCandidate(
            candidate=candidate,
            report=self._database.reports.get(evaluation),
            verified_by=None if again is None else again.proven_by,
        )


class InMemoryArtefactStore(ArtefactStore):
    """An `ArtefactStore` in a dictionary."""

    def __init__(self, database: InMemoryDatabase) -> None:
        self._database = database

    async def put(self, team_id: str, content: bytes, *, job_id: str | None = None) -> str:
        """Keep a content under its SHA-256."""
        key = hashlib.sha256(content).hexdigest()
        if job_id is not None:
            self._database.artefact_owners.setdefault((team_id, key), set()).add(job_id)
        self._database.artefacts[team_id, key] = content
        return key

    async def get(self, team_id: str, key: str) -> bytes:
        """The content. Raises `NotFoundError`."""
        try:
            return self._database.artefacts[team_id, key]
        except KeyError:
            raise NotFoundError(f"no artefact {key}") from None


class InMemoryVerdictStore(VerdictStore):
    """A `VerdictStore` over the reports of an `InMemoryCandidateStore`."""

    def __init__(self, database: InMemoryDatabase) -> None:
        self._database = database

    async def accepted(self, team_id: str, *, after: str | None = None, limit: int = 50) -> tuple[StoredVerdict, ...]:
        """Accepted results of jobs that have ended, and of no job, in order of their ids."""
        found = [self._stored(name) for name in sorted(self._database.judged) if after is None or name > after]
        return tuple(one for one in found if one.request.team_id == team_id and self._counts(one))[:limit]

    async def verified(self, stored: StoredVerdict, report: EvaluationReport, actor: str) -> bool:
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
