"""A real receiver of webhooks on a local port: it remembers what came and answers what it is told to."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks.webhooks import Webhook

from services.teams.webhooks import Dispatcher


@dataclass(frozen=True, kw_only=True)
class Message:
    """One request as it came."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    def verified(self, secret: str) -> Any:
        """The document, as a receiver with the reference library takes it. Raises where the signature is wrong."""
        return Webhook(secret).verify(self.body, self.headers)


@dataclass(kw_only=True)
class Receiver:
    port: int
    answers: list[int] = field(default_factory=list)
    """Statuses of the next answers; 204 after them."""
    came: list[Message] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"


async def send_due(dispatcher: Dispatcher) -> int:
    """Try what is due now and wait for the answers; how many messages that were."""
    begun = await dispatcher.begin_due()
    await asyncio.gather(*begun)
    return len(begun)


@contextmanager
def receiving(port: int = 0) -> Iterator[Receiver]:
    """A receiver while the context lasts; on the same port it can come back."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.came.append(Message(path=self.path, headers=headers, body=body))
            self.send_response(receiver.answers.pop(0) if receiver.answers else 204)
            self.send_header("location", f"{receiver.address}/elsewhere")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    receiver = Receiver(port=server.server_address[1])
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
