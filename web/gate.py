"""What stands before the app: the names it answers to and the size of what it reads."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from web.errors import problem_response

MAX_BODY_BYTES = 4 << 20


class RequestGuard:
    """ASGI middleware: refuses foreign `Host` headers (421), null characters in addresses (404, 422: no database can
    look for one) and bodies over a limit (413) before anything is parsed."""

    def __init__(self, app: ASGIApp, hosts: tuple[str, ...] | None, max_body_bytes: int = MAX_BODY_BYTES) -> None:
        self._app = app
        self._hosts = hosts
        self._max_body_bytes = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.lower(): value for name, value in scope["headers"]}
        if not self._answers_to(headers.get(b"host", b"")):
            detail = "this server does not answer to that name; use http://127.0.0.1"
            await problem_response(421, detail)(scope, receive, send)
            return
        if "\0" in scope["path"]:
            await problem_response(404, "no such address: nothing has a null character in its name")(
                scope, receive, send
            )
            return
        if b"%00" in scope["query_string"]:
            await problem_response(422, "a parameter has a null character")(scope, receive, send)
            return
        body = await self._read(headers, receive)
        if body is None:
            detail = f"the body is larger than {self._max_body_bytes} bytes"
            await problem_response(413, detail, headers={"Connection": "close"})(scope, receive, send)
            return
        await self._app(scope, _replay(body, receive), send)

    def _answers_to(self, host: bytes) -> bool:
        if self._hosts is None:
            return True
        name = host.decode("latin-1").lower()
        name = name.rpartition(":")[0] if ":" in name and not name.endswith("]") else name
        return name in self._hosts

    async def _read(self, headers: dict[bytes, bytes], receive: Receive) -> list[Message] | None:
        """The request's messages up to the end of its body; None when it is too long."""
        declared = headers.get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > self._max_body_bytes:
            return None
        messages: list[Message] = []
        size = 0
        while True:
            message = await receive()
            messages.append(message)
            size += len(message.get("body", b""))
            if size > self._max_body_bytes:
                return None
            if message["type"] != "http.request" or not message.get("more_body", False):
                return messages


def _replay(messages: list[Message], receive: Receive) -> Receive:
    waiting = iter(messages)

    async def replayed() -> Message:
        message = next(waiting, None)
        return await receive() if message is None else message

    return replayed
