"""A server in this process instead of one at an address."""

from __future__ import annotations

import asyncio

import httpx


class AppTransport(httpx.BaseTransport):
    """Hands a client's requests to an ASGI app on an event loop. The client works in other threads than the loop's."""

    def __init__(self, app: httpx.ASGITransport, loop: asyncio.AbstractEventLoop) -> None:
        self._app = app
        self._loop = loop

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Wait for the app's whole answer."""
        return asyncio.run_coroutine_threadsafe(self._answer(request), self._loop).result()

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        answer = await self._app.handle_async_request(request)
        assert isinstance(answer.stream, httpx.AsyncByteStream)
        body = b"".join([part async for part in answer.stream])
        return httpx.Response(answer.status_code, headers=answer.headers, stream=httpx.ByteStream(body))
