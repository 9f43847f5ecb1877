"""Work orders and the registry of nodes as a node with a token sees them: through the REST API."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import httpx

from services.adapters.node_api.claims import ApiClaims
from services.adapters.node_api.connection import NodeConnection
from services.adapters.node_api.presence import ApiPresence
from services.domain.access import TokenScope, local_principal
from services.domain.nodes import NodeRole, Offer, ServiceNode
from services.domain.work import Report, WorkClaim, WorkOrder, WorkState
from services.jobs.catalogue import Catalogue
from services.jobs.node_work import NodeWork
from services.jobs.service import JobService
from services.ports.jobs import ArtefactStore, CandidateStore, EventLog, JobStore
from services.ports.runtime import Clock
from services.ports.teams import AuditLog, KeyStore, TeamStore
from services.ports.work import NodeRegistry, WorkStore
from services.teams.access import AccessService
from tests.doubles import (
    InMemoryArtefactStore,
    InMemoryAuditLog,
    InMemoryCandidateStore,
    InMemoryDatabase,
    InMemoryEventLog,
    InMemoryJobStore,
    InMemoryKeyStore,
    InMemoryNodeRegistry,
    InMemoryTeamStore,
    InMemoryWorkStore,
)
from tests.web_services import web_services
from web.app import create_app

ADDRESS = "http://127.0.0.1:8000"
VERSION = "1.0"
DEVICES = ("cpu", "h200", "compile")


class Kept(Protocol):
    """The stores behind the server."""

    @property
    def clock(self) -> Clock: ...
    @property
    def jobs(self) -> JobStore: ...
    @property
    def candidates(self) -> CandidateStore: ...
    @property
    def events(self) -> EventLog: ...
    @property
    def artefacts(self) -> ArtefactStore: ...
    @property
    def teams(self) -> TeamStore: ...
    @property
    def keys(self) -> KeyStore: ...
    @property
    def audit(self) -> AuditLog: ...


class KeptInMemory:
    """Stores without a database."""

    def __init__(self, clock: Clock) -> None:
        database = InMemoryDatabase(clock=clock)
        self.clock = clock
        self.jobs = InMemoryJobStore(database)
        self.candidates = InMemoryCandidateStore(database)
        self.events = InMemoryEventLog(database)
        self.artefacts = InMemoryArtefactStore(database)
        self.teams = InMemoryTeamStore(database)
        self.keys = InMemoryKeyStore(database)
        self.audit = InMemoryAuditLog(database)
        self.orders = InMemoryWorkStore(database)
        self.nodes = InMemoryNodeRegistry(database)


class NodeServer:
    """An API that has orders for nodes."""

    def __init__(self, orders: WorkStore, nodes: NodeRegistry, kept: Kept, runtime: Path) -> None:
        known = Catalogue(backends=("cpp",), devices=("cpu",), strategies=(), models=(), resolve_model=str)
        self.access = AccessService(kept.teams, kept.keys, kept.audit, kept.clock)
        services = web_services(
            kept.clock,
            JobService(kept.jobs, kept.candidates, known, kept.clock),
            runtime,
            events=kept.events,
            access=self.access,
            open_here=False,
            version=VERSION,
            node_work=NodeWork(orders, nodes, kept.jobs, kept.artefacts, kept.clock, VERSION),
        )
        self.transport = httpx.ASGITransport(create_app(services))

    async def token(self, *devices: str) -> str:
        """A token for a node."""
        operator = local_principal("test")
        made = await self.access.create_token(
            operator, "node", {TokenScope.NODE}, days=None, owner=None, devices=devices or DEVICES
        )
        return made.text

    def connection(self, token: str) -> NodeConnection:
        """A node's way to the server."""
        return NodeConnection(ADDRESS, token, transport=self.transport)


class StoreOverRest(WorkStore):
    """What workers do goes through the API, what the service does to the store itself."""

    def __init__(self, inner: WorkStore, connection: NodeConnection, token: str) -> None:
        self._inner = inner
        self._token_id = token.split("_")[1]
        self._claims = ApiClaims(connection, VERSION)

    async def place(self, order: WorkOrder) -> WorkState:
        return await self._inner.place(order)

    async def state(self, order_id: str) -> WorkState:
        return await self._inner.state(order_id)

    async def held(self, order_id: str, owner: str, token: int) -> WorkClaim | None:
        return await self._inner.held(order_id, f"{owner} ({self._token_id})", token)

    async def ended(self, order_ids: Sequence[str]) -> Mapping[str, WorkState]:
        return await self._inner.ended(order_ids)

    async def waiting(self) -> Mapping[str, int]:
        return await self._inner.waiting()

    async def expire(self, older_s: float) -> int:
        return await self._inner.expire(older_s)

    async def cancel(self, job_id: str) -> None:
        await self._inner.cancel(job_id)

    async def take(self, owner: str, ttl_s: float, offer: Offer) -> WorkClaim | None:
        return await self._claims.take(owner, ttl_s, offer)

    async def renew(self, claim: WorkClaim, ttl_s: float) -> bool:
        return await self._claims.renew(claim, ttl_s)

    async def finish(self, claim: WorkClaim, result: Report) -> bool:
        return await self._claims.finish(claim, result)

    async def release(self, claim: WorkClaim) -> bool:
        return await self._claims.release(claim)

    async def fail(self, claim: WorkClaim, fault: str) -> bool:
        return await self._claims.fail(claim, fault)


class RegistryOverRest(ApiPresence, NodeRegistry):
    """A node writes through the API; who is there is read from the registry itself, under the names that nodes gave."""

    def __init__(self, inner: NodeRegistry, connection: NodeConnection) -> None:
        super().__init__(connection)
        self._inner = inner

    async def living(self, role: NodeRole | None = None) -> tuple[ServiceNode, ...]:
        return tuple(replace(node, name=node.name.rpartition(" (")[0]) for node in await self._inner.living(role))


@asynccontextmanager
async def over_rest(
    orders: WorkStore, nodes: NodeRegistry, kept: Kept
) -> AsyncIterator[tuple[StoreOverRest, RegistryOverRest]]:
    """Both, through one server."""
    with tempfile.TemporaryDirectory() as folder:
        server = NodeServer(orders, nodes, kept, Path(folder))
        token = await server.token()
        async with server.connection(token) as connection:
            yield StoreOverRest(orders, connection, token), RegistryOverRest(nodes, connection)
