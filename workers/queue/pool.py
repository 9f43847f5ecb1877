"""The pool of a Celery worker: its one child, whose death is seen at once."""

from __future__ import annotations

import time
from typing import Any

from celery.concurrency import prefork
from celery.concurrency.asynpool import AsynPool

DYING_S = 1.0
"""So long a child that has closed its files may take to be gone."""
LOOK_S = 0.005


class PromptPool(AsynPool):
    """Looks again until a child that is going is gone.

    The kernel closes a dying process's files before the process can be waited for. Celery (5.7) looks once, when the
    files close; what it misses then it sees within five seconds, and an order whose child was killed waits for so long.
    """

    def _event_process_exit(self, hub: Any, proc: Any) -> None:
        until = time.monotonic() + DYING_S
        while proc.exitcode is None and time.monotonic() < until:
            time.sleep(LOOK_S)
        super()._event_process_exit(hub, proc)  # type: ignore[misc]  # Celery's types lack it


class TaskPool(prefork.TaskPool):
    """Celery's own, with that pool."""

    Pool = PromptPool
