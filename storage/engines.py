"""How a transaction reaches the database: a function over a connection, run to its end.

SQLite is driven by one writing thread and a few reading ones, one hop a *transaction*. SQLAlchemy's asyncio driver
for SQLite is a thread too, but hops about four times a *statement*: a transaction of five statements took 3.2-4.2 ms
with it and 1.1-1.5 ms this way (two cores). The one writing thread also puts this process's writers in order, so that
none of them ever meets another's lock. PostgreSQL uses SQLAlchemy's asyncio engine with psycopg.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol, TypeVar, cast

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError, InvalidatePoolError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

T = TypeVar("T")
Work = Callable[[Connection], T]

READERS = 4
BUSY_MS = 20_000
"""How long a writer waits for another process's write lock."""
BATCH = 64
"""How many waiting writers share a transaction at most."""
ATTEMPTS = 4
"""How often a transaction is tried when PostgreSQL breaks a deadlock."""


class TransactionRunner(Protocol):
    """Runs functions as transactions: commit on return, roll back on any exception."""

    async def read(self, work: Work[T]) -> T:
        """Run a function that only reads. SQLite gives it one snapshot; on PostgreSQL each of its statements sees what
        was committed when it began."""

    async def read_in_transaction(self, work: Work[T]) -> T:
        """The same, where settings that the function makes must end with it."""

    async def write_one(self, work: Work[T]) -> T:
        """Run a function that writes by one statement."""

    async def write(self, work: Work[T]) -> T:
        """Run a function that writes."""

    async def close(self) -> None:
        """Free connections and threads."""


class SqliteRunner:
    """An SQLite file, in write-ahead mode. Not bound to an event loop."""

    def __init__(self, url: URL) -> None:
        plain = url.set(drivername="sqlite")
        self._writer = _sqlite_engine(plain, begin="BEGIN IMMEDIATE", size=1)
        self._reader = _sqlite_engine(plain, begin="BEGIN", size=READERS)
        self._writing = ThreadPoolExecutor(1, thread_name_prefix="sqlite-write")
        self._waiting: deque[_Waiting] = deque()
        self._called = False
        self._reading = ThreadPoolExecutor(READERS, thread_name_prefix="sqlite-read")

    async def read(self, work: Work[T]) -> T:
        """Run on a reading thread; readers never wait for the writer."""
        return await asyncio.get_running_loop().run_in_executor(self._reading, _transact, self._reader, work)

    async def read_in_transaction(self, work: Work[T]) -> T:
        """The same."""
        return await self.read(work)

    async def write_one(self, work: Work[T]) -> T:
        """As every writer."""
        return await self.write(work)

    async def write(self, work: Work[T]) -> T:
        """Run on the writing thread, in one transaction with the writers that wait at the same time. A caller that is
        cancelled meanwhile leaves its part whole: all or none."""
        loop = asyncio.get_running_loop()
        waiting = _Waiting(work, loop)
        self._waiting.append(waiting)
        if not self._called:
            self._called = True
            self._writing.submit(self._drain)
        return cast("T", await waiting.future)

    def _drain(self) -> None:
        """Write until nobody waits. The flag falls first: while it is up, a drain is queued that has not looked yet."""
        self._called = False
        while self._waiting:
            self._write_waiting()

    def _write_waiting(self) -> None:
        """One transaction for all who wait. Where one of them fails, each gets its own, run anew: nobody is rolled
        back for another's fault."""
        batch: list[_Waiting] = []
        while self._waiting and len(batch) < BATCH:
            waiting = self._waiting.popleft()
            if not waiting.future.cancelled():
                batch.append(waiting)
        if len(batch) > 1 and (results := _together(self._writer, batch)) is not None:
            _answer(batch, results)
            return
        for waiting in batch:
            _answer([waiting], [_outcome(self._writer, waiting.work)])

    async def close(self) -> None:
        """End the threads, then the connections."""
        for executor in (self._writing, self._reading):
            await asyncio.to_thread(executor.shutdown)
        self._writer.dispose()
        self._reader.dispose()


CLOSING_POLLS, CLOSING_POLL_S = 100, 0.02


IDLE_S = 1.0
"""A pooled connection that was used so lately is taken as it is, without asking whether it still works."""


