"""The Planner: what to try next."""

from __future__ import annotations

from agents.roles.replies import DiagnosedPlannerReply, PlannerReply, parse_reply
from services.domain.chat import AttemptFact, Facts
from services.domain.errors import ReplyError
from services.domain.jobs import AgentsMode


def plan_schema(facts: Facts) -> type[PlannerReply]:
    """Whether the Planner diagnoses too: where no Judge does it before."""
    return DiagnosedPlannerReply if facts.agents is AgentsMode.LEAN else PlannerReply


def read_plan(text: str, facts: Facts) -> PlannerReply:
    """The plan in a reply. Raises `ReplyError`, also where its start point is no candidate of this job."""
    reply = parse_reply(plan_schema(facts), text)
    if reply.start_point is not None and chosen_start(reply, facts) is None:
        known = [item.candidate_id for item in facts.attempts if item.candidate_id is not None]
        raise ReplyError(f"start_point: no candidate {reply.start_point!r}; known: {', '.join(known) or 'none'}")
    return reply


def chosen_start(reply: PlannerReply, facts: Facts) -> AttemptFact | None:
    """The attempt to start from: the Planner's choice, else the strategy's."""
    if reply.start_point is None:
        return facts.start_point
    return next((item for item in facts.attempts if item.candidate_id == reply.start_point), None)


def plan_in_brief(reply: PlannerReply) -> str:
    """What people who watch are told: the moves by name and why, or why there is no plan."""
    if reply.unable is not None:
        return reply.unable
    names = ", ".join(move.name for move in reply.moves)
    if not names or reply.hypothesis.startswith(f"{names}:"):
        return reply.hypothesis
    return f"{names}: {reply.hypothesis}"
