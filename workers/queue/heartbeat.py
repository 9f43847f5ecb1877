"""A worker's child says that it is there: from a thread of its own, because the work blocks for minutes."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

from services.domain.devices import DeviceSheet
from services.domain.errors import InfrastructureError
from services.domain.nodes import Offer, ServiceNode
from services.ports.work import NodePresence

log = logging.getLogger(__name__)
BEAT_S = 5.0


class Heartbeat:
    """Registers a node, keeps its row fresh with what it has done, and removes it at the end."""

    def __init__(
        self,
        node: ServiceNode,
        registry: Callable[[], AbstractAsyncContextManager[NodePresence]],
        *,
        beat_s: float = BEAT_S,
    ) -> None:
        """`registry` opens the registry, in the thread that uses it."""
        self._node = node
        self._registry = registry
        self._beat_s = beat_s
        self._registered = False
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def measured(
        self,
        offer: Offer,
        sheet: DeviceSheet | None = None,
        isolation: str | None = None,
        *,
        lacking: str | None = None,
    ) -> None:
        """The device and the sandbox are known now: what they can do, and what is `lacking`, is written at the next
        beat."""
        known = replace(self._node, backends=offer.backends, evaluator=offer.evaluator, isolation=isolation)
        if sheet is None:  # it only compiles: its evaluator is its compilers
            self._node = replace(known, toolchain=offer.evaluator)
        else:
            self._node = replace(known, sheet=sheet, toolchain=sheet.toolchain, units=sheet.units)
        self.troubled(lacking)

    def troubled(self, fault: str | None) -> None:
        """Why the worker takes no orders or leaves some, written at the next beat; None where all is well."""
        self._node = replace(self._node, fault=fault)
        self._registered = False

    def worked(self, seconds: float) -> None:
        """Count an order."""
        self._node = replace(self._node, busy_s=self._node.busy_s + seconds, done=self._node.done + 1)

    def stop(self) -> None:
        """Leave; waits a moment for the row to go."""
        self._stopped.set()
        self._thread.join(5.0)

    def _run(self) -> None:
        try:
            asyncio.run(self._live())
        except Exception:
            log.exception("this worker is no longer seen by the others")

    async def _live(self) -> None:
        async with self._registry() as registry:
            while not self._stopped.is_set():
                await self._guarded(self._beat(registry))
                await asyncio.to_thread(self._stopped.wait, self._beat_s)
            await self._guarded(registry.leave(self._node.name))

    async def _beat(self, registry: NodePresence) -> None:
        node = self._node
        if self._registered:
            load = os.getloadavg()[0] / (os.cpu_count() or 1)
            self._registered = await registry.beat(node.name, load=load, busy_s=node.busy_s, done=node.done)
        if not self._registered:
            self._registered = True
            await registry.register(node)

    async def _guarded(self, work: Coroutine[None, None, None]) -> None:
        """A database that is away for a moment is no reason to stop."""
        try:
            await work
        except InfrastructureError as error:
            self._registered = False
            log.warning("could not say that this worker is there: %s", error)
        except Exception:  # a worker that nobody sees gets no work
            self._registered = False
            log.exception("could not say that this worker is there: a fault of this program")
