"""What the server does with every answer when it begins: the common part of its ASGI middleware."""

from __future__ import annotations

from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class AtEachAnswer:
    """ASGI middleware: calls what `asked` gives for a request with the first message of its answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answered = self.asked(scope)

        async def seen(message: Message) -> None:
            if message["type"] == "http.response.start":
                answered(message)
            await send(message)

        await self._app(scope, receive, seen)

    def asked(self, scope: Scope) -> Callable[[Message], None]:
        """Note a request; what is returned may change the status and headers of its answer."""
        raise NotImplementedError
