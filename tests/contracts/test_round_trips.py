"""What PostgreSQL is asked: each round trip costs client and server more than what it asks for."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest_asyncio
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointMetadata, empty_checkpoint
from sqlalchemy import Connection, make_url, text

from services.domain.errors import StorageError
from services.domain.events import EventKind
from services.domain.jobs import JobStatus
from services.jobs.service import JobService
from services.teams.quotas import QuotaService
from storage.contents.blobs import SqlArtefactStore
from storage.database import Database
from storage.db.runners import IDLE_S
from storage.jobs.candidates import SqlCandidateStore
from storage.jobs.checkpoints import SqlCheckpointSaver
from storage.jobs.events import SqlEventLog
from storage.jobs.store import SqlJobStore
from storage.teams.audit import SqlAuditLog
from storage.teams.quotas import SqlQuotaStore
from tests.doubles import FrozenClock, a_job
from tests.unit.web.test_app import CATALOGUE


class Counter:
    """Stands between a client and its server, and counts what the client asks."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self.asked = 0
        self._writers: list[asyncio.StreamWriter] = []
        self._server: asyncio.Server | None = None

    async def start(self) -> int:
        """Its port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1")
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def cut(self) -> None:
        """Close every connection, as a server that is restarted."""
        for writer in self._writers:
            writer.close()
        self._writers.clear()

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_connection(self._host, self._port)
        self._writers += [writer, server_writer]
        answers = asyncio.create_task(_pass(server_reader, writer))
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            while part := await reader.read(1 << 16):
                self.asked += 1
                server_writer.write(part)
                await server_writer.drain()
        server_writer.close()
        await asyncio.gather(answers, return_exceptions=True)


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while part := await reader.read(1 << 16):
        writer.write(part)
        await writer.drain()
    writer.close()


@pytest_asyncio.fixture
async def counted(postgres_address: str) -> AsyncIterator[tuple[Database, Counter]]:
    url = make_url(postgres_address)
    counter = Counter(url.host or "127.0.0.1", url.port or 5432)
    port = await counter.start()
    database = Database(url.set(host="127.0.0.1", port=port).render_as_string(hide_password=False))
    yield database, counter
    await database.close()
    await counter.close()


def _one(connection: Connection) -> object:
    return connection.execute(text("SELECT 1")).scalar_one()


async def test_a_read_is_one_round_trip(counted: tuple[Database, Counter]) -> None:
    database, counter = counted
    for _ in range(8):  # until the driver has prepared the statement
        await database.read(_one)
    before = counter.asked
    for _ in range(10):
        await database.read(_one)
    assert counter.asked - before == 10


async def test_a_submission_takes_few_round_trips(counted: tuple[Database, Counter]) -> None:
    database, counter = counted
    clock = FrozenClock()
    quotas, audit = QuotaService(SqlQuotaStore(database, clock), clock), SqlAuditLog(database, clock)
    jobs = JobService(SqlJobStore(database, clock), SqlCandidateStore(database, clock), CATALOGUE, clock, quotas)

    spec = replace(a_job().spec, model="playbook")

    async def submit() -> None:
        job, _ = await jobs.submit("local", spec)
        await audit.append("local", "token", "submit_job", job.id)

    for _ in range(8):  # until the statements are prepared
        await submit()
    before = counter.asked
    for _ in range(10):
        await submit()
    # Limits; the job with its source and its event, where nobody listens; the audit log.
    assert counter.asked - before <= 30


async def test_what_a_step_writes_most_is_one_round_trip_each(counted: tuple[Database, Counter]) -> None:
    database, counter = counted
    clock = FrozenClock()
    jobs, log, artefacts = SqlJobStore(database, clock), SqlEventLog(database, clock), SqlArtefactStore(database, clock)
    saver = SqlCheckpointSaver(database)
    await jobs.create(a_job())
    lease = await jobs.acquire("one", 15)
    assert lease is not None
    config: RunnableConfig = {"configurable": {"thread_id": lease.job_id, "checkpoint_ns": "", "lease": lease}}

    async def write(number: int) -> None:
        await saver.aput(config, empty_checkpoint(), CheckpointMetadata(), {})
        await artefacts.put("local", f"content {number}".encode(), job_id=lease.job_id)
        await log.append(lease.job_id, EventKind.AGENT_STARTED, {"step": number})
        await log.append(lease.job_id, EventKind.EVALUATION_FINISHED, {"step": number})

    for number in range(8):  # until the statements are prepared
        await write(number)
    before = counter.asked
    for number in range(8, 18):
        await write(number)
    assert counter.asked - before <= 40


async def test_many_followers_of_many_jobs_share_two_queries_a_look(counted: tuple[Database, Counter]) -> None:
    database, counter = counted
    clock = FrozenClock()
    jobs, log = SqlJobStore(database, clock), SqlEventLog(database, clock, poll_s=0.2)
    writer = SqlEventLog(Database(database.url.render_as_string(hide_password=False)), clock)
    names = [f"job-{number}" for number in range(40)]
    for name in names:
        await jobs.create(a_job(name))
    seen: dict[str, int] = dict.fromkeys(names, 0)

    async def follow(name: str) -> None:
        async for event in log.follow(name):
            seen[name] = event.seq

    following = [asyncio.create_task(follow(name)) for name in names]
    try:
        await _until(lambda: all(found == 1 for found in seen.values()))
        await asyncio.sleep(0.5)  # the first look
        own = 0
        before = counter.asked
        began = asyncio.get_running_loop().time()
        for name in names:
            asked = counter.asked
            await writer.append(name, EventKind.AGENT_STARTED, {"step": 0})
            own += counter.asked - asked
        await _until(lambda: all(found == 2 for found in seen.values()))
        looks = (asyncio.get_running_loop().time() - began) / 0.2 + 2
        assert counter.asked - before <= 3 * len(names) + 2 * looks, "each follower asks for itself"
    finally:
        for task in following:
            task.cancel()
        await asyncio.gather(*following, return_exceptions=True)
        await writer._database.close()


async def test_an_idle_pool_survives_the_servers_restart(counted: tuple[Database, Counter]) -> None:
    database, counter = counted
    await asyncio.gather(*(database.read(_one) for _ in range(3)))
    await asyncio.gather(*(database.write(_one) for _ in range(3)))
    counter.cut()
    await asyncio.sleep(IDLE_S + 0.1)
    for _ in range(4):
        assert await database.read(_one) == 1
        assert await database.write(_one) == 1


async def test_a_connection_that_breaks_in_use_fails_once_and_no_more(counted: tuple[Database, Counter]) -> None:
    database, counter = counted
    await asyncio.gather(*(database.read(_one) for _ in range(3)))
    counter.cut()
    failures = 0
    for _ in range(6):
        try:
            assert await database.read(_one) == 1
        except StorageError:
            failures += 1
    assert failures <= 1


async def test_leases_are_renewed_together(counted: tuple[Database, Counter]) -> None:
    database, counter = counted
    clock = FrozenClock()
    jobs = SqlJobStore(database, clock)
    leases = []
    for number in range(20):
        await jobs.create(a_job(f"job-{number}"))
        lease = await jobs.acquire("one", 15, f"job-{number}")
        assert lease is not None
        leases.append(lease)
    await jobs.renew_all(leases, 15)
    clock.advance(5)
    before = counter.asked
    renewed = await jobs.renew_all(leases, 15)
    assert counter.asked - before == 1
    assert {lease.job_id for lease in renewed} == {lease.job_id for lease in leases}
    assert await jobs.set_status(renewed[0], JobStatus.RUNNING)


async def _until(condition: object) -> None:
    assert callable(condition)
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - another process's database says so, if only when asked
            await asyncio.sleep(0.01)
