"""Nodes in a dictionary."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from services.domain.nodes import FAULT_TTL_S, NODE_TTL_S, NodeRole, NodeState, ServiceNode
from services.ports.work import NodeRegistry
from services.testing.database import InMemoryDatabase


class InMemoryNodeRegistry(NodeRegistry):
    """A `NodeRegistry` over the doubles' database, whose work orders ask who is there."""

    def __init__(self, database: InMemoryDatabase) -> None:
        self._database = database

    async def register(self, node: ServiceNode) -> None:
        """Keep a node, over an earlier one of its name."""
        self._database.nodes[node.name] = replace(node, seen_at=self._database.clock.now())

    async def beat(self, name: str, *, load: float = 0.0, busy_s: float = 0.0, done: int = 0) -> bool:
        """Say that a node is there; False for an unknown one, or one listed as refused."""
        known, now = self._database.nodes.get(name), self._database.clock.now()
        if known is None or known.state is NodeState.REFUSED:
            return False
        self._database.nodes[name] = replace(known, seen_at=now, load=load, busy_s=busy_s, done=done)
        return True

    async def drain(self, name: str) -> None:
        """Mark a node that takes nothing new."""
        if name in self._database.nodes:
            self._database.nodes[name] = replace(self._database.nodes[name], state=NodeState.DRAINING)

    async def leave(self, name: str) -> None:
        """Remove a node."""
        self._database.nodes.pop(name, None)

    async def refuse(self, node: ServiceNode, fault: str) -> None:
        """Keep a worker that could not begin, with the reason."""
        await self.register(replace(node, state=NodeState.REFUSED, fault=fault))

    async def living(self, role: NodeRole | None = None) -> tuple[ServiceNode, ...]:
        """Nodes seen lately, and those refused not long ago, by name."""
        nodes = sorted(self._database.nodes.values(), key=lambda node: node.name)
        return tuple(node for node in nodes if self._is_listed(node) and role in (None, node.role))

    def _is_listed(self, node: ServiceNode) -> bool:
        ttl_s = FAULT_TTL_S if node.state is NodeState.REFUSED else NODE_TTL_S
        return node.seen_at > self._database.clock.now() - timedelta(seconds=ttl_s)
