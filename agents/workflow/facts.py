"""What the agents of a step are told: the facts of its prompts, and what was wrong with a reply."""

from __future__ import annotations

from dataclasses import replace

from agents.workflow.context import JobContext
from agents.workflow.state import WorkflowState
from services.domain.chat import ChatMessage, Facts, SearchBrief
from services.domain.jobs import Stage

EMPTY_REPLY = "(nothing)"
"""Shown in a repair turn for a reply without text: providers refuse a turn that says nothing."""


async def facts_of(state: WorkflowState, context: JobContext) -> Facts:
    """The data that the step's next prompt is rendered from: complete, so that an offline model can work on it."""
    current = await context.current_candidate(state)
    return Facts(
        job_id=context.job.id,
        step=state["step"],
        stage=Stage(state["stage"]),
        seed=context.job.spec.seed,
        problem=context.public_problem,
        guidance=context.job.spec.guidance,
        analysis=context.analysis,
        backend=context.job.spec.backend,
        device=context.validation.device,
        baselines=context.baselines(state["known"]),
        attempts=tuple(context.attempts[: state["known"]]),
        experiences=await context.experiences(state),
        start_point=context.start_point(state),
        plan=await context.plan(state),
        source=current.candidate.source if current is not None else None,
        report=current.report if current is not None else None,
        metrics=tuple(state["metrics"]),
        findings=state.get("findings") or "",
        agents=context.job.spec.agents,
        brief=_brief(state, context),
        branch=state["branch"],
        width=state["width"],
    )


async def repair_turn(state: WorkflowState, context: JobContext) -> tuple[ChatMessage, ...]:
    """What is added to the prompt when the last reply did not fit: the reply, and what was wrong with it."""
    if state["attempt"] == 0:
        return ()
    last = (await context.calls(state))[-1]
    complaint = f"Your answer cannot be used: {last.error}. Answer again with one JSON document that fits the schema."
    said = last.reply if last.reply.strip() else EMPTY_REPLY
    return (ChatMessage(role="assistant", content=said), ChatMessage(role="user", content=complaint))


def _brief(state: WorkflowState, context: JobContext) -> SearchBrief:
    """What the strategy tells the step's agents."""
    search = replace(context.search(state["known"]), branch=state["branch"], width=state["width"])
    return context.strategy.brief(search, context.start_point(state))
