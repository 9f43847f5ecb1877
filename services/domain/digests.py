"""Digests: a job's candidates and steps without their texts, so that a thousand of them fit one answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from services.domain.candidates import EvaluatedCandidate, Origin
from services.domain.chat import AgentRole
from services.domain.evaluations import EvaluationReport, Verdict
from services.domain.experiences import ExperienceKind
from services.domain.gates import GateName
from services.domain.jobs import Stage
from services.domain.measurements import Gain, Speedup, gain_of, gain_within
from services.domain.steps import ModelCall, Step
from services.domain.usage import Usage


@dataclass(frozen=True, kw_only=True)
class BestSpeedup:
    """A candidate's speedup over the fastest baseline."""

    ratio: float
    ci95: tuple[float, float] | None

    @property
    def gain(self) -> Gain | None:
        """Whether the candidate is faster, by its interval."""
        return gain_within(self.ci95)


@dataclass(frozen=True, kw_only=True)
class CandidateDigest:
    """One candidate and the figures of its report."""

    id: str
    job_id: str
    step: int
    """Index of the step that made it, from 0."""
    parent_id: str | None
    origin: Origin
    backend: str
    summary: str
    created_at: datetime
    verdict: Verdict | None = None
    """None until it was judged; the figures below likewise."""
    failed_gate: GateName | None = None
    median_us: float | None = None
    ci95_us: tuple[float, float] | None = None
    speedup: Speedup | None = None
    baselines_us: dict[str, float] | None = None
    """Baseline name to its median, in microseconds."""
    self_attested: str | None = None
    """Why its acceptance rests on the problem's own word; None where it does not."""
    input_sets: int = 0
    """How many input sets it was timed with."""
    roofline_fraction: float | None = None
    """Floor over median of the first input set: 1.0 is the roof."""
    bottleneck: str | None = None
    tuned: int | None = None
    """Settings of its `TUNABLES` that were tried."""
    device_s: float = 0.0
    """Seconds its evaluation took on a worker."""

    @property
    def gain(self) -> Gain | None:
        """Of an accepted candidate, whether it is faster than the fastest baseline."""
        judged = self.speedup if self.verdict is Verdict.ACCEPTED else None
        return None if judged is None else gain_of(judged)


@dataclass(frozen=True, kw_only=True)
class CallDigest:
    """One call of a chat model without prompt and reply."""

    role: AgentRole
    model: str
    usage: Usage
    seconds: float
    error: str | None


@dataclass(frozen=True, kw_only=True)
class StepDigest:
    """One step without prompts and replies."""

    index: int
    """From 0."""
    stage: Stage
    start_point: str | None
    candidate_id: str | None
    verdict: Verdict | None
    reward: float | None
    hypothesis: str | None
    """What the plan expected to help."""
    failure: str | None
    experiences: int
    """How many experiences were in the context."""
    calls: tuple[CallDigest, ...]
    started_at: datetime
    finished_at: datetime


@dataclass(frozen=True, kw_only=True)
class RecordedUse:
    """An experience that was in a step's context, with what it was thought to be worth then."""

    experience_id: str
    title: str | None
    """None where the experience is gone."""
    kind: ExperienceKind | None
    similarity: float | None
    """Cosine similarity to the step's query, -1 to 1; None where it was not recorded."""
    value: float | None
    """Learned value when it was chosen; None where none had been learned."""


@dataclass(frozen=True, kw_only=True)
class RecordedStep:
    """One step with all its texts and the experiences it used."""

    step: Step
    uses: tuple[RecordedUse, ...]
    """In the order of the context."""


@dataclass(frozen=True, kw_only=True)
class AgentCost:
    """What one agent's calls of one model came to."""

    role: AgentRole
    model: str
    usage: Usage
    seconds: float
    """Time spent waiting for replies."""
    failed: int
    """Calls whose reply could not be used."""


@dataclass(frozen=True, kw_only=True)
class JobCosts:
    """What a job has used so far."""

    by_agent: tuple[AgentCost, ...]
    total: Usage
    device_s: float
    """Seconds of workers' time."""


def digest_candidate(entry: EvaluatedCandidate) -> CandidateDigest:
    """A candidate in short form."""
    candidate, report = entry.candidate, entry.report
    bare = CandidateDigest(**{name: getattr(candidate, name) for name in _IDENTITY})
    return bare if report is None else with_report(bare, report)


def with_report(bare: CandidateDigest, report: EvaluationReport) -> CandidateDigest:
    """A digest with a report's figures."""
    return replace(
        bare,
        verdict=report.verdict,
        failed_gate=report.failed_gate,
        median_us=None if report.latency is None else report.latency.median_us,
        ci95_us=None if report.latency is None else report.latency.ci95_us,
        speedup=report.speedup,
        baselines_us=report.baselines.medians_us(),
        self_attested=report.self_attested,
        input_sets=len(report.shapes),
        roofline_fraction=None if report.roofline is None else report.roofline.fraction,
        bottleneck=None if report.profile is None else report.profile.bottleneck,
        tuned=None if report.tuned is None else report.tuned.tried,
        device_s=report.phases_s.total,
    )


def sum_costs(
    steps: tuple[StepDigest, ...], candidates: tuple[CandidateDigest, ...], kept: Iterable[ModelCall] = ()
) -> JobCosts:
    """Costs by agent and model, in the order in which they were first called; `kept` are calls of a step that is not
    recorded (yet)."""
    by_agent: dict[tuple[AgentRole, str], AgentCost] = {}
    total = Usage()
    for call in (*(call for step in steps for call in step.calls), *map(digest_call, kept)):
        total = total + call.usage
        known = by_agent.get((call.role, call.model))
        by_agent[call.role, call.model] = AgentCost(
            role=call.role,
            model=call.model,
            usage=call.usage if known is None else known.usage + call.usage,
            seconds=call.seconds + (known.seconds if known else 0.0),
            failed=(call.error is not None) + (known.failed if known else 0),
        )
    return JobCosts(by_agent=tuple(by_agent.values()), total=total, device_s=sum(item.device_s for item in candidates))


_IDENTITY = ("id", "job_id", "step", "parent_id", "origin", "backend", "summary", "created_at")


def digest_call(call: ModelCall) -> CallDigest:
    """A model call in short form."""
    return CallDigest(role=call.role, model=call.model, usage=call.usage, seconds=call.seconds, error=call.error)
