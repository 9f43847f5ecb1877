"""How a transaction reaches the database: a function over a connection, run to its end.

SQLite is driven by one writing thread and a few reading ones, one hop a *transaction*. SQLAlchemy's asyncio driver
for SQLite is a thread too, but hops about four times a *statement*: a transaction of five statements took 3.2-4.2 ms
with it and 1.1-1.5 ms this way (two cores). The one writing thread also puts this process's writers in order, so that
none of them ever meets another's lock. PostgreSQL has some threads with a connection each: SQLAlchemy's asyncio engine
took 1.7 ms of CPU time for a transaction of five statements, and 1.0 ms go into it this way.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sqlite3
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol, TypeVar, cast

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError, InvalidatePoolError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import ConnectionPoolEntry

from services.domain.errors import ConfigurationError

POOLER, TRANSACTION_POOLER = "pooler", "transaction"
"""Part of a PostgreSQL address that says how the server is reached: `?pooler=transaction`."""

T = TypeVar("T")
Work = Callable[[Connection], T]

READERS = 4
BUSY_MS = 20_000
"""How long a writer waits for another process's write lock."""
BUSY_POLL_S = 0.01
"""How far apart a new file's mode is asked for, where SQLite does not wait by itself."""
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

    read_in_transaction = read
    write_one = write

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


READ_S, WRITE_S = 20, 60
"""So long a statement may take on PostgreSQL: one that reads or stands alone, and one within a transaction that writes.
Long commands and changes of the schema have no such limit."""
IDLE_S = 1.0
"""A pooled connection that was used so lately is taken as it is, without asking whether it still works."""
CONNECTIONS_PER_CORE = 2
"""Many more than the cores can serve would only keep others from a processor: a server's work for all of them becomes
ready at once."""
FEWEST_CONNECTIONS, MOST_CONNECTIONS = 4, 16
CLOSING_S, CLOSING_POLL_S = 2.0, 0.02
"""How long, and how far apart, it is looked whether what runs when the database is closed has ended."""


class PostgresRunner:
    """A PostgreSQL database through psycopg, on threads of our own. Not bound to an event loop.

    What costs is the round trips, for client and server alike: BEGIN, COMMIT and a ping each are one. Reads and
    single statements go without them, on connections of their own; PostgreSQL's default isolation gives readers no more
    within a transaction than without."""

    def __init__(
        self,
        url: URL,
        *,
        connections: int | None = None,
        patience_s: float = 30.0,
        read_s: float = READ_S,
        write_s: float = WRITE_S,
    ) -> None:
        """`connections`: how many there are at most, beside the one for long commands; by default some for each core.
        `patience_s`: how long to wait for one that others use. `read_s`, `write_s`: limits of a statement."""
        half = (connections or _connections()) // 2
        self._pooled = POOLER in url.query
        by_itself: dict[str, Any] = {"isolation_level": "AUTOCOMMIT", "skip_autocommit_rollback": True}
        self._transactions = _Lane(url, half, patience_s, limit_s=write_s)
        self._statements = _Lane(url, half, patience_s, limit_s=read_s, **by_itself)
        self._commands = _Lane(url, 1, patience_s, **by_itself)

    async def read(self, work: Work[T]) -> T:
        """Run on a pooled connection, each statement by itself."""
        return await self._by_statement(work)

    async def read_in_transaction(self, work: Work[T]) -> T:
        """Run on a pooled connection as a transaction."""
        return await self._transactions.run(_transact, work)

    async def write_one(self, work: Work[T]) -> T:
        """Run on a pooled connection; the statement is its own transaction."""
        return await _undeadlocked(lambda: self._by_statement(work))

    async def write(self, work: Work[T]) -> T:
        """Run on a pooled connection; again where the server chose it as the victim of a deadlock. A caller that is
        cancelled meanwhile leaves its part whole: all or none."""
        return await _undeadlocked(lambda: self._transactions.run(_transact, work))

    async def outside(self, work: Work[T]) -> T:
        """Run a function whose statements are each a transaction: some commands refuse to be part of one. They may take
        minutes, and have a connection of their own. Raises `ConfigurationError` through a pooler, which has no
        sessions."""
        if self._pooled:
            raise ConfigurationError(
                "a command that needs a session cannot go through a pooler: give this process the database's "
                f"own address, without {POOLER}={TRANSACTION_POOLER}"
            )
        return await self._commands.run(_connect, work)

    async def close(self) -> None:
        """Close the connections, once what runs in the background has ended; what takes too long is broken off."""
        await asyncio.gather(*(lane.close() for lane in (self._transactions, self._statements, self._commands)))

    async def _by_statement(self, work: Work[T]) -> T:
        return await self._statements.run(_connect, work)


def _connections() -> int:
    return min(max(CONNECTIONS_PER_CORE * (os.cpu_count() or 1), FEWEST_CONNECTIONS), MOST_CONNECTIONS)


