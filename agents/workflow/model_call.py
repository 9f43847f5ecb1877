"""One call of a chat model on behalf of an agent, and what became of it."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from agents.prompts.render import render_fitting, render_system, template_hash
from agents.roles.replies import Reply, schema_of, unknown_keys
from agents.workflow.budget import BudgetSpentError, ceiling, reserve_call
from agents.workflow.context import JobContext
from agents.workflow.facts import repair_turn
from agents.workflow.rules import RetryPolicy
from agents.workflow.state import WorkflowState
from services.domain.chat import AgentRole, ChatReply, ChatRequest, Facts, ModelLimits
from services.domain.errors import CallInterruptedError, LeaseLostError, ModelError, ReplyError, StorageError
from services.domain.events import EventKind
from services.domain.steps import ModelCall
from services.domain.texts import shortened
from services.domain.usage import Usage
from services.ports.models import LimitedChatModel, MeteredChatModel
from services.ports.runtime import Clock

T = TypeVar("T")
INTERRUPTED = "interrupted before its answer was here; charged with the most that it can have cost"
"""Why a call has no answer whose job was stopped meanwhile."""


@dataclass(kw_only=True)
class CallCost:
    """What one question has cost while it has no answer."""

    began: float
    """By the monotonic clock, in seconds."""
    lost: Usage = field(default_factory=Usage)
    """What the failed calls have used."""
    open: Usage = field(default_factory=Usage)
    """The most that the call under way can use: what it is charged with when it is interrupted."""

    def close(self, used: Usage | None) -> None:
        """The call under way has failed, having used so much."""
        self.lost, self.open = self.lost + (used or Usage()), Usage()


@dataclass(frozen=True, kw_only=True)
class Agent(Generic[T]):
    """What makes a role's call: the schema it is asked for, and how its reply is read."""

    role: AgentRole
    schema: Callable[[Facts], type[Reply]]
    read: Callable[[str, Facts], T]
    """Raises `ReplyError`."""
    summary: Callable[[T], str]
    """One line about the answer, for people who watch."""
    task: str = ""
    """What the role does here, where that is not its usual work."""

    @property
    def name(self) -> str:
        """What events and keys call it: the task, else the role."""
        return self.task or self.role.value


@dataclass(frozen=True, kw_only=True)
class ParsedReply(Generic[T]):
    """The outcome of one call: exactly one of `value` and `error` is set."""

    call_key: str
    value: T | None
    error: str | None


