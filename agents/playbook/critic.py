"""The Judge's and Profiler's readings of a report: fixed rules over gates, roofline and profile."""

from __future__ import annotations

from agents.playbook.planner import choose, kernels, unable
from agents.playbook.schedule import Schedule, read
from agents.playbook.triton import planner as triton
from agents.roles.replies import DraftCritique, ProfilerReply, RefineCritique
from services.domain.chat import Facts
from services.domain.evaluations import EvaluationReport
from services.domain.gates import GateName
from services.domain.texts import percent

FIXES = {
    GateName.SCREEN: "remove what the screen names; compute it in the kernel",
    GateName.COMPILE: "repair the first error the compiler names",
    GateName.LOAD: "register the same parameters and take the same arguments as the reference",
    GateName.CORRECTNESS: "go back to the plain schedule: the C library's functions and double totals",
    GateName.INTEGRITY: "write every output element on every call and change no input",
    GateName.GENERALIZATION: "take every size from the tensors at run time",
    GateName.TIMING: "do more work per parallel region, so that runs agree",
}
NEXT_TRITON = "nothing is repaired: go on with the next kernel of the catalogue"


def draft(facts: Facts) -> DraftCritique:
    """One issue, why, and the smallest repair."""
    report = facts.report
    if report is None or report.failed_gate is None:
        verdict = report.verdict.value if report else "no report"
        return DraftCritique(
            critical_issue=f"no gate failed ({verdict})",
            why="nothing to repair",
            minimal_fix="go on with the next move",
        )
    gate = report.gate(report.failed_gate)
    return DraftCritique(
        critical_issue=f"gate {report.failed_gate.value} failed",
        why=gate.detail if gate else "no detail",
        minimal_fix=NEXT_TRITON if facts.backend == triton.BACKEND else FIXES[report.failed_gate],
    )


def refine(facts: Facts) -> RefineCritique:
    """What limits an accepted candidate, and the move that should change it."""
    bottleneck, evidence = diagnose(facts.report)
    if facts.backend == triton.BACKEND:
        return _refine_triton(facts, f"{bottleneck}: {evidence}")
    reason = unable(facts)
    if reason is not None:  # the kernel came with the job
        return RefineCritique(bottleneck=bottleneck, method="none", modification_plan=reason)
    base = read(facts.source) or Schedule()
    tried = {kernels(attempt.source) for attempt in facts.attempts} | {kernels(facts.source)}
    moves = choose(facts, base, tried)
    if not moves:
        return RefineCritique(bottleneck=bottleneck, method="none", modification_plan="no untried move is left")
    steps = (
        f"{move.name}({', '.join(f'{name}={value}' for name, value in move.parameters)}): {move.reason}"
        for move in moves
    )
    return RefineCritique(
        bottleneck=f"{bottleneck}: {evidence}",
        method=" + ".join(move.name for move in moves),
        modification_plan="; ".join(steps),
    )


def _refine_triton(facts: Facts, bottleneck: str) -> RefineCritique:
    """A template's block sizes are tuned in its evaluation: what is left to change is the algorithm."""
    following = triton.untried(facts)
    if following is None:
        return RefineCritique(bottleneck=bottleneck, method="none", modification_plan=triton.EXHAUSTED)
    plan = f"{following.name}: {following.variant.reason}"
    return RefineCritique(bottleneck=bottleneck, method=following.name, modification_plan=plan)


def profile(facts: Facts) -> ProfilerReply:
    """The figures that matter."""
    bottleneck, evidence = diagnose(facts.report)
    measured = facts.report.profile if facts.report else None
    metrics = tuple(sorted(measured.metrics))[:6] if measured else ()
    return ProfilerReply(metrics=metrics, bottleneck=bottleneck, evidence=evidence)


def diagnose(report: EvaluationReport | None) -> tuple[str, str]:
    """(bottleneck class, evidence)."""
    if report is None:
        return "unknown", "there is no report"
    if report.profile is not None and report.profile.source != "none":
        return report.profile.bottleneck, report.profile.reason
    if report.roofline is None:
        return "unknown", "nothing was timed"
    roof = report.roofline
    return roof.bound, f"{percent(roof.fraction)} of the {roof.bound} roof ({roof.floor_us:.0f} µs)"
