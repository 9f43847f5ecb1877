"""What the replies to recorded prompts must look like, for prompts that are sent again."""

from __future__ import annotations

from agents.roles.external_replies import kernel_in
from agents.roles.replies import (
    CoderReply,
    DiagnosedPlannerReply,
    DraftCritique,
    InspectionReply,
    PlannerReply,
    ProfilerReply,
    RefineCritique,
    Reply,
    parse_reply,
    schema_of,
)
from services.domain.chat import AgentRole
from services.domain.errors import ReplyError
from services.domain.jobs import AgentsMode, JobSpec, Stage
from services.domain.steps import ModelCall, Step
from services.jobs.playground import ReplyForm


class RecordedForms:
    """`ReplyForms` of our agents. The record does not name the form; it follows from the role and the reply."""

    def form(self, call: ModelCall, step: Step, spec: JobSpec) -> ReplyForm:
        """The form that a recorded call asked for."""
        kind = _kind(call, step, spec)
        return ReplyForm(name=kind.__name__, schema=schema_of(kind))

    def read(self, form: ReplyForm, text: str, start_source: str | None) -> str | None:
        """The kernel in a Coder's reply, None in another's. Raises `ReplyError` where a text does not fit."""
        return kernel_in(form.name, text, start_source)


def _kind(call: ModelCall, step: Step, spec: JobSpec) -> type[Reply]:
    if call.role is AgentRole.CODER:
        return CoderReply
    if call.role is AgentRole.PROFILER:
        return ProfilerReply
    if call.role is AgentRole.PLANNER:
        return DiagnosedPlannerReply if spec.agents is AgentsMode.LEAN else PlannerReply
    usual: type[Reply] = DraftCritique if step.stage is Stage.DRAFT else RefineCritique
    return next((kind for kind in (usual, DraftCritique, RefineCritique, InspectionReply) if _fits(kind, call)), usual)


def _fits(kind: type[Reply], call: ModelCall) -> bool:
    try:
        parse_reply(kind, call.reply)
    except ReplyError:
        return False
    return True
