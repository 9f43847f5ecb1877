"""Embedding by any service with OpenAI's `/v1/embeddings` (vLLM, Ollama, llama.cpp, OpenAI itself).

What comes back is checked (one finite vector of the promised length per text) and brought to unit length. Where the
service is down, slow or answers with something else, `FallbackEmbedder` goes on with another embedder and says so.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import httpx

from services.domain.errors import InfrastructureError, ModelError
from services.domain.experiences import Embedded
from services.ports.models import Embedder

BATCH = 64
"""Texts in one request."""
MAX_CHARACTERS = 16_384
BYTES_PER_NUMBER = 64
"""More than any JSON number takes; bounds what is read of an answer."""


class CompatibleEmbedder:
    """A remote embedding model. Every failure is a `ModelError` naming the service."""

    note = None
    """Nothing: it is never replaced by another."""

    def __init__(
        self,
        base_url: str,
        model: str,
        dimensions: int,
        *,
        api_key: str | None = None,
        timeout_s: float = 5.0,
    ) -> None:
        """`base_url` ends before `/embeddings` (`http://127.0.0.1:11434/v1`); `timeout_s` bounds one whole request."""
        self._url = base_url.rstrip("/") + "/embeddings"
        self._model = model
        self.dimensions = dimensions
        """Length of every vector, as configured; an answer of another length is refused."""
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._timeout_s = timeout_s

    @property
    def name(self) -> str:
        """Names the vector space: the model and its size, not the server that runs it."""
        return f"compatible:{self._model}:{self.dimensions}"

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """One unit vector per text. Raises `ModelError`."""
        vectors: list[list[float]] = []
        async with httpx.AsyncClient(timeout=self._timeout_s) as client:
            for start in range(0, len(texts), BATCH):
                batch = [text[:MAX_CHARACTERS] or " " for text in texts[start : start + BATCH]]
                vectors += self._checked(await self._ask(client, batch), len(batch))
        return Embedded(space=self.name, vectors=vectors)

    async def _ask(self, client: httpx.AsyncClient, texts: list[str]) -> object:
        limit = len(texts) * self.dimensions * BYTES_PER_NUMBER + 65_536
        body = {"model": self._model, "input": texts, "encoding_format": "float"}
        try:
            async with (
                asyncio.timeout(self._timeout_s),
                client.stream("POST", self._url, json=body, headers=self._headers) as response,
            ):
                content = await self._read(response, limit)
        except TimeoutError:
            raise self._error(f"gave no complete answer within {self._timeout_s:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self._error(f"cannot be reached: {type(error).__name__} {error}") from None
        if response.status_code != httpx.codes.OK:
            raise self._error(f"answered with status {response.status_code}: {content[:200].decode(errors='replace')}")
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise self._error("did not answer with JSON") from None

    async def _read(self, response: httpx.Response, limit: int) -> bytes:
        content = bytearray()
        async for chunk in response.aiter_bytes():
            content += chunk
            if len(content) > limit:
                raise self._error(f"answered with more than {limit} bytes")
        return bytes(content)

    def _checked(self, document: object, count: int) -> list[list[float]]:
        """The vectors of an answer, in the order asked for."""
        data = document.get("data") if isinstance(document, dict) else None
        if not isinstance(data, list) or len(data) != count:
            raise self._error(f"did not answer with {count} embeddings")
        items = [item for item in data if isinstance(item, dict)]
        if len(items) != count:
            raise self._error("answered with an embedding that is no object")
        numbers = [item.get("index", position) for position, item in enumerate(items)]
        if any(type(number) is not int for number in numbers) or sorted(numbers) != list(range(count)):
            raise self._error("numbered its embeddings wrongly")
        ordered = sorted(zip(numbers, items, strict=True), key=lambda pair: pair[0])
        return [self._unit(item.get("embedding")) for _, item in ordered]

    def _unit(self, vector: Any) -> list[float]:
        if not isinstance(vector, list) or len(vector) != self.dimensions:
            size = len(vector) if isinstance(vector, list) else "no"
            raise self._error(f"answered with {size} dimensions instead of {self.dimensions}")
        if not all(isinstance(number, int | float) and math.isfinite(number) for number in vector):
            raise self._error("answered with something that is no finite number")
        length = math.hypot(*vector)
        if length == 0.0:
            raise self._error("answered with a zero vector")
        return [number / length for number in vector]

    def _error(self, reason: str) -> ModelError:
        return ModelError(f"embedding service {self._url} {reason}")


class FallbackEmbedder:
    """The first embedder while it works, the second while it does not.

    The two have different vector spaces: `name` and `dimensions` are those of the one in use.
    """

    def __init__(
        self,
        first: Embedder,
        second: Embedder,
        *,
        retry_after_s: float = 60.0,
        notice: Callable[[str], None] = lambda _: None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`notice` gets one line at every switch; after a failure the first one is tried again in `retry_after_s`."""
        self._first = first
        self._second = second
        self._retry_after_s = retry_after_s
        self._notice = notice
        self._monotonic = monotonic
        self._retry_at: float | None = None
        self.note: str | None = None
        """Why the second embedder is in use; None while the first one is."""

    @property
    def name(self) -> str:
        """The space of the embedder in use."""
        return self._in_use().name

    @property
    def dimensions(self) -> int:
        """Of the embedder in use."""
        return self._in_use().dimensions

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """One unit vector per text, all of one space. Raises only what the second embedder raises."""
        if self._retry_at is None or self._monotonic() >= self._retry_at:
            try:
                embedded = await self._first.embed(texts)
            except InfrastructureError as error:
                self._switch_to_second(error)
            else:
                self._switch_to_first()
                return embedded
        return await self._second.embed(texts)

    def _in_use(self) -> Embedder:
        return self._first if self._retry_at is None else self._second

    def _switch_to_second(self, error: InfrastructureError) -> None:
        self._retry_at = self._monotonic() + self._retry_after_s
        note = f"experiences are embedded by {self._second.name} for now: {error}"
        if note != self.note:
            self._notice(note)
        self.note = note

    def _switch_to_first(self) -> None:
        if self._retry_at is not None:
            self._notice(f"experiences are embedded by {self._first.name} again")
        self._retry_at = self.note = None
