"""The offline chat model: deterministic, free, and it answers from the request's facts alone."""

from __future__ import annotations

import asyncio

from agents.playbook import critic, planner
from agents.roles.replies import InspectionReply, Reply
from services.domain.chat import AgentRole, ChatReply, ChatRequest
from services.domain.usage import Usage


class PlaybookModel:
    """Implements the `ChatModel` port. It reads no message, only `request.facts`."""

    name = "playbook"

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Answer one request; no tokens, no dollars."""
        reply = await asyncio.to_thread(answer, request)
        return ChatReply(text=reply.model_dump_json(), model=self.name, usage=Usage(calls=1))


def answer(request: ChatRequest) -> Reply:
    """The reply object for a request."""
    facts = request.facts
    if request.role is AgentRole.PLANNER:
        return planner.plan(facts)
    if request.role is AgentRole.CODER:
        return planner.code(facts)
    if request.role is AgentRole.PROFILER:
        return critic.profile(facts)
    if request.schema_name == InspectionReply.__name__:
        return InspectionReply(cheating=False)  # the referee's rules have spoken; a second opinion needs another mind
    drafting = "draft" in request.schema_name.lower()
    if "refine" not in request.schema_name.lower() and not drafting:
        drafting = facts.report is None or not facts.report.accepted
    return critic.draft(facts) if drafting else critic.refine(facts)
