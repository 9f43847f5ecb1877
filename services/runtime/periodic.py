"""What a process does again and again: for as long as it lives, or until it succeeds."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from services.domain.errors import InfrastructureError, StorageError
from services.ports.runtime import Clock

T = TypeVar("T")
log = logging.getLogger(__name__)

AFTER_FAULT_S = 1.0
"""The least pause after a fault."""
FIRST_PAUSE_S, MOST_PAUSE_S = 0.25, 5.0
"""Between attempts at what a store that is away prevents."""


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


async def patiently(what: str, work: Callable[[], Awaitable[T]], give_up_s: float, clock: Clock) -> T:
    """What a task gives, tried again while its store is away or full. Raises `StorageError` when that lasts."""
    since, pause_s = clock.monotonic(), FIRST_PAUSE_S
    while True:
        try:
            return await work()
        except StorageError as error:
            if clock.monotonic() - since > give_up_s:
                raise
            if pause_s == FIRST_PAUSE_S:
                log.warning("%s: waiting, %s", what, error)
        await clock.sleep(pause_s)
        pause_s = min(2 * pause_s, MOST_PAUSE_S)
