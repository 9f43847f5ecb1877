"""A server that speaks the three chat protocols on a local port and misbehaves on request.

The real SDKs talk HTTP to it. It checks what the real services check (key, model, path, strictness of schemas, length
of the prompt) and records every request it saw.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from tests.fakes import chat_protocols as protocols
from tests.fakes.strictness import strictness_faults

KEY = "sk-canary-4f6d2c9e81b7a350"
MODELS = ("gpt-5", "claude-opus-5", "local")
WINDOW_CHARS = 200_000
_STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
)


@dataclass(frozen=True, kw_only=True)
class Act:
    """What the server does with one request."""

    text: str = '{"ok": true}'
    """The model's reply."""
    finish: str = "stop"
    """`stop`, `length`, `refusal` or `filter`."""
    status: int = 200
    """Anything else answers an error of that status."""
    error: str = "the server is tired"
    headers: Mapping[str, str] = field(default_factory=dict)
    hang_s: float = 0.0
    """Seconds of silence before the answer (or before the end of a started one, with `drop_after`)."""
    drop_after: int | None = None
    """Break the connection after so many stream events."""
    end_after: int | None = None
    """End the stream properly after so many events, without the closing ones."""
    raw: bytes | None = None
    """A body to send instead of a reply."""
    no_usage: bool = False
    pieces: int = 4
    """Parts that the reply is streamed in."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One request that arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    at: float


Script = Callable[[int, Seen], Act]
"""Decides by the request's number (from 0) and content."""


class ChatServer:
    """One listening server. `script` may be replaced at any time."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.seen: list[Seen] = []
        self.port = 0
        self.refuse_formats: tuple[str, ...] = ()
        """Kinds of `response_format` that Chat Completions refuses, as some local servers do."""
        self.open_now = 0
        self.most_open = 0
        self.closing = asyncio.Event()

    @property
    def url(self) -> str:
        """Root of the server."""
        return f"http://127.0.0.1:{self.port}"

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            seen = await _read(reader)
            self.seen.append(seen)
            act = self._refusal(seen) or self.script(len(self.seen) - 1, seen)
            async with self._counted(reader):
                await self._perform(act, seen, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client went away, as clients do
        finally:
            writer.close()

    @asynccontextmanager
    async def _counted(self, reader: asyncio.StreamReader) -> AsyncIterator[None]:
        """Counts a request as open until it is answered or its client has gone, whichever comes first."""
        self.open_now += 1
        self.most_open = max(self.most_open, self.open_now)
        gone = asyncio.create_task(self._client_gone(reader))
        try:
            yield
        finally:
            if gone.cancel():
                self.open_now -= 1

    async def _client_gone(self, reader: asyncio.StreamReader) -> None:
        with suppress(ConnectionError):
            await reader.read()
        self.open_now -= 1

    def _refusal(self, seen: Seen) -> Act | None:
        """What a real service would refuse by itself."""
        if seen.headers.get("authorization") != f"Bearer {KEY}":
            given = seen.headers.get("authorization", "").removeprefix("Bearer ")
            return Act(status=401, error=f"Incorrect API key provided: {given}. You can find yours in the console.")
        protocol = protocols.by_path(seen.path)
        if protocol is None:
            return Act(status=404, error=f"Not Found: {seen.path}")
        if seen.body["model"] not in MODELS:
            return Act(status=404, error=f"The model `{seen.body['model']}` does not exist or you lack access to it.")
        if len(json.dumps(seen.body)) > WINDOW_CHARS:
            return Act(status=400, error="prompt is too long: this model's maximum context length is 8192 tokens")
        turns = seen.body.get("messages", seen.body.get("input", ()))
        if not all(turn["content"] for turn in turns):
            return Act(status=400, error="messages: text content blocks must be non-empty")
        kind, schema = protocol.format_of(seen.body)
        if kind in self.refuse_formats:
            return Act(status=400, error=f"response_format of type {kind} is not supported")
        faults = strictness_faults(schema) if schema is not None else []
        return Act(status=400, error=f"Invalid schema: {faults[0]}") if faults else None

    async def _perform(self, act: Act, seen: Seen, writer: asyncio.StreamWriter) -> None:
        protocol = protocols.by_path(seen.path) or protocols.CHAT
        if act.hang_s and act.drop_after is None:
            await self.pause(act.hang_s)
        if act.status != 200:
            body = json.dumps(protocol.error(act.status, act.error)).encode()
            await _send(writer, act.status, {**act.headers, "content-type": "application/json"}, body)
        elif act.raw is not None:
            await _send(writer, 200, {"content-type": "text/event-stream", **act.headers}, act.raw)
        else:
            await self._stream(protocol.events(seen.body, act), act, writer)

    async def pause(self, seconds: float) -> None:
        """Silence, cut short when the server closes."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.closing.wait(), seconds)

    async def _stream(self, events: list[bytes], act: Act, writer: asyncio.StreamWriter) -> None:
        writer.write(_STREAM_HEAD)
        for number, event in enumerate(events):
            if number in {act.drop_after, act.end_after}:
                await writer.drain()
                await self.pause(act.hang_s)
                break
            writer.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")
            await writer.drain()
        if act.drop_after is None:
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        else:
            writer.transport.abort()


def always(act: Act) -> Script:
    """The same for every request."""
    return lambda _number, _seen: act


def in_turn(*acts: Act) -> Script:
    """One after the other; the last one stays."""
    return lambda number, _seen: acts[min(number, len(acts) - 1)]


@asynccontextmanager
async def chat_server(script: Script) -> AsyncIterator[ChatServer]:
    """A running server on a free local port."""
    server = ChatServer(script)
    listening = await asyncio.start_server(server.handle, "127.0.0.1", 0, limit=1 << 20)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        server.closing.set()
        for _ in range(200):
            if server.open_now == 0:
                break
            await asyncio.sleep(0.01)
        await listening.wait_closed()


async def _read(reader: asyncio.StreamReader) -> Seen:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines) if name
    }
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Seen(path=first.split(" ")[1], headers=headers, body=json.loads(body or b"{}"), at=time.monotonic())


async def _send(writer: asyncio.StreamWriter, status: int, headers: Mapping[str, str], body: bytes) -> None:
    named = {**headers, "content-length": str(len(body)), "connection": "close"}
    lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    writer.write(f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode())
    for start in range(0, len(body), 1 << 16):
        writer.write(body[start : start + (1 << 16)])
        await writer.drain()