class Asker:
    """Renders, reserves, calls, retries, parses and keeps one model call."""

    def __init__(self, clock: Clock, retry_policy: RetryPolicy) -> None:
        self._clock = clock
        self._retry_policy = retry_policy

    async def ask(self, agent: Agent[T], state: WorkflowState, context: JobContext, facts: Facts) -> ParsedReply[T]:
        """One call. Raises `BudgetSpentError` before it, `ModelError` when the model stays out of reach."""
        await context.calls(state)
        request = await self._request(agent, state, context, facts)
        request = reserve_call(context.budget(state), context.spent(state), context.model, request)
        if state["attempt"] == 0:
            await context.emit(EventKind.AGENT_STARTED, {"step": facts.step, "agent": agent.name})
        cost = CallCost(began=self._clock.monotonic())
        reply = await self._charged(state, context, request, cost)
        outcome = _read(agent, reply, facts)
        value, error = outcome
        call = self._record(request, cost, reply.model, reply.text, reply.usage + cost.lost, error)
        key = await context.add_call(state, call)
        if error is None or state["attempt"] > 0:
            summary = agent.summary(value) if value is not None else f"unusable reply: {error}"
            ignored = unknown_keys(agent.schema(facts), reply.text)
            summary += f" (without {', '.join(ignored)}, which the schema does not have)" if ignored else ""
            await self._announce(context, agent.name, call, facts.step, summary)
        return ParsedReply(call_key=key, value=value, error=error)

    async def _request(self, agent: Agent[T], state: WorkflowState, context: JobContext, facts: Facts) -> ChatRequest:
        kind = agent.schema(facts)
        schema = schema_of(kind)
        system = context.system_prompts.get(kind.__name__)
        if system is None:
            system = context.system_prompts[kind.__name__] = render_system(agent.role, facts, schema)
        repair, model = await repair_turn(state, context), context.model
        limits = model.limits(agent.role) if isinstance(model, LimitedChatModel) else ModelLimits()
        user, most_output = render_fitting(agent.role, facts, agent.task, limits, (system, *repair))
        return ChatRequest(
            key=f"{facts.job_id}/{facts.step}/{agent.name}/{state['attempt']}",
            role=agent.role,
            messages=(system, user, *repair),
            max_output_tokens=most_output,
            schema_name=kind.__name__,
            schema=schema,
            facts=facts,
            team_id=context.job.team_id,
        )

    async def _charged(
        self, state: WorkflowState, context: JobContext, request: ChatRequest, cost: CallCost
    ) -> ChatReply:
        """The reply. Where none comes, the step is charged at once: the job may go on, in another process."""
        try:
            return await self._complete(state, context, request, cost)
        except (ModelError, BudgetSpentError) as error:
            await self._keep_lost(state, context, request, cost, str(error))
            raise
        except asyncio.CancelledError as error:
            if isinstance(error, CallInterruptedError):
                cost.open = error.usage
            with suppress(LeaseLostError, StorageError):  # then the step is another's, or nothing can be written
                await self._keep_lost(state, context, request, cost, INTERRUPTED)
            raise

    async def _complete(
        self, state: WorkflowState, context: JobContext, request: ChatRequest, cost: CallCost
    ) -> ChatReply:
        """The reply; what failed calls before it have used is on the cost."""
        for failures in range(1, self._retry_policy.attempts + 1):
            cost.open = ceiling(context.model, request) if isinstance(context.model, MeteredChatModel) else Usage()
            try:
                return await context.model.complete(request)
            except ModelError as error:
                cost.close(error.usage)
                if not error.retryable or failures == self._retry_policy.attempts:
                    raise
                wait_s = max(self._retry_policy.wait_s(failures), error.retry_after_s or 0.0)
                request = self._again(state, context, request, cost.lost)
            await self._clock.sleep(wait_s)
        raise AssertionError("unreachable: the last failure is raised")

    async def _keep_lost(
        self, state: WorkflowState, context: JobContext, request: ChatRequest, cost: CallCost, why: str
    ) -> None:
        used = cost.lost + cost.open
        if used.tokens:
            await context.keep_call(state["step"], self._record(request, cost, context.model.name, "", used, why))

    def _record(
        self, request: ChatRequest, cost: CallCost, model: str, reply: str, usage: Usage, error: str | None
    ) -> ModelCall:
        return ModelCall(
            role=request.role,
            model=model,
            prompt=request.messages,
            prompt_hash=template_hash(request.role, request.facts.backend),
            reply=reply,
            usage=usage,
            seconds=self._clock.monotonic() - cost.began,
            error=error,
        )

    def _again(self, state: WorkflowState, context: JobContext, request: ChatRequest, lost: Usage) -> ChatRequest:
        """The request for another attempt, which must fit the budget beside what the failed ones used."""
        spent = context.spent(state)
        spent = dataclasses.replace(spent, usage=spent.usage + lost)
        return reserve_call(context.budget(state), spent, context.model, request)

    async def _announce(self, context: JobContext, name: str, call: ModelCall, step: int, summary: str) -> None:
        await context.emit(
            EventKind.AGENT_FINISHED,
            {
                "step": step,
                "agent": name,
                "summary": shortened(summary, 200),
                "tokens": call.usage.input_tokens + call.usage.output_tokens,
                "seconds": round(call.seconds, 3),
            },
        )


def _read(agent: Agent[T], reply: ChatReply, facts: Facts) -> tuple[T | None, str | None]:
    if reply.stop_reason in ("refusal", "error"):
        return None, f"the model stopped with {reply.stop_reason}"
    try:
        return agent.read(reply.text, facts), None
    except ReplyError as error:
        cut = " (the reply was cut at the token limit)" if reply.stop_reason == "length" else ""
        return None, f"{error}{cut}"
