"""A chat model that answers from a script, and the requests of manual models."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from services.domain.chat import AgentRole, ChatReply, ChatRequest, ModelRequest, request_id
from services.domain.errors import ConflictError, ModelError, NotFoundError
from services.domain.usage import Usage
from services.ports.models import ChatModel, RequestStore
from tests.doubles.database import InMemoryDatabase

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


class InMemoryRequestStore(RequestStore):
    """A `RequestStore` over an `InMemoryDatabase`."""

    def __init__(self, database: InMemoryDatabase) -> None:
        self._database = database

    async def open(self, request: ChatRequest, ttl_s: float) -> ModelRequest:
        """Store a request, or find it."""
        known, now, own = self._database.requests, self._database.clock.now(), request_id(request)
        job = self._database.jobs.get(request.facts.job_id)
        if job is None:
            raise NotFoundError(f"no job {request.facts.job_id}")
        for item in [item for item in known.values() if item.key == request.key and item.id != own]:
            if item.job_id == job.id and item.reply is None:
                del known[item.id]
        expires_at = now + timedelta(seconds=ttl_s)
        if own not in known:
            known[own] = _new(request, job.team_id, now, expires_at)
        elif known[own].expires_at <= now:
            known[own] = replace(known[own], expires_at=expires_at)
        return known[own]

    async def get(self, team_id: str, request_id: str) -> ModelRequest:
        """One request. Raises `NotFoundError`."""
        found = self._database.requests.get(request_id)
        if found is None or found.team_id != team_id:
            raise NotFoundError(f"no request {request_id}")
        return found

    async def waiting(
        self, team_id: str, *, job_id: str | None = None, role: AgentRole | None = None, limit: int = 50
    ) -> tuple[ModelRequest, ...]:
        """Open requests of jobs that go on, oldest first."""
        found = [
            item
            for item in self._database.requests.values()
            if item.team_id == team_id
            and item.reply is None
            and job_id in (None, item.job_id)
            and role in (None, item.role)
            and item.expires_at > self._database.clock.now()
            and not self._database.jobs[item.job_id].status.is_final
        ]
        return tuple(sorted(found, key=lambda item: (item.created_at, item.id))[:limit])

    async def answer(self, team_id: str, request_id: str, text: str, by: str) -> ModelRequest:
        """Store an answer. Raises `NotFoundError`, `ConflictError`."""
        found, now = await self.get(team_id, request_id), self._database.clock.now()
        if found.reply is not None:
            if found.reply != text:
                raise ConflictError(f"request {request_id} was answered by {found.answered_by}: ask for the next one")
            return found
        job = self._database.jobs[found.job_id]
        if job.status.is_final:
            raise ConflictError(f"job {job.id} is {job.status}: its request {request_id} is not open any more")
        if found.expires_at <= now:
            raise ConflictError(f"request {request_id} has expired: resume job {job.id}, which asks again")
        self._database.requests[request_id] = replace(found, reply=text, answered_by=by, answered_at=now)
        return self._database.requests[request_id]


def _new(request: ChatRequest, team_id: str, now: datetime, expires_at: datetime) -> ModelRequest:
    facts = request.facts
    return ModelRequest(
        id=request_id(request),
        key=request.key,
        job_id=facts.job_id,
        team_id=team_id,
        step=facts.step,
        role=request.role,
        messages=request.messages,
        schema_name=request.schema_name,
        schema=request.schema,
        start_source=facts.start_point.source if facts.start_point is not None else None,
        created_at=now,
        expires_at=expires_at,
    )
