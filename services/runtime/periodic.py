"""What a process does again and again for as long as it lives."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from services.domain.errors import InfrastructureError
from services.ports.runtime import Clock

log = logging.getLogger(__name__)

AFTER_FAULT_S = 1.0
"""The least pause after a fault."""


@asynccontextmanager
async def repeating(
    what: str, work: Callable[[], Awaitable[object]], pause_s: float, clock: Clock
) -> AsyncIterator[None]:
    """A task is done again and again while the context lasts."""
    task = asyncio.create_task(repeat(what, work, pause_s, clock))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def repeat(what: str, work: Callable[[], Awaitable[object]], pause_s: float, clock: Clock) -> None:
    """Do a task until cancelled, with a pause between. No fault ends it: what others wait for would stop in silence.

    A database or broker that is away is told once until the task succeeds again; a fault of this program each time.
    """
    away = False
    while True:
        pause = pause_s
        try:
            await work()
            away = False
        except InfrastructureError as error:
            if not away:
                log.warning("%s: waiting, %s", what, error)
            away, pause = True, max(pause_s, AFTER_FAULT_S)
        except Exception:
            log.exception("%s: a fault of this program, trying again", what)
            pause = max(pause_s, AFTER_FAULT_S)
        await clock.sleep(pause)
