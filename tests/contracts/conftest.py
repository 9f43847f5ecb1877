"""The implementations that every store contract runs against. A new one is one more entry of `STORES`."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import pytest_asyncio

from services.adapters.embeddings.hashing import HashingEmbedder
from services.ports.jobs import ArtefactStore, CandidateStore, EventLog, JobStore, VerdictStore
from services.ports.memory import Memory, MemoryRecords
from services.ports.models import RequestStore
from services.ports.teams import AuditLog, KeyStore, QuotaStore, ShareStore, TeamStore, WebhookStore
from services.ports.work import NodeRegistry, WorkStore
from storage.contents.blobs import SqlArtefactStore
from storage.contents.files import Directory
from storage.database import Database
from storage.jobs.candidates import SqlCandidateStore
from storage.jobs.events import SqlEventLog
from storage.jobs.requests import SqlRequestStore
from storage.jobs.store import SqlJobStore
from storage.jobs.verdicts import SqlVerdictStore
from storage.jobs.work_orders import SqlWorkStore
from storage.memory.records import SqlMemoryRecords
from storage.memory.store import SqlMemory
from storage.nodes import SqlNodeRegistry
from storage.teams.audit import SqlAuditLog
from storage.teams.credentials import SqlKeyStore
from storage.teams.quotas import SqlQuotaStore
from storage.teams.report_links import SqlShareStore
from storage.teams.store import SqlTeamStore
from storage.teams.webhooks import SqlWebhookStore
from tests.contracts.node_over_rest import over_rest
from tests.databases import empty_tables, pgvector_server, postgres_database
from tests.doubles import (
    FrozenClock,
    InMemoryArtefactStore,
    InMemoryAuditLog,
    InMemoryCandidateStore,
    InMemoryDatabase,
    InMemoryEventLog,
    InMemoryJobStore,
    InMemoryKeyStore,
    InMemoryMemory,
    InMemoryMemoryRecords,
    InMemoryNodeRegistry,
    InMemoryQuotaStore,
    InMemoryRequestStore,
    InMemoryShareStore,
    InMemoryTeamStore,
    InMemoryVerdictStore,
    InMemoryWebhookStore,
    InMemoryWorkStore,
)


@dataclass(frozen=True, kw_only=True)
class Stores:
    """One implementation of every store, over one database and a clock that stands still."""

    clock: FrozenClock
    jobs: JobStore
    candidates: CandidateStore
    events: EventLog
    memory: Memory
    records: MemoryRecords
    artefacts: ArtefactStore
    verdicts: VerdictStore
    requests: RequestStore
    teams: TeamStore
    keys: KeyStore
    quotas: QuotaStore
    audit: AuditLog
    shares: ShareStore
    webhooks: WebhookStore
    orders: WorkStore
    nodes: NodeRegistry
    database: Database | InMemoryDatabase
    """What all of them are over."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/contracts" in item.path.as_posix():
            item.add_marker("contracts")
            if "[doubles" in item.name:
                item.add_marker("virtual_time")


def sql_stores(database: Database, directory: Path) -> Stores:
    clock, embedder = FrozenClock(), HashingEmbedder()
    memory = SqlMemory(database, embedder)
    return Stores(
        clock=clock,
        jobs=SqlJobStore(database, clock),
        candidates=SqlCandidateStore(database, clock),
        events=SqlEventLog(database, clock),
        memory=memory,
        records=SqlMemoryRecords(database, memory, embedder.name, clock),
        artefacts=SqlArtefactStore(database, clock, files=Directory(directory)),
        verdicts=SqlVerdictStore(database, clock),
        requests=SqlRequestStore(database, clock),
        teams=SqlTeamStore(database, clock),
        keys=SqlKeyStore(database, clock),
        quotas=SqlQuotaStore(database, clock),
        audit=SqlAuditLog(database, clock),
        shares=SqlShareStore(database, clock),
        webhooks=SqlWebhookStore(database, clock),
        orders=SqlWorkStore(database, clock),
        nodes=SqlNodeRegistry(database, clock),
        database=database,
    )


@asynccontextmanager
async def _sqlite(request: pytest.FixtureRequest) -> AsyncIterator[Stores]:
    database = Database(request.getfixturevalue("sqlite_address"))
    yield sql_stores(database, request.getfixturevalue("tmp_path"))
    await database.close()


