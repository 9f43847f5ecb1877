"""Lists as they were before they had an envelope, for clients that still ask for them. Goes with the next release."""

from __future__ import annotations

import json
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ASKED = (b"kernelwright-lists", b"bare")
"""The header of requests that want a bare array where one was answered before."""
ENVELOPE = {"items", "next_cursor"}
"""Fields of lists that were arrays; those that were pages have their old fields beside these."""


class BareLists:
    """ASGI middleware: answers with the array alone where a request has the header `Kernelwright-Lists: bare`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "http" and ASKED in scope["headers"]:
            await self._app(scope, receive, _Unwrapping(send))
        else:
            await self._app(scope, receive, send)


class _Unwrapping:
    """Holds a JSON answer back until it is whole; anything else passes as it comes."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        self._body = bytearray()

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_json(message):
            self._start = message
        elif self._start is None:
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._answer(self._start, bytes(self._body))

    async def _answer(self, start: Message, body: bytes) -> None:
        document: Any = json.loads(body) if body else None
        if isinstance(document, dict) and set(document) == ENVELOPE:
            body = json.dumps(document["items"], separators=(",", ":"), ensure_ascii=False).encode()
            MutableHeaders(raw=start["headers"])["content-length"] = str(len(body))
        await self._send(start)
        await self._send({"type": "http.response.body", "body": body})


def _is_json(start: Message) -> bool:
    kind = MutableHeaders(raw=start["headers"]).get("content-type", "")
    return start["status"] == 200 and kind.startswith("application/json")
