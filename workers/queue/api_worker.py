"""A worker that takes its orders from the API: no database, no broker, but the server's address and a node's token."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Protocol

from services.domain.errors import DeviceLostError, InfrastructureError
from services.ports.work import WorkClaims
from workers.queue.heartbeat import Heartbeat
from workers.queue.orders import ClaimPace, WorkerContext, execute

log = logging.getLogger(__name__)
HARD_LIMIT_S = 1800.0
"""Seconds for an order after which the process ends: a last resort, workbenches have limits of their own."""
STUCK = 70
"""Exit code of a process that ended so (EX_SOFTWARE); what starts it again is the service manager's."""
LEAST_PAUSE_S, MOST_PAUSE_S = 0.5, 10.0
SHORT_S = 0.1
"""Pause between two requests for an order: a server that is about to end holds none."""
FREE_S = 10.0
"""How often the server is asked which jobs have ended, while there is nothing else to do."""


class NodeClaims(WorkClaims, Protocol):
    """Orders, and which jobs are over."""

    async def ended(self, jobs: Iterable[tuple[str, str]]) -> frozenset[str]:
        """Those of some jobs, as team and id, that have ended."""


class ApiWorker:
    """Does the server's orders, one at a time."""

    def __init__(
        self,
        claims: NodeClaims,
        context: WorkerContext,
        name: str,
        pace: ClaimPace,
        heartbeat: Heartbeat | None = None,
        *,
        hard_limit_s: float = HARD_LIMIT_S,
        free_s: float = FREE_S,
        end_process: Callable[[int], object] = os._exit,
    ) -> None:
        """`name` is this worker's alone: one that starts again under it takes up at once what it was doing.
        `end_process` ends it with a code whatever its threads do."""
        self._claims = claims
        self._context = context
        self._name = name
        self._pace = pace
        self._heartbeat = heartbeat
        self._hard_limit_s = hard_limit_s
        self._free_s = free_s
        self._end_process = end_process
        self._warm: dict[str, str] = {}
        """Jobs that the workbench may keep something for, with their teams."""
        self._freed_at = 0.0
        self.done = 0
        """Orders ended."""

    async def run(self, stop: asyncio.Event) -> int:
        """Work until told to stop, then finish the current order; how many orders ended. Waits for a server that is
        away.

        Raises `UserError` where the server refuses this node for good, `DeviceLostError` where its device is gone."""
        pause_s = 0.0
        while not stop.is_set():
            try:
                await self._work()
            except DeviceLostError:
                raise
            except InfrastructureError as error:
                if not pause_s:
                    log.warning("waiting for the server: %s", error)
                pause_s = min(max(LEAST_PAUSE_S, 2 * pause_s), MOST_PAUSE_S)
                await _either(stop, pause_s)
            else:
                pause_s = 0.0
        return self.done

    async def _work(self) -> None:
        """Do an order, or use the time until there is one."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._hard_limit_s):
                order = await execute(self._context, self._name, self._pace)
        except TimeoutError:
            log.critical("an order has taken %.0f s: this process ends, and the order is another's", self._hard_limit_s)
            self._end_process(STUCK)
            raise
        if order is None:
            await self._free()
            await asyncio.sleep(SHORT_S)
            return
        self.done += 1
        self._warm[order.request.job_id] = order.request.team_id
        if self._heartbeat is not None:
            self._heartbeat.worked(time.monotonic() - began)

    async def _free(self) -> None:
        """Free what is kept for jobs that have ended."""
        if not self._warm or time.monotonic() - self._freed_at < self._free_s:
            return
        self._freed_at = time.monotonic()
        asked = [(team_id, job_id) for job_id, team_id in list(self._warm.items())[:200]]
        for job_id in await self._claims.ended(asked):
            if self._warm.pop(job_id, None) is not None:
                await asyncio.to_thread(self._context.workbench.close_job, job_id)


async def _either(stop: asyncio.Event, seconds: float) -> None:
    """Until told to stop, or for a while."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()
