"""A chat model that answers from a script."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence

from services.domain.chat import AgentRole, ChatReply, ChatRequest
from services.domain.errors import ModelError
from services.domain.usage import Usage
from services.ports.models import ChatModel

Answer = str | ChatReply | Exception
"""A reply's text, a whole reply, or an error to raise."""


class ScriptedModel(ChatModel):
    """Answers from a list in order, or from a function of the request, and keeps every request it saw."""

    def __init__(
        self,
        answers: Sequence[Answer] | Callable[[ChatRequest], Answer],
        *,
        name: str = "scripted",
        usage: Usage | None = None,
        latency_s: float = 0.0,
    ) -> None:
        self._name = name
        self._function = answers if callable(answers) else None
        self._left: Iterator[Answer] = iter(()) if callable(answers) else iter(answers)
        self._usage = usage or Usage(calls=1, input_tokens=100, output_tokens=50)
        self._latency_s = latency_s
        self.requests: list[ChatRequest] = []
        """Every request, in order of arrival."""

    @property
    def name(self) -> str:
        """As given."""
        return self._name

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The next answer. Raises what the script says, and `ModelError` when the list is used up."""
        self.requests.append(request)
        await asyncio.sleep(self._latency_s)
        answer = self._answer(request)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, ChatReply):
            return answer
        return ChatReply(text=answer, model=self._name, usage=self._usage)

    def asked(self, role: AgentRole) -> list[ChatRequest]:
        """The requests of one role."""
        return [request for request in self.requests if request.role is role]

    def _answer(self, request: ChatRequest) -> Answer:
        if self._function is not None:
            return self._function(request)
        answer = next(self._left, None)
        return ModelError("the script has no answer left") if answer is None else answer


def agreeable_answers(request: ChatRequest) -> str:
    """A valid reply for any role; the Coder's source differs from step to step."""
    step = request.facts.step
    replies: dict[AgentRole, dict[str, object]] = {
        AgentRole.PLANNER: {
            "hypothesis": f"fuse everything, variant {step}",
            "moves": [{"name": "fuse", "parameters": {"width": 8 + step}}],
            "expected_gain": 1.5,
        },
        AgentRole.CODER: {"summary": f"variant {step}", "source": f"class ModelNew:\n    VARIANT = {step}\n"},
        AgentRole.JUDGE: _critique(request),
        AgentRole.PROFILER: {"metrics": ["bytes"], "bottleneck": "memory", "evidence": "near the copy bandwidth"},
    }
    return json.dumps(replies[request.role])


def _critique(request: ChatRequest) -> dict[str, object]:
    """The Judge's reply for the schema that was asked for."""
    if request.facts.report is not None and request.facts.report.accepted:
        return {"bottleneck": "memory", "method": "wider vectors", "modification_plan": "process 16 floats at once"}
    return {"critical_issue": "wrong sum", "why": "the tail is skipped", "minimal_fix": "loop over the tail"}
