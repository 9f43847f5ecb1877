"""The web UI as static files, and the headers that keep what people and models wrote from being executed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import Message, Scope

from web.answers import AtEachAnswer

API_PATHS = "/api/{rest:path}"
NOT_BUILT = """Kernelwright answers, but its web UI was not built.

Build it (Node.js 20 or newer):  make web
and start the server again. The API is described at /docs; `kernelwright submit`, `jobs` and `watch` need no UI.
"""
POLICY = (
    "default-src 'none'; script-src 'self'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    # Component library and code editor place <style> elements; styles run nothing.
    "style-src 'self' 'unsafe-inline'"
)
"""Content-Security-Policy of every page that has none of its own."""
FOR_EVER = "public, max-age=31536000, immutable"
"""The build names assets by their content."""


def add_frontend(app: FastAPI, build: Path | None) -> None:
    """Serve a build at `/`, its routes included; without one, `/` says how to make it."""
    if build is None:
        app.add_api_route("/", _not_built, include_in_schema=False, response_class=PlainTextResponse)
        return
    app.add_api_route(API_PATHS, _unknown_path, include_in_schema=False)
    app.frontend("/", directory=build, fallback="index.html", check_dir=True)


class SafeHeaders(AtEachAnswer):
    """Content security, no sniffing, no referrers, and how long a file may be kept."""

    def asked(self, scope: Scope) -> Callable[[Message], None]:
        """See `AtEachAnswer`."""
        path = scope["path"]
        return lambda message: _dress(MutableHeaders(scope=message), path, message["status"])


def _dress(headers: MutableHeaders, path: str, status: int) -> None:
    headers["X-Content-Type-Options"] = "nosniff"
    headers["Referrer-Policy"] = "no-referrer"
    headers.setdefault("Content-Security-Policy", POLICY)  # a page of its own may be stricter
    if path.startswith("/assets/") and status == 200:
        headers["Cache-Control"] = FOR_EVER
    elif "cache-control" not in headers:
        headers["Cache-Control"] = "no-cache"


async def _not_built() -> str:
    return NOT_BUILT


async def _unknown_path(rest: str) -> None:
    raise HTTPException(404, f"no such address: /api/{rest}")
