"""The playground: recorded prompts sent again, apart from their job's record."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import Field

from services.domain.chat import ChatMessage
from services.jobs.playground import PlaygroundReply
from web.audited import AuditedRoute
from web.context import Services, WritingTeam
from web.errors import responses
from web.schemas.base import Body, Name

router = APIRouter(prefix="/jobs", tags=["playground"], route_class=AuditedRoute)
Number = Annotated[int, Path(ge=0, lt=1 << 31)]


class MessageBody(Body):
    """One message of a prompt."""

    role: Name
    """`system`, `user` or `assistant`."""
    content: Annotated[str, Field(max_length=1 << 20)]


class PromptBody(Body):
    """What is different from the record; null leaves it as it was."""

    messages: Annotated[tuple[MessageBody, ...], Field(min_length=1, max_length=64)] | None = None
    model: Annotated[str, Field(min_length=1, max_length=500)] | None = None

    def chat_messages(self) -> tuple[ChatMessage, ...] | None:
        """The domain's messages."""
        if self.messages is None:
            return None
        return tuple(ChatMessage(role=one.role, content=one.content) for one in self.messages)


@router.post("/{job_id}/steps/{index}/calls/{number}/replay", responses=responses(404, 409, 410, 422, 503))
async def replay_call(
    job_id: str, index: Number, number: Number, team: WritingTeam, services: Services, body: PromptBody | None = None
) -> PlaygroundReply:
    """Send a recorded prompt again, changed or to another model. It costs what the model costs; the job's record and
    budget stay as they are. A kernel in the reply is judged by `POST /evaluations`, where somebody asks for that."""
    wanted = body or PromptBody()
    return await services.playground.send(
        team, job_id, index, number, messages=wanted.chat_messages(), model=wanted.model
    )