def _arguments(url: URL, limit_s: float | None) -> tuple[URL, dict[str, Any]]:
    """The address without what only we understand, and what else the driver is told.

    A pooler in transaction mode gives each transaction another session: a prepared statement would be missing there,
    and a session's options would be another's; it refuses them. There the server's own settings limit statements."""
    if POOLER in url.query:
        return url.difference_update_query([POOLER]), {"connect_timeout": 10, "prepare_threshold": None}
    return url, {"connect_timeout": 10, **({} if limit_s is None else {"options": _with_limit(url, limit_s)})}


def _with_limit(url: URL, limit_s: float) -> str:
    """The options that a server is given with a connection: those of the address come last, and win. Compiling a
    statement that adds up a month took longer than adding it up."""
    asked = url.query.get("options", "")
    own = f"-c jit=off -c statement_timeout={limit_s * 1000:.0f}"
    return f"{own} {asked if isinstance(asked, str) else ' '.join(asked)}".strip()


class _Lane:
    """Connections of one kind, and as many threads that work on them."""

    def __init__(self, url: URL, size: int, patience_s: float, *, limit_s: float | None = None, **options: Any) -> None:
        """`limit_s`: after so long the server ends a statement."""
        url, own = _arguments(url, limit_s)
        self._engine = create_engine(url, pool_size=size, max_overflow=0, connect_args=own, **options)
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="postgres")
        self._patience_s = patience_s
        self._lent: dict[ConnectionPoolEntry, DBAPIConnection] = {}
        event.listen(self._engine, "checkout", self._take)
        event.listen(self._engine, "checkin", self._give_back)

    async def run(self, call: Callable[[Engine, Work[T]], T], work: Work[T]) -> T:
        """Run a function on a thread. Raises SQLAlchemy's `TimeoutError` where none becomes free in time."""
        running = self._threads.submit(call, self._engine, work)
        late = asyncio.get_running_loop().call_later(self._patience_s, running.cancel)  # does nothing to what has begun
        try:
            return await asyncio.wrap_future(running)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if running.cancelled() and task is not None and not task.cancelling():
                raise PoolTimeoutError("all connections are in use") from None
            raise
        finally:
            late.cancel()

    async def close(self) -> None:
        """End the threads, then the connections."""
        self._threads.shutdown(wait=False)
        deadline = time.monotonic() + CLOSING_S
        while self._lent and time.monotonic() < deadline:  # noqa: ASYNC110  # threads empty it
            await asyncio.sleep(CLOSING_POLL_S)
        for connection in tuple(self._lent.values()):
            await asyncio.to_thread(self._break_off, connection)
        await asyncio.to_thread(self._threads.shutdown)
        await asyncio.to_thread(self._engine.dispose)

    def _break_off(self, connection: Any) -> None:
        """Have the server end what it does for a connection, and hang up: it may not answer."""
        faults = (self._engine.dialect.loaded_dbapi.Error, OSError)
        with contextlib.suppress(*faults), socket.socket(fileno=os.dup(connection.fileno())) as line:
            with contextlib.suppress(*faults):
                connection.cancel_safe(timeout=CLOSING_S)
            line.shutdown(socket.SHUT_RDWR)

    def _take(self, connection: DBAPIConnection, record: ConnectionPoolEntry, _lent: object) -> None:
        """A server that was restarted meanwhile has closed all connections: then all are made anew."""
        returned_at = record.info.get("returned_at")
        if returned_at is not None and time.monotonic() - returned_at >= IDLE_S:
            dialect = self._engine.dialect
            try:
                dialect.do_ping(connection)
            except dialect.loaded_dbapi.Error as error:
                raise InvalidatePoolError from error
        self._lent[record] = connection

    def _give_back(self, _connection: DBAPIConnection | None, record: ConnectionPoolEntry) -> None:
        record.info["returned_at"] = time.monotonic()
        self._lent.pop(record, None)


async def _undeadlocked(attempt: Callable[[], Awaitable[T]]) -> T:
    """Its result; tried again where the server chose it as the victim of a deadlock."""
    for number in range(1, ATTEMPTS + 1):
        try:
            return await attempt()
        except DBAPIError as error:
            if number == ATTEMPTS or getattr(error.orig, "sqlstate", None) not in {"40001", "40P01"}:
                raise
    raise AssertionError("unreachable")


class _Waiting:
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


def _connect(engine: Engine, work: Work[T]) -> T:
    with engine.connect() as connection:
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
    _write_ahead(cursor)
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def _write_ahead(cursor: sqlite3.Cursor) -> None:
    """Choose the mode, again and again where others open a new file at the same moment: SQLite's own patience does
    not hold for this change."""
    given_up_at = time.monotonic() + BUSY_MS / 1000
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > given_up_at:
                raise
            time.sleep(BUSY_POLL_S)
        else:
            return
