"""Waiting for what has to happen sometime: in a loaded machine's time, with a limit that only what hangs reaches."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

LIMIT_S = 300.0
POLL_S = 0.01


def until(condition: Callable[[], object], what: str = "it", *, limit_s: float = LIMIT_S) -> float:
    """Wait for a condition; the seconds it took. Raises `AssertionError` where it never comes true."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > limit_s:
            raise AssertionError(f"{what} did not happen within {limit_s:.0f} s")
        time.sleep(POLL_S)
    return time.monotonic() - began


async def eventually(condition: Callable[[], object], what: str = "it") -> None:
    """The same on an event loop, in its time."""
    try:
        async with asyncio.timeout(LIMIT_S):
            while not condition():  # noqa: ASYNC110  # it may be any
                await asyncio.sleep(POLL_S)
    except TimeoutError:
        raise AssertionError(f"{what} did not happen within {LIMIT_S:.0f} s") from None
