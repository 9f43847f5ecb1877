"""What a step teaches: its reward, and the experience made of its outcome. Pure functions.

Rewards follow EvoKernel (section 3.2): in draft only feasibility counts, in refine the gain over the best latency so
far. A suspicious candidate earns nothing and an infrastructure error is nobody's: neither is learned from.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from services.domain.candidates import Candidate
from services.domain.chat import MoveFact, PlanFact
from services.domain.evaluations import EvaluationReport, Verdict
from services.domain.experiences import Experience, ExperienceKind, experience_id
from services.domain.gates import GateStatus
from services.domain.jobs import Stage
from services.domain.objectives import described
from services.domain.ratios import seed_figures, with_seed
from services.domain.steps import Lesson
from services.memory.outcome import site
from services.memory.values import draft_reward, refine_reward

TELLS_OUTCOME = " Outcome: "
"""Stands in the text of an experience of a candidate: moves before it, verdict and figures after it."""
_TEXT_CHARACTERS = 4000
"""Most of an experience's text: what a model said at length is in the trajectory."""
_MOVES_CHARACTERS = 200
_DETAIL_CHARACTERS = 600
"""How much of a gate's evidence an experience keeps: enough for the first compiler error."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Where an experience was made."""

    family: str
    device: str
    toolchain: str
    dtype: str | None = None
    """Floating-point type of the problem."""
    shape_class: str | None = None
    """Coarse class of the problem's shapes."""

    @property
    def site(self) -> str:
        """Device and toolchain, as values are kept by."""
        return site(self.device, self.toolchain)


def reward(stage: Stage, report: EvaluationReport | None, best_median_us: float | None) -> float | None:
    """The step's reward in [-1, 1]; None where it earns none.

    Draft: r1 = +1 when accepted, else −1. Refine: r2 = tanh(ln b − ln l) with the best latency b before the step and
    the candidate's l, −1 when it is rejected. A kernel that collapses on held-out input sets earns −1 in both.
    """
    if report is None or report.verdict in (Verdict.SUSPICIOUS, Verdict.INFRASTRUCTURE_ERROR):
        return None
    if report.collapses:
        return draft_reward(accepted=False)
    if stage is Stage.DRAFT or best_median_us is None:
        return draft_reward(accepted=report.accepted)
    if report.accepted and report.latency is None:
        return None
    median_us = report.latency.median_us if report.latency is not None else None
    return refine_reward(accepted=report.accepted, best_us=best_median_us, median_us=median_us)


def lesson_of(
    report: EvaluationReport | None, setting: Setting, *, holdout: bool, searched: bool, backend: str | None = None
) -> Lesson | None:
    """What memory learns from a step's report; None where it learns nothing, as from a self-attested result."""
    if report is None or report.self_attested or report.verdict not in (Verdict.ACCEPTED, Verdict.REJECTED):
        return None
    return Lesson(
        report=report,
        family=setting.family,
        site=setting.site,
        holdout=holdout,
        searched=searched,
        backend=backend,
    )


def experiences_of(
    candidate: Candidate,
    report: EvaluationReport,
    *,
    stage: Stage,
    plan: PlanFact | None,
    critique: str | None,
    used: tuple[str, ...],
    setting: Setting,
    subject: str = "",
    bottleneck: str | None = None,
    parent: EvaluationReport | None = None,
    at: datetime,
) -> tuple[Experience, ...]:
    """What an evaluated candidate adds to memory, one experience: of an accepted one its trace (code, figures, what was
    learned; a start point for others), of a rejected one the failure with its code; nothing for doubtful outcomes.

    `subject` says what the problem computes, so that later problems find it. `bottleneck` is the Profiler's reading;
    without one the report's own diagnosis is kept. `parent` is what is known of the candidate it was made from: one
    that came out slower says so."""
    if report.verdict not in (Verdict.ACCEPTED, Verdict.REJECTED):
        return ()
    kind = ExperienceKind.TRACE if report.accepted else ExperienceKind.FAILURE
    moves = plan.moves if plan is not None else ()
    experience = Experience(
        id=experience_id(candidate.id, kind),
        team_id=candidate.team_id,
        kind=kind,
        stage=stage,
        family=setting.family,
        backend=candidate.backend,
        device=setting.device,
        toolchain=setting.toolchain,
        title=_title(setting.family, candidate, moves, report),
        text=_text(subject or f"Operator family: {setting.family}.", plan, moves, report, critique, parent),
        code=candidate.source,
        moves=tuple(move.name for move in moves),
        verdict=report.verdict,
        referee=report.proven_by,
        bottleneck=bottleneck or _bottleneck(report),
        dtype=setting.dtype,
        shape_class=setting.shape_class,
        speedup=report.speedup.best_baseline if report.accepted else None,
        median_us=report.latency.median_us if report.accepted and report.latency is not None else None,
        job_id=candidate.job_id,
        candidate_id=candidate.id,
        used=used,
        created_at=at,
    )
    return (experience,)


