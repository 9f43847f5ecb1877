"""Requests of manual models: a person, or any coding agent, looks at them and answers."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field, computed_field

from services.domain.chat import AgentRole, ChatMessage, ModelRequest
from web.audited import AuditedRoute
from web.context import Services, Team, Writer
from web.errors import responses
from web.schemas.base import Body, Name, Page, View, formerly

router = APIRouter(prefix="/requests", tags=["requests"], route_class=AuditedRoute)
MAX_WAIT_S = 25
Wait = Annotated[float, Query(ge=0, le=MAX_WAIT_S, description="seconds to wait until there is something")]


class AnswerBody(Body):
    """An answer to a request."""

    answer: Annotated[str, Field(min_length=1)] | dict[str, Any]
    """The JSON document that fits the request's schema, as an object or as text; for a Coder a whole module as text
    will do."""
    by: Name = "api"
    """Who answers, for the record."""

    def text(self) -> str:
        """The answer as a model's reply."""
        return self.answer if isinstance(self.answer, str) else json.dumps(self.answer, ensure_ascii=False)


class RequestSummary(View):
    """A request in a list."""

    id: str
    job_id: str
    step: int
    role: AgentRole
    schema_name: str
    created_at: datetime
    expires_at: datetime
    """From then on its job stops waiting, and fails."""
    answered_by: str | None
    answered_at: datetime | None


class RequestView(RequestSummary):
    """A request with its prompt and, once there is one, its answer."""

    messages: tuple[ChatMessage, ...]
    reply_schema: dict[str, Any]
    """JSON schema that the answer must fit."""
    reply: str | None

    @classmethod
    def full(cls, request: ModelRequest) -> RequestView:
        """The answer about a request."""
        return cls.from_parts(request, reply_schema=request.schema)


class RequestPageView(Page[RequestSummary]):
    """Open requests, oldest first."""

    @computed_field(**formerly("the same as `items`"))  # type: ignore[prop-decorator]
    @property
    def requests(self) -> tuple[RequestSummary, ...]:
        """The field's old name."""
        return self.items


@router.get("", responses=responses(404, 422, 503))
async def list_requests(
    team: Team,
    services: Services,
    job: Annotated[str | None, Query(max_length=200)] = None,
    role: AgentRole | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    wait_s: Wait = 0,
) -> RequestPageView:
    """The team's open requests, oldest first; with `wait_s` it waits until there is one."""
    if job is not None:
        await services.jobs.get(team, job)
    found = await services.requests.waiting(
        team, job_id=job, role=role, limit=limit, wait_s=wait_s, stopped=services.stopping.is_set
    )
    return RequestPageView(items=tuple(RequestSummary.model_validate(item) for item in found))


@router.get("/{request_id}", responses=responses(404, 422, 503))
async def get_request(request_id: str, team: Team, services: Services) -> RequestView:
    """One request with its prompt and the schema of its answer."""
    return RequestView.full(await services.requests.get(team, request_id))


@router.post("/{request_id}/answer", responses=responses(404, 409, 422, 503))
async def answer_request(request_id: str, body: AnswerBody, caller: Writer, services: Services) -> RequestView:
    """Answer a request. 422 says what does not fit and leaves it open; 409 where it was answered or its job ended."""
    return RequestView.full(
        await services.requests.answer(caller.team_id, request_id, body.text(), caller.signed(body.by))
    )
