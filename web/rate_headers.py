"""What rate limits leave a caller, in the headers of every answer (draft-ietf-httpapi-ratelimit-headers)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.teams.rate_limits import Allowance

_STATE = "rate_headers"


class RateHeaders:
    """ASGI middleware: adds what `note_policies` and `note_allowances` said of a request to its answer, whatever kind
    of answer that is."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        noted: dict[str, str] = scope.setdefault("state", {}).setdefault(_STATE, {})

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                for name, value in noted.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, told)


def note_policies(request: Request, policies: Mapping[str, int]) -> None:
    """The limits that there are, in requests a minute by their names."""
    if policies:
        told = ", ".join(f'"{name}";q={quota};w=60' for name, quota in policies.items())
        _noted(request)["RateLimit-Policy"] = told


def note_allowances(request: Request, allowances: Sequence[Allowance]) -> None:
    """What is left: `r` requests at once, all of them again in `t` seconds."""
    if allowances:
        told = ", ".join(f'"{one.policy}";r={one.remaining};t={math.ceil(one.reset_s)}' for one in allowances)
        _noted(request)["RateLimit"] = told


def _noted(request: Request) -> dict[str, str]:
    found: dict[str, str] = request.scope["state"][_STATE]
    return found
