"""Requests that wait for an answer from outside: what a manual model was asked, kept until somebody answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from services.domain.candidates import content_hash
from services.domain.chat import AgentRole, ChatMessage, ChatRequest
from services.domain.codec import dumps
from services.domain.events import JsonValue


@dataclass(frozen=True, kw_only=True)
class ModelRequest:
    """One call of a manual model as stored."""

    id: str
    key: str
    """The call's idempotency key: `{job}/{step}/{agent}/{attempt}`."""
    job_id: str
    team_id: str
    step: int
    role: AgentRole
    messages: tuple[ChatMessage, ...]
    """The rendered prompt."""
    schema_name: str
    schema: dict[str, JsonValue]
    """JSON schema that the answer must fit."""
    start_source: str | None
    """The candidate that edits apply to; None where the step starts from nothing."""
    created_at: datetime
    expires_at: datetime
    """From then on the job stops waiting."""
    reply: str | None = None
    """The answer; None while it is open."""
    answered_by: str | None = None
    answered_at: datetime | None = None


def request_id(request: ChatRequest) -> str:
    """The id of a call: the same on every resume, another one where the same call has another prompt."""
    prompt = content_hash(dumps(request.messages))
    return f"req-{content_hash(f'{request.key}/{request.schema_name}/{prompt}')[:20]}"
