"""Candidates and their evaluations. Reports are the domain's own types: one document everywhere."""

from __future__ import annotations

from datetime import datetime

from services.domain.candidates import EvaluatedCandidate, Origin
from services.domain.digests import digest_candidate
from services.domain.evaluations import EvaluationReport, Verdict
from services.domain.gates import GateName
from services.domain.jobs import JobSpec, JobStatus
from services.domain.measurements import Gain, Speedup, default_baselines
from web.schemas.base import Source, View
from web.schemas.jobs import TargetBody


class EvaluationBody(TargetBody):
    """A candidate to judge, without any search."""

    candidate: Source
    """A module defining `ModelNew`."""

    def spec(self) -> JobSpec:
        """The specification of the job that judges it."""
        return JobSpec(
            problem=self.problem.problem(),
            backend=self.backend,
            device=self.device,
            baselines=default_baselines(self.device) if self.baselines is None else self.baselines,
            tags=self.tags,
        )


class EvaluationView(View):
    """An evaluation without search: its report is there once its job has ended."""

    id: str
    """Also the id of the job that runs it."""
    status: JobStatus
    message: str | None
    report: EvaluationReport | None


class CandidateSummary(View):
    """A candidate in a list."""

    id: str
    job_id: str
    step: int
    parent_id: str | None
    origin: Origin
    backend: str
    summary: str
    created_at: datetime
    verdict: Verdict | None
    failed_gate: GateName | None
    median_us: float | None
    ci95_us: tuple[float, float] | None
    speedup: Speedup | None
    gain: Gain | None
    """Whether it is faster than the fastest baseline; of accepted candidates only."""
    baselines_us: dict[str, float] | None
    """Medians of the baselines it was compared with."""
    self_attested: str | None
    """Why its acceptance rests on the problem's own word; null where it does not."""
    input_sets: int
    """How many input sets it was timed with: the first one has a roofline."""
    roofline_fraction: float | None
    """Lower bound over median of the first input set."""
    bottleneck: str | None
    tuned: int | None
    """Settings of its `TUNABLES` that were tried."""
    device_s: float


class CandidateView(CandidateSummary):
    """A candidate with its source and report."""

    source: str
    report: EvaluationReport | None

    @classmethod
    def of_entry(cls, entry: EvaluatedCandidate) -> CandidateView:
        """The answer about a candidate."""
        summary = CandidateSummary.model_validate(digest_candidate(entry))
        return cls(**dict(summary), source=entry.candidate.source, report=entry.report)
