"""The manual model: a person, or an agent of theirs, answers through the service (bring your own agent)."""

from __future__ import annotations

from services.domain.chat import ChatReply, ChatRequest
from services.domain.errors import ModelError
from services.domain.usage import Usage
from services.ports.models import RequestStore
from services.ports.runtime import Clock

NAME = "manual"
POLL_S = 0.5
"""Seconds between two looks at a request."""


class ManualModel:
    """Implements the `ChatModel` port: stores each request and waits until its answer is stored.

    The stored row is what counts: whoever waits may be killed and wait again, and an answer that came meanwhile is
    there. Cancelling the wait leaves the row; requests of jobs that have ended are not listed any more.
    """

    name = NAME

    def __init__(self, requests: RequestStore, clock: Clock, *, timeout_s: float) -> None:
        """`timeout_s`: how long a request stays open."""
        self._requests = requests
        self._clock = clock
        self._timeout_s = timeout_s

    async def complete(self, request: ChatRequest) -> ChatReply:
        """The answer from outside. Raises `ModelError` when nobody answered in time."""
        found = await self._requests.open(request, self._timeout_s)
        while found.reply is None:
            if self._clock.now() >= found.expires_at:
                raise ModelError(
                    f"nobody answered request {found.id} ({request.role.value}) in {self._timeout_s:g} s: "
                    "answer sooner, raise KERNELWRIGHT_MANUAL_TIMEOUT_S, or choose another model",
                    retryable=False,
                )
            await self._clock.sleep(POLL_S)
            found = await self._requests.get(found.team_id, found.id)
        return ChatReply(text=found.reply, model=NAME, usage=Usage(calls=1))