class PostgresRunner:
    """A PostgreSQL database through psycopg's asyncio connections. Bound to the event loop that first used it.

    What costs is the round trips, for client and server alike: BEGIN, COMMIT and a ping each are one. Reads and
    single statements go without them, on connections of their own; PostgreSQL's default isolation gives readers no more
    within a transaction than without."""

    def __init__(self, url: URL, *, pool_size: int = 10) -> None:
        """`pool_size`: connections that are kept; under load as many more are opened."""
        own = pool_size // 2
        self._engine = _postgres_engine(url, pool_size - own)
        self._plain = _postgres_engine(url, own, isolation_level="AUTOCOMMIT", skip_autocommit_rollback=True)

    async def read(self, work: Work[T]) -> T:
        """Run on a pooled connection, each statement by itself."""
        return await self.outside(work)

    async def read_in_transaction(self, work: Work[T]) -> T:
        """Run on a pooled connection as a transaction."""
        return await self._transaction(work)

    async def write_one(self, work: Work[T]) -> T:
        """Run on a pooled connection; the statement is its own transaction."""
        return await _undeadlocked(lambda: self.outside(work))

    async def write(self, work: Work[T]) -> T:
        """Run on a pooled connection; again where the server chose it as the victim of a deadlock."""
        return await _undeadlocked(lambda: self._transaction(work))

    async def _transaction(self, work: Work[T]) -> T:
        async with self._engine.begin() as connection:
            return await connection.run_sync(work)

    async def outside(self, work: Work[T]) -> T:
        """Run a function whose statements are each a transaction: some commands refuse to be part of one."""
        async with self._plain.connect() as connection:
            return await connection.run_sync(work)

    async def close(self) -> None:
        """Close the pools, once work in the background has given their connections back."""
        engines = (self._engine, self._plain)
        for _ in range(CLOSING_POLLS):
            if not any(cast("QueuePool", engine.pool).checkedout() for engine in engines):
                break
            await asyncio.sleep(CLOSING_POLL_S)
        for engine in engines:
            await engine.dispose()


async def _undeadlocked(attempt: Callable[[], Awaitable[T]]) -> T:
    """Its result; tried again where the server chose it as the victim of a deadlock."""
    for number in range(1, ATTEMPTS + 1):
        try:
            return await attempt()
        except DBAPIError as error:
            if number == ATTEMPTS or getattr(error.orig, "sqlstate", None) not in {"40001", "40P01"}:
                raise
    raise AssertionError("unreachable")


def _postgres_engine(url: URL, size: int, **options: Any) -> AsyncEngine:
    engine = create_async_engine(
        url, pool_size=size, max_overflow=size, pool_timeout=30, connect_args={"connect_timeout": 10}, **options
    )
    pool = engine.sync_engine.pool
    dialect = engine.sync_engine.dialect

    def ask_if_idle(connection: DBAPIConnection, record: ConnectionPoolEntry, _lent: object) -> None:
        """A server that was restarted meanwhile has closed all connections: then all are made anew."""
        returned_at = record.info.get("returned_at")
        if returned_at is None or time.monotonic() - returned_at < IDLE_S:
            return
        try:
            dialect.do_ping(connection)
        except dialect.loaded_dbapi.Error as error:
            raise InvalidatePoolError from error

    def note_return(_connection: DBAPIConnection | None, record: ConnectionPoolEntry) -> None:
        record.info["returned_at"] = time.monotonic()

    event.listen(pool, "checkout", ask_if_idle)
    event.listen(pool, "checkin", note_return)
    return engine


class _Waiting:
    """A writer in the queue."""

    def __init__(self, work: Work[Any], loop: asyncio.AbstractEventLoop) -> None:
        self.work = work
        self.loop = loop
        self.future: asyncio.Future[Any] = loop.create_future()


class _Outcome(NamedTuple):
    """What a transaction returned or raised."""

    value: Any
    error: BaseException | None


def _together(engine: Engine, batch: Sequence[_Waiting]) -> list[_Outcome] | None:
    """The outcomes of several functions in one transaction; None, with nothing written, where one of them raised."""
    try:
        with engine.begin() as connection:
            return [_Outcome(waiting.work(connection), None) for waiting in batch]
    except Exception:  # noqa: BLE001 -- whose fault it was shows when each runs alone
        return None


def _outcome(engine: Engine, work: Work[Any]) -> _Outcome:
    try:
        return _Outcome(_transact(engine, work), None)
    except BaseException as error:  # noqa: BLE001 -- it is raised again where the caller waits
        return _Outcome(None, error)


def _answer(batch: Sequence[_Waiting], outcomes: Sequence[_Outcome]) -> None:
    """Tell the callers, with one wake-up of each event loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[_Waiting, _Outcome]]] = {}
    for waiting, outcome in zip(batch, outcomes, strict=True):
        by_loop.setdefault(waiting.loop, []).append((waiting, outcome))
    for loop, answers in by_loop.items():
        with contextlib.suppress(RuntimeError):  # a loop that was closed meanwhile has no callers any more
            loop.call_soon_threadsafe(_resolve, answers)


def _resolve(answers: Sequence[tuple[_Waiting, _Outcome]]) -> None:
    for waiting, outcome in answers:
        if waiting.future.done():
            continue
        if outcome.error is not None:
            waiting.future.set_exception(outcome.error)
        else:
            waiting.future.set_result(outcome.value)


def _transact(engine: Engine, work: Work[T]) -> T:
    with engine.begin() as connection:
        return work(connection)


def _sqlite_engine(url: URL, *, begin: str, size: int) -> Engine:
    engine = create_engine(
        url, pool_size=size, max_overflow=0, connect_args={"check_same_thread": False, "timeout": BUSY_MS / 1000}
    )
    event.listen(engine, "connect", _prepare_sqlite)

    def begin_explicitly(connection: Connection) -> None:
        # A deferred transaction that reads first and writes later fails at once when another process wrote meanwhile,
        # whatever the busy timeout; an immediate one waits for its turn at the start.
        connection.exec_driver_sql(begin)

    event.listen(engine, "begin", begin_explicitly)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, _record: Any) -> None:
    # sqlite3 would open transactions by itself, and only before the first write.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout={BUSY_MS}")
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()
