"""The report from what the gates found: one pure function for every verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from services.domain.evaluations import (
    Environment,
    EvaluationReport,
    HeldOutResult,
    PhasesS,
    ShapeResult,
    Tuned,
    Verdict,
)
from services.domain.gates import GateName, GateResult, GateStatus
from services.domain.measurements import Baselines, Passes, Speedup, gain_of
from services.domain.objectives import Objective, headline
from services.domain.profiles import Profile, Roofline


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What was measured; empty for candidates that did not get so far."""

    baselines: Baselines = field(default_factory=Baselines)
    shapes: tuple[ShapeResult, ...] = ()
    held_out: tuple[HeldOutResult, ...] = ()
    objective: Objective = field(default_factory=Objective)
    roofline: Roofline | None = None
    profile: Profile | None = None
    tuned: Tuned | None = None
    passes: Passes | None = None


def compose(
    results: Sequence[GateResult], figures: Figures, environment: Environment, phases: Mapping[str, float]
) -> EvaluationReport:
    """The report: rejected by the first failed gate, suspicious by any hint, else accepted when all gates passed."""
    gates = _complete(results, "not reached")
    failed = next((gate.name for gate in gates if gate.status is GateStatus.FAILED), None)
    reached_end = all(gate.status in (GateStatus.PASSED, GateStatus.SUSPICIOUS) for gate in gates)
    if failed is not None:
        verdict = Verdict.REJECTED
    elif not reached_end:
        raise ValueError("a report without a failed gate needs every gate")
    elif any(gate.status is GateStatus.SUSPICIOUS for gate in gates):
        verdict = Verdict.SUSPICIOUS
    else:
        verdict = Verdict.ACCEPTED
    return _report(verdict, failed, gates, figures if failed is None else _bare(figures), environment, phases)


def compose_infrastructure_error(
    reason: str, environment: Environment, phases: Mapping[str, float], results: Sequence[GateResult] = ()
) -> EvaluationReport:
    """The report when the machine failed: no gate holds it against the candidate; every open gate carries the
    reason."""
    finished = [result for result in results if result.status in (GateStatus.PASSED, GateStatus.SUSPICIOUS)]
    if len({result.name for result in finished}) == len(GateName):
        finished.pop()  # it failed after the last gate, and some gate has to say why
    gates = _complete(finished, reason)
    return _report(Verdict.INFRASTRUCTURE_ERROR, None, gates, Figures(), environment, phases)


def _complete(results: Sequence[GateResult], reason: str) -> tuple[GateResult, ...]:
    """Every gate in order; those without a result are skipped, with a reason."""
    found = {result.name: result for result in results}
    blank = (GateResult(name=name, status=GateStatus.SKIPPED, detail=reason, seconds=0.0) for name in GateName)
    return tuple(found.get(gate.name, gate) for gate in blank)


def _bare(figures: Figures) -> Figures:
    return Figures(baselines=figures.baselines, tuned=figures.tuned)


def _report(
    verdict: Verdict,
    failed: GateName | None,
    gates: tuple[GateResult, ...],
    figures: Figures,
    environment: Environment,
    phases: Mapping[str, float],
) -> EvaluationReport:
    shown = headline(figures.objective, figures.shapes, figures.held_out) if figures.shapes else None
    speedup = shown.speedup if shown else Speedup()
    known = {name: seconds for name, seconds in phases.items() if name in PhasesS.__dataclass_fields__}
    return EvaluationReport(
        verdict=verdict,
        failed_gate=failed,
        gates=gates,
        latency=shown.latency if shown else None,
        baselines=shown.baselines if shown and shown.baselines != Baselines() else figures.baselines,
        speedup=speedup,
        shapes=figures.shapes,
        roofline=figures.roofline,
        profile=figures.profile,
        tuned=figures.tuned,
        environment=environment,
        phases_s=PhasesS(**known),
        gain=gain_of(speedup),
        passes=figures.passes,
        objective=shown.objective if shown else None,
        held_out=figures.held_out,
    )