def describe_moves(moves: tuple[MoveFact, ...]) -> str:
    """Moves with their parameters: `fuse, tile_rows(rows=4)`; `no named move` where there are none."""
    return ", ".join(_move(move) for move in moves) or "no named move"


def describe_outcome(report: EvaluationReport, *, intervals: bool = True) -> str:
    """Verdict with the figures and their 95 % intervals, or the gate that explains it, in a few words."""
    if report.failed_gate is not None:
        return f"{report.verdict.value} at {report.failed_gate.value}"
    if report.latency is None:
        return report.verdict.value
    latency, ratio, beside = report.latency, report.speedup.best_baseline, report.speedup.ci95
    time = f"{latency.median_us:.1f} µs{_interval(latency.ci95_us, 1) if intervals else ''}"
    gain = "" if ratio is None else f", {ratio:.2f}× the best baseline{_interval(beside, 2) if intervals else ''}"
    if report.collapses and report.objective is not None:
        return f"{report.verdict.value}, but it collapses: {report.objective.collapse}"
    of = described(report.objective)
    return f"{report.verdict.value} at {time}{gain}{f' ({of})' if of else ''}"


def beside_parent(report: EvaluationReport | None, parent: EvaluationReport | None) -> str | None:
    """How a candidate's speed stands against its parent's, with the 95 % interval of the ratio; None where one of them
    was not accepted and timed."""
    before = seed_figures(parent)
    if report is None or not report.accepted or report.latency is None or before is None:
        return None
    compared = with_seed(report, before).speedup
    if compared.seed is None or compared.seed_ci95 is None:
        return None
    low, high = compared.seed_ci95
    figures = f"{compared.seed:.2f}×{_interval((low, high), 2)}"
    if low > 1.0:
        return f"faster than its parent: {figures}"
    return f"slower than its parent: {figures}" if high < 1.0 else f"within noise of its parent: {figures}"


def _interval(bounds: tuple[float, float] | None, digits: int) -> str:
    return "" if bounds is None else f" ({bounds[0]:.{digits}f} to {bounds[1]:.{digits}f})"


def evidence(report: EvaluationReport) -> str:
    """The evidence of the gates that failed or doubted, one line each, cut to what a reader needs."""
    lines = [
        f"{gate.name.value}: {gate.detail[:_DETAIL_CHARACTERS]}"
        for gate in report.gates
        if gate.status in (GateStatus.FAILED, GateStatus.SUSPICIOUS)
    ]
    return "\n".join(lines)


def _move(move: MoveFact) -> str:
    parameters = ", ".join(f"{name}={value}" for name, value in move.parameters)
    return f"{move.name}({parameters})" if parameters else move.name


def _title(family: str, candidate: Candidate, moves: tuple[MoveFact, ...], report: EvaluationReport) -> str:
    outcome = describe_outcome(report, intervals=False)
    return f"{family} in {candidate.backend}: {_shortened(describe_moves(moves), _MOVES_CHARACTERS)}: {outcome}"


def _text(
    subject: str,
    plan: PlanFact | None,
    moves: tuple[MoveFact, ...],
    report: EvaluationReport,
    critique: str | None,
    parent: EvaluationReport | None,
) -> str:
    beside = beside_parent(report, parent)
    outcome = describe_outcome(report) + (f"; {beside}" if beside else "")
    lines = [f"{subject} Moves: {describe_moves(moves)}.{TELLS_OUTCOME}{outcome}."]
    if plan is not None:
        lines.append(f"Hypothesis: {plan.hypothesis}")
    if report.profile is not None:
        lines.append(f"Bottleneck: {report.profile.bottleneck} ({report.profile.reason})")
    if failed := evidence(report):
        lines.append(failed)
    if critique:
        lines.append(f"Judge: {critique}")
    return _shortened("\n".join(lines), _TEXT_CHARACTERS)


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most].rstrip()} …"


def _bottleneck(report: EvaluationReport) -> str | None:
    return report.profile.bottleneck if report.profile is not None else None
