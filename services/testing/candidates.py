"""Candidates and their reports in dictionaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from services.domain.candidates import Candidate, EvaluatedCandidate
from services.domain.digests import (
    BestSpeedup,
    CandidateDigest,
    digest_candidate,
)
from services.domain.errors import NotFoundError
from services.domain.evaluations import EvaluationReport, EvaluationRequest
from services.domain.jobs import Lease
from services.ports.jobs import CandidateStore
from services.testing.database import InMemoryDatabase


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
