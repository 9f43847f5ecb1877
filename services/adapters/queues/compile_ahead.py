"""Whether a candidate is compiled before a device sees it: where a compile worker for its backend lives."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from services.domain.errors import InfrastructureError
from services.domain.evaluations import EvaluationRequest
from services.domain.nodes import NodeRole, ServiceNode, taking_orders
from services.domain.work import COMPILE, CompileRequest, WorkOrder, order_of
from services.ports.work import NodeRegistry

LOOK_S = 5.0
"""How long what is known of the workers is believed."""
CUDA = "cuda"
MOST_S = 180.0
"""So long an evaluation waits for its compilation; then the device's worker compiles."""


class CompileAhead:
    """Has compile workers build candidates. It never fails: who has the device can compile too."""

    def __init__(self, nodes: NodeRegistry, *, look_s: float = LOOK_S, most_s: float = MOST_S) -> None:
        self._nodes = nodes
        self._look_s = look_s
        self._most_s = most_s
        self._backends: frozenset[str] = frozenset()
        self._architectures: dict[str, str] = {}
        """Of the GPUs whose workers are there, by device."""
        self._looked_at = float("-inf")

    async def compiled(self, request: EvaluationRequest, done: Callable[[WorkOrder], Awaitable[object]]) -> bool:
        """Have the candidate of a request built, through `done`, which waits for an order's end; whether it was."""
        if not await self._has_worker(request.backend):
            return False
        architecture = self._architectures.get(request.device)
        if request.backend == CUDA and architecture is None:
            return False  # built for the wrong GPU it would be built in vain
        order = order_of(
            CompileRequest(
                id=f"cmp-{request.evaluation_id}",
                job_id=request.job_id,
                team_id=request.team_id,
                source=request.source,
                backend=request.backend,
                architecture=architecture,
            )
        )
        waiting = asyncio.ensure_future(done(order))
        try:
            return await self._in_time(waiting, request.backend)
        finally:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)

    async def _in_time(self, waiting: asyncio.Future[object], backend: str) -> bool:
        deadline = time.monotonic() + self._most_s
        while time.monotonic() < deadline:
            await asyncio.wait({waiting}, timeout=self._look_s)
            if waiting.done():
                return waiting.exception() is None
            if not await self._has_worker(backend):
                return False
        return False

    async def _has_worker(self, backend: str) -> bool:
        now = time.monotonic()
        if now - self._looked_at >= self._look_s:
            self._looked_at = now
            try:
                living = taking_orders(await self._nodes.living(NodeRole.WORKER))
            except InfrastructureError:  # whoever places the order waits for the database
                return False
            self._backends = frozenset(name for node in living if node.device == COMPILE for name in node.backends)
            self._architectures = {node.device: name for node in living for name in _architecture(node) if node.device}
        return backend in self._backends


def _architecture(node: ServiceNode) -> tuple[str, ...]:
    """The compute capability in its device's sheet, where it has one."""
    return () if node.sheet is None else tuple(name for name in node.sheet.instruction_set if name.startswith("sm_"))
