"""What people and their agents do with waiting requests: look, and answer. Takes ports."""

from __future__ import annotations

from collections.abc import Callable

from services.domain.chat import AgentRole, ModelRequest
from services.domain.errors import ConfigurationError, ReplyError, UserError
from services.ports.models import RequestStore
from services.ports.runtime import Clock

MAX_ANSWER_BYTES = 1 << 20
POLL_S = 0.25
Check = Callable[[ModelRequest, str], None]
"""Raises `ReplyError` where a text does not answer a request."""


class RequestService:
    """The requests of manual models."""

    def __init__(self, requests: RequestStore, check: Check, clock: Clock) -> None:
        self._requests = requests
        self._check = check
        self._clock = clock

    async def waiting(
        self,
        team_id: str,
        *,
        job_id: str | None = None,
        role: AgentRole | None = None,
        limit: int = 50,
        wait_s: float = 0.0,
        stopped: Callable[[], bool] = lambda: False,
    ) -> tuple[ModelRequest, ...]:
        """The team's open requests of jobs that go on, oldest first; waits up to `wait_s` until there is one, or until
        `stopped()`."""
        deadline = self._clock.monotonic() + wait_s
        while True:
            found = await self._requests.waiting(team_id, job_id=job_id, role=role, limit=limit)
            if found or self._clock.monotonic() >= deadline or stopped():
                return found
            await self._clock.sleep(POLL_S)

    async def get(self, team_id: str, request_id: str) -> ModelRequest:
        """One request, answered or not. Raises `NotFoundError`."""
        return await self._requests.get(team_id, request_id)

    async def answer(self, team_id: str, request_id: str, text: str, by: str) -> ModelRequest:
        """Answer a request; the same answer again is harmless.

        Raises `NotFoundError`, `ConflictError` where it was answered otherwise, has expired or its job has ended, and
        `UserError` where the text does not fit the schema: the request then stays open."""
        request = await self._requests.get(team_id, request_id)
        if not text.strip():
            raise ConfigurationError("the answer is empty: send one JSON document that fits the request's schema")
        if len(text.encode(errors="replace")) > MAX_ANSWER_BYTES:
            raise ConfigurationError(f"the answer is longer than {MAX_ANSWER_BYTES} bytes")
        try:
            self._check(request, text)
        except ReplyError as error:
            raise UserError(
                f"Not a valid {request.schema_name}: {error}. The request stays open: answer again with a JSON "
                "document that matches its schema"
            ) from None
        return await self._requests.answer(team_id, request_id, text, by)
