"""What commands need that work on this installation itself, without a server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from kernelwright.settings import Settings

P = TypeVar("P")
T = TypeVar("T")


def run_over(opened: Callable[[Settings], AbstractAsyncContextManager[P]], work: Callable[[P], Awaitable[T]]) -> T:
    """What `work` gives over a part of this installation, which `opened` opens with the settings of this process."""
    from kernelwright.settings import load_settings

    async def run() -> T:
        async with opened(load_settings()) as part:
            return await work(part)

    return asyncio.run(run())
