"""Chat models, embedders, and requests that somebody outside answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from services.domain.chat import AgentRole, ChatReply, ChatRequest, ModelLimits, ModelRequest
from services.domain.experiences import Embedded
from services.domain.usage import Usage


class ChatModel(Protocol):
    """A chat model behind one call."""

    @property
    def name(self) -> str:
        """The model as settings name it: `playbook`, `openai:gpt-…`."""

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Answer one request. Raises `ModelError` when the service cannot be reached."""


@runtime_checkable
class MeteredChatModel(ChatModel, Protocol):
    """A chat model whose calls cost something: what a call may cost at most is known before it is sent."""

    def ceiling(self, request: ChatRequest) -> Usage:
        """The most tokens and dollars that `complete(request)` can use, resent attempts included; dollars are None
        where the price is unknown. A job reserves this before the call and never passes its budget."""


@runtime_checkable
class LimitedChatModel(ChatModel, Protocol):
    """A chat model that knows how much fits into a call; others have the limits of `ModelLimits`."""

    def limits(self, role: AgentRole) -> ModelLimits:
        """The window and the longest answer of the model that answers for a role."""


class Embedder(Protocol):
    """Turns texts into vectors of unit length."""

    @property
    def name(self) -> str:
        """Names the vector space that `embed` would use now; vectors of different spaces are never compared."""

    @property
    def dimensions(self) -> int:
        """Length of every vector."""

    @property
    def note(self) -> str | None:
        """Why vectors are of another space than the configured one, for people; None while all is as configured."""

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """One unit vector per text, in order and all of one space, with its name."""


class RequestStore(Protocol):
    """What manual models were asked, and the answers from outside."""

    async def open(self, request: ChatRequest, ttl_s: float) -> ModelRequest:
        """Store a request, or find the one that the same call made before; an expired one is open again.

        An unanswered request under the same key with another prompt is withdrawn. Raises `NotFoundError` where its job
        is unknown."""

    async def get(self, team_id: str, request_id: str) -> ModelRequest:
        """One request. Raises `NotFoundError`."""

    async def waiting(
        self, team_id: str, *, job_id: str | None = None, role: AgentRole | None = None, limit: int = 50
    ) -> tuple[ModelRequest, ...]:
        """Open requests of jobs that go on, oldest first."""

    async def answer(self, team_id: str, request_id: str, text: str, by: str) -> ModelRequest:
        """Store an answer; the same one again changes nothing. Raises `NotFoundError`, and `ConflictError` where it was
        answered otherwise, has expired or its job has ended."""
