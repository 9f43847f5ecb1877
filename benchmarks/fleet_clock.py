"""A clock that goes on to the next moment at which something happens, once everybody waits."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


class SimulatedClock:
    """A `Clock` for a discrete-event simulation whose actors do real work (statements on a real database) in no time.

    It stands still while any actor works. Moments are rounded up to `quantum_s`, so that actors whose moments lie close
    together wake at once and meet one another in the database.
    """

    def __init__(self, quantum_s: float = 0.25) -> None:
        self._quantum_s = quantum_s
        self._passed_s = 0.0
        self._working = 0
        self._number = itertools.count()
        self._sleeping: list[tuple[float, int, asyncio.Future[None]]] = []
        self._actors: set[asyncio.Task[None]] = set()

    def now(self) -> datetime:
        """The simulated wall time."""
        return BEGIN + timedelta(seconds=self._passed_s)

    def monotonic(self) -> float:
        """Simulated seconds since the beginning."""
        return self._passed_s

    async def sleep(self, seconds: float) -> None:
        """Wait for a later moment; for actors only."""
        due = self._quantum_s * math.ceil((self._passed_s + max(seconds, self._quantum_s)) / self._quantum_s - 1e-9)
        waiting = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleeping, (due, next(self._number), waiting))
        await self.wait(waiting)

    async def wait(self, for_: asyncio.Future[None]) -> None:
        """Wait until another actor wakes the caller by `wake`."""
        self._working -= 1
        self._go_on()
        await for_

    def wake(self, waiting: asyncio.Future[None]) -> None:
        """Let an actor go on."""
        if not waiting.done():
            self._working += 1
            waiting.set_result(None)

    def start(self, actor: Coroutine[object, object, None]) -> asyncio.Task[None]:
        """An actor, at work from this moment on."""
        self._working += 1
        task = asyncio.create_task(actor)
        self._actors.add(task)
        task.add_done_callback(self._ended)
        return task

    async def stop(self) -> None:
        """End all actors."""
        for actor in tuple(self._actors):
            actor.cancel()
        await asyncio.gather(*self._actors, return_exceptions=True)

    def _ended(self, actor: asyncio.Task[None]) -> None:
        self._actors.discard(actor)
        self._working -= 1
        if not actor.cancelled() and actor.exception() is None:
            self._go_on()

    def _go_on(self) -> None:
        if self._working or not self._sleeping:
            return
        self._passed_s = max(self._passed_s, self._sleeping[0][0])
        while self._sleeping and self._sleeping[0][0] <= self._passed_s:
            self.wake(heapq.heappop(self._sleeping)[2])
