"""Requests of manual models in a dictionary."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from services.domain.chat import AgentRole, ChatRequest, ModelRequest, request_id
from services.domain.errors import ConflictError, NotFoundError
from services.ports.models import RequestStore
from services.testing.database import InMemoryDatabase


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