@asynccontextmanager
async def _postgres(request: pytest.FixtureRequest) -> AsyncIterator[Stores]:
    database = Database(request.getfixturevalue("postgres_address"))
    yield sql_stores(database, request.getfixturevalue("tmp_path"))
    await database.close()


@asynccontextmanager
async def _doubles(request: pytest.FixtureRequest) -> AsyncIterator[Stores]:
    clock = FrozenClock()
    database = InMemoryDatabase(clock=clock)
    yield Stores(
        clock=clock,
        jobs=InMemoryJobStore(database),
        candidates=InMemoryCandidateStore(database),
        events=InMemoryEventLog(database),
        memory=InMemoryMemory(database),
        records=InMemoryMemoryRecords(database),
        artefacts=InMemoryArtefactStore(database),
        verdicts=InMemoryVerdictStore(database),
        requests=InMemoryRequestStore(database),
        teams=InMemoryTeamStore(database),
        keys=InMemoryKeyStore(database),
        quotas=InMemoryQuotaStore(database),
        audit=InMemoryAuditLog(database),
        shares=InMemoryShareStore(clock),
        webhooks=InMemoryWebhookStore(database),
        orders=InMemoryWorkStore(database),
        nodes=InMemoryNodeRegistry(database),
        database=database,
    )


@asynccontextmanager
async def _pgvector(request: pytest.FixtureRequest) -> AsyncIterator[Stores]:
    database = Database(request.getfixturevalue("pgvector_address"))
    yield sql_stores(database, request.getfixturevalue("tmp_path"))
    await database.close()


@asynccontextmanager
async def _rest(request: pytest.FixtureRequest) -> AsyncIterator[Stores]:
    """SQLite, with a node's claims and presence going through the REST API."""
    async with _sqlite(request) as stores, over_rest(stores.orders, stores.nodes, stores) as (orders, nodes):
        yield replace(stores, orders=orders, nodes=nodes)


Opener = Callable[[pytest.FixtureRequest], AbstractAsyncContextManager[Stores]]
STORES: dict[str, Opener] = {"sqlite": _sqlite, "postgres": _postgres, "doubles": _doubles}
FURTHER: dict[str, Opener] = {"pgvector": _pgvector, "rest": _rest}
"""What some contracts run against beside."""
WORK = (*STORES, "rest")
"""What the contracts of work orders and nodes run against."""
MEMORIES = (*STORES, "pgvector")
"""What the memory's contracts run against beside: `pytestmark = parametrize("stores", MEMORIES, indirect=True)`."""
DATABASES = ("sqlite", "postgres")


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "template.db"
    _upgrade(f"sqlite:///{path}")
    return path


@pytest.fixture
def sqlite_address(sqlite_template: Path, tmp_path: Path) -> str:
    path = tmp_path / "kernelwright.db"
    shutil.copy(sqlite_template, path)
    return f"sqlite:///{path}"


@pytest.fixture(scope="session")
def postgres_migrated() -> Iterator[str]:
    with postgres_database() as address:
        _upgrade(address)
        yield address


@pytest.fixture
def postgres_address(postgres_migrated: str) -> str:
    empty_tables(postgres_migrated)
    return postgres_migrated


@pytest.fixture(scope="session")
def pgvector_migrated() -> Iterator[str]:
    """Not below pytest's own folder: the next session that starts closes that to the server's user."""
    with tempfile.TemporaryDirectory() as directory, pgvector_server(Path(directory)) as address:
        _upgrade(address)
        yield address


@pytest.fixture
def pgvector_address(pgvector_migrated: str) -> str:
    empty_tables(pgvector_migrated)
    return pgvector_migrated


@pytest.fixture(params=DATABASES)
def address(request: pytest.FixtureRequest) -> str:
    """The address of a migrated, empty database."""
    found: str = request.getfixturevalue(f"{request.param}_address")
    return found


@pytest_asyncio.fixture
async def database(address: str) -> AsyncIterator[Database]:
    opened = Database(address)
    yield opened
    await opened.close()


@pytest_asyncio.fixture(params=STORES)
async def stores(request: pytest.FixtureRequest) -> AsyncIterator[Stores]:
    async with {**STORES, **FURTHER}[request.param](request) as opened:
        yield opened


def _upgrade(address: str) -> None:
    """Migrate, in a thread of its own: fixtures may be asked for while the test's event loop runs."""

    async def upgrade() -> None:
        database = Database(address)
        await database.upgrade()
        await database.close()

    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, upgrade()).result()
