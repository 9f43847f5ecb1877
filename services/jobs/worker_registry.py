"""Who is there: what the installation's workers offer together."""

from __future__ import annotations

from services.domain.nodes import NodeRole, ServiceNode, taking_orders
from services.domain.work import COMPILE
from services.ports.work import NodeRegistry


class WorkerRegistry:
    """The workers as they were when it was read last."""

    def __init__(self, registry: NodeRegistry) -> None:
        self._registry = registry
        self._workers: tuple[ServiceNode, ...] = ()

    async def refresh(self) -> tuple[ServiceNode, ...]:
        """Read it again; the living workers. Raises `StorageError`."""
        self._workers = taking_orders(await self._registry.living(NodeRole.WORKER))
        return self._workers

    def devices(self) -> dict[str, tuple[str, ...]]:
        """Devices with the backends that some worker has for each."""
        found: dict[str, tuple[str, ...]] = {}
        for node in self._workers:
            if node.device is not None and node.device != COMPILE:
                found[node.device] = tuple(dict.fromkeys((*found.get(node.device, ()), *node.backends)))
        return found
