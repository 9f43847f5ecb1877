"""The Planner's and Coder's decisions for Triton: the next kernel of the catalogue that the job has not tried."""

from __future__ import annotations

from agents.playbook.triton.catalogue import TritonKernel, kernels
from agents.playbook.triton.remembered import in_order, recommended
from agents.roles.replies import CoderReply, Move, PlannerReply
from services.domain.chat import AttemptFact, Facts
from services.domain.problems import ProblemAnalysis

BACKEND = "triton"
EXHAUSTED = "the playbook has tried every Triton kernel it knows for this problem"


def plan(facts: Facts) -> PlannerReply:
    """The next kernel that the job has not tried."""
    reason = no_template(facts.analysis)
    found = None if reason else untried(facts)
    if found is None:
        return PlannerReply(hypothesis=reason or EXHAUSTED, unable=reason or EXHAUSTED)
    told = f"; {why}" if (why := recommended(facts, found)) else ""
    return PlannerReply(
        start_point=facts.start_point.candidate_id if facts.start_point else None,
        hypothesis=f"{found.name}: {found.variant.reason}{told}"[:2000],
        moves=(Move(name=found.name, parameters={}),),
        expected_gain=1.1,
    )


def code(facts: Facts) -> CoderReply:
    """The candidate that the plan names."""
    wanted = facts.plan.moves[0].name if facts.plan and facts.plan.moves else None
    known = kernels(facts.analysis)
    chosen = next((item for item in known if item.name == wanted), known[0])
    return CoderReply(summary=chosen.name, source=chosen.variant.source)


def no_template(analysis: ProblemAnalysis) -> str | None:
    """Why no template fits a problem, or None."""
    if analysis.trace_error is not None:
        return f"no Triton template: the graph could not be traced ({analysis.trace_error})"
    if kernels(analysis):
        return None
    targets = ", ".join(dict.fromkeys(item.target.removeprefix("aten.") for item in analysis.operators))
    return f"no Triton template for {targets[:300]}: the compiler's draft is all there is; configure a chat model"


def untried(facts: Facts) -> TritonKernel | None:
    """The next kernel, those that memory recommends first; in a beam the branches take the first that the job has not
    tried, the second, and so on. A kernel that was refused is followed by the next like any other."""
    tried = {attempt.source for attempt in facts.attempts} | {facts.source}
    left = [item for item in in_order(facts) if not _was_tried(item, facts.attempts, tried)]
    return left[facts.branch] if facts.branch < len(left) else None


def _was_tried(item: TritonKernel, attempts: tuple[AttemptFact, ...], tried: set[str | None]) -> bool:
    """Whether its source was judged, or planned in a step that produced no candidate."""
    planned = any(attempt.plan and any(move.name == item.name for move in attempt.plan.moves) for attempt in attempts)
    return planned or item.variant.source in tried
