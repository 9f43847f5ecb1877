"""The `NodeRegistry` port over the database."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, and_, delete, or_, select, update

from services.domain.codec import dumps, loads
from services.domain.devices import DeviceSheet
from services.domain.jobs import LOCAL_TEAM
from services.domain.nodes import FAULT_TTL_S, NODE_TTL_S, NodeRole, NodeState, ServiceNode
from services.ports.runtime import Clock
from storage.contents.blobs import ensure_team
from storage.database import Database
from storage.db.mapping import row_of, value_of
from storage.db.statements import upsert
from storage.db.transactions import writes
from storage.tables import nodes

FORGET_S = FAULT_TTL_S
"""Rows of nodes that left without a word, or were refused, are removed after so long."""


class SqlNodeRegistry:
    """Nodes as rows; each method is one transaction."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    @writes
    def register(self, connection: Connection, node: ServiceNode) -> None:
        """Write a node's row, over an earlier one of its name; long gone nodes are forgotten on the way."""
        now = self._clock.now()
        forgotten = delete(nodes).where(nodes.c.seen_at < now - timedelta(seconds=FORGET_S))
        ensure_team(connection, LOCAL_TEAM, now)
        connection.execute(forgotten)
        upsert(connection, nodes, [_to_row(node, now)])

    async def beat(self, name: str, *, load: float = 0.0, busy_s: float = 0.0, done: int = 0) -> bool:
        """Say that a node is there and what it has done; False when its row is gone, or lists it as refused."""
        said = {"seen_at": self._clock.now(), "load": load, "busy_s": busy_s, "done": done}
        query = update(nodes).where(nodes.c.name == name, nodes.c.state != NodeState.REFUSED).values(said)
        return await self._database.write(lambda connection: connection.execute(query).rowcount == 1)

    async def drain(self, name: str) -> None:
        """Mark a node that takes nothing new."""
        query = update(nodes).where(nodes.c.name == name).values(state=str(NodeState.DRAINING))
        await self._database.write(lambda connection: connection.execute(query))

    async def leave(self, name: str) -> None:
        """Remove a node's row."""
        await self._database.write(lambda connection: connection.execute(delete(nodes).where(nodes.c.name == name)))

    async def refuse(self, node: ServiceNode, fault: str) -> None:
        """List a worker that could not begin, with the reason."""
        await self.register(replace(node, state=NodeState.REFUSED, fault=fault))

    async def living(self, role: NodeRole | None = None) -> tuple[ServiceNode, ...]:
        """Nodes seen lately, and those refused not long ago, by name."""
        now = self._clock.now()
        refused = and_(nodes.c.state == NodeState.REFUSED, nodes.c.seen_at > now - timedelta(seconds=FAULT_TTL_S))
        query = select(nodes).where(or_(nodes.c.seen_at > now - timedelta(seconds=NODE_TTL_S), refused))
        if role is not None:
            query = query.where(nodes.c.role == role)
        rows = await self._database.read(lambda connection: connection.execute(query.order_by(nodes.c.name)).all())
        return tuple(_node(row) for row in rows)


def _to_row(node: ServiceNode, now: datetime) -> dict[str, Any]:
    sheet = None if node.sheet is None else dumps(node.sheet)
    return row_of(nodes, node, team_id=LOCAL_TEAM, backends=dumps(node.backends), sheet=sheet, seen_at=now)


def _node(row: Row[Any]) -> ServiceNode:
    sheet = None if row.sheet is None else loads(DeviceSheet, row.sheet)
    return value_of(ServiceNode, row, backends=tuple(json.loads(row.backends)), sheet=sheet)
