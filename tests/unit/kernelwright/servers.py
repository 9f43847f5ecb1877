"""A server on this machine that answers as a test says, for commands that are clients."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One answer."""

    document: Any = None
    """Sent as JSON, unless there is `text`."""
    status: int = 200
    text: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class ScriptedServer:
    """A server that is running, and what it was asked."""

    address: str
    bodies: dict[str, Any] = field(default_factory=dict)
    """Method and path of a request to its JSON."""


def refusal(detail: str, status: int = 409) -> Reply:
    """A problem document."""
    return Reply(
        document={"type": "about:blank", "title": "Refused", "status": status, "detail": detail},
        status=status,
        headers={"Content-Type": "application/problem+json"},
    )


@contextmanager
def answering(replies: Mapping[str, Reply], otherwise: Reply | None = None) -> Iterator[ScriptedServer]:
    """A server with a reply by method and path: `GET /api/v1/jobs`; `otherwise` to everything else."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            asked = f"{self.command} {self.path.partition('?')[0]}"
            length = int(self.headers.get("Content-Length") or 0)
            running.bodies[asked] = json.loads(self.rfile.read(length)) if length else None
            reply = replies.get(asked, otherwise or refusal("no such thing", 404))
            sent = (json.dumps(reply.document) if reply.text is None else reply.text).encode()
            self.send_response(reply.status)
            for name, value in {"Content-Length": str(len(sent)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(sent)

        do_GET = do_POST = do_DELETE = answer  # noqa: N815 -- the base class's names

        def log_message(self, format: str, *_arguments: object) -> None:  # noqa: A002 -- the base class's name
            """Tests print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
        running = ScriptedServer(f"http://127.0.0.1:{listener.server_address[1]}")
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield running
        finally:
            listener.shutdown()
            thread.join()
