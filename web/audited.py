"""Routes whose acts are entered in the audit log before they are answered."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute

from services.domain.access import Principal
from web.callers import SAFE_METHODS
from web.context import services_of

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class AuditedRoute(APIRoute):
    """A route that, where it changes something, says who did what to which object: by its name, and by its path's
    parameter or what the handler noted with `note_subject`."""

    def get_route_handler(self) -> Handler:
        """Serve a request, then enter it."""
        serve, action = super().get_route_handler(), self.name

        async def served(request: Request) -> Response:
            response = await serve(request)
            if request.method not in SAFE_METHODS and response.status_code < 400:
                await _enter(request, action)
            return response

        return served


def note_subject(request: Request, subject: str) -> None:
    """Say what a request has made, for the audit log."""
    request.state.subject = subject


async def _enter(request: Request, action: str) -> None:
    caller: Principal | None = getattr(request.state, "caller", None)
    if caller is None:
        return
    subject = getattr(request.state, "subject", None) or next(iter(request.path_params.values()), "")
    await services_of(request).access.record(caller, action, str(subject)[:500])
