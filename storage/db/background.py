"""Work of a store that goes on while its callers do, one piece at a time for each name."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


class Background:
    """Named tasks of the running loop."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def is_at(self, name: str) -> bool:
        """Whether work of that name is under way."""
        return name in self._tasks and not self._tasks[name].done()

    def start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        """Do something, unless work of that name is under way."""
        if self.is_at(name):
            work.close()
            return
        self._tasks[name] = asyncio.create_task(work)

    async def settled(self) -> None:
        """Wait until nothing is under way any more."""
        while tasks := [task for task in self._tasks.values() if not task.done()]:
            await asyncio.gather(*tasks)

    async def close(self) -> None:
        """Stop what is under way."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
