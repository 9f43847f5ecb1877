"""One log line for each answered request, and how long requests wait for their answers."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from starlette.types import Message, Scope

from services.telemetry.logs import log_context
from services.telemetry.metrics import REQUEST_SECONDS
from web.answers import AtEachAnswer
from web.routers.reports import SHARED

log = logging.getLogger("kernelwright.access")
QUIET = frozenset({"/healthz", "/readyz", "/metrics"})
"""Asked every few seconds by machines: lines of level DEBUG."""
NODES = "/api/v1/work/"
"""Where device nodes ask every few seconds; what they are refused is told at level INFO."""
HELD = f"{NODES}claims"
"""Held until there is an order: how long says nothing of the server, and does not count as waiting for it."""


class AccessLog(AtEachAnswer):
    """Paths are logged without their queries, and without the secrets in links to shared reports."""

    def asked(self, scope: Scope) -> Callable[[Message], None]:
        """See `AtEachAnswer`."""
        began = time.perf_counter()
        return lambda message: _note(scope, message["status"], time.perf_counter() - began)


def _note(scope: Scope, status: int, seconds: float) -> None:
    """Seconds until the answer began: an event stream goes on for hours."""
    if scope["path"] != HELD:
        REQUEST_SECONDS.labels(scope["method"], f"{status // 100}xx").observe(seconds)
    job = scope.get("path_params", {}).get("job_id")
    quiet = scope["path"] in QUIET or (scope["path"].startswith(NODES) and status < 400)
    level = logging.DEBUG if quiet else logging.INFO
    with log_context(**({"job": str(job)} if job else {})):
        log.log(level, "%s %s %d in %.1f ms", scope["method"], _shown(scope), status, 1e3 * seconds)


def _shown(scope: Scope) -> str:
    path = str(scope["path"])
    return f"{SHARED}…" if path.startswith(SHARED) else path
