"""How a node without a database says that it is there."""

from __future__ import annotations

from services.adapters.node_api.connection import NodeConnection
from services.domain.codec import to_data
from services.domain.nodes import MOST_FAULT, ServiceNode
from services.ports.work import NodePresence


class ApiPresence(NodePresence):
    """The server's registry of nodes, as far as one node may write to it. The server adds the token's id to names."""

    def __init__(self, connection: NodeConnection) -> None:
        self._connection = connection

    async def register(self, node: ServiceNode) -> None:
        """Show the node among the workers."""
        await self._connection.post("/nodes", {"node": to_data(node)})

    async def beat(self, name: str, *, load: float = 0.0, busy_s: float = 0.0, done: int = 0) -> bool:
        """Say that the node is there; False when the server does not know it."""
        said = {"name": name, "load": load, "busy_s": busy_s, "done": done}
        return bool((await self._connection.post("/nodes/beat", said))["held"])

    async def drain(self, name: str) -> None:
        """Say that the node takes nothing new."""
        await self._connection.post("/nodes/drain", {"name": name})

    async def leave(self, name: str) -> None:
        """Take the node away."""
        await self._connection.post("/nodes/leave", {"name": name})

    async def refuse(self, node: ServiceNode, fault: str) -> None:
        """Show the node as one that could not begin. Nothing is sent that only this version would understand: a server
        of another one refuses the node, and lists it."""
        said = {"name": node.name, "version": node.version, "device": node.device or "", "fault": fault[:MOST_FAULT]}
        await self._connection.post("/nodes/refuse", said)
