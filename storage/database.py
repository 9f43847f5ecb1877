"""The database: where rows live, and in which state its schema is."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import URL, Connection, inspect, make_url, text
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from services.domain.errors import ConfigurationError, StorageError, UserError
from storage.db.errors import UPGRADE, clear_faults, shown
from storage.db.pgvector_schema import install
from storage.db.runners import POOLER, TRANSACTION_POOLER, PostgresRunner, SqliteRunner, TransactionRunner, Work
from storage.db.runners import T as T
from storage.tables import metadata

MIGRATIONS = Path(__file__).parent / "migrations"
_UPGRADE_LOCK = 0x6B77
"""Key of the PostgreSQL advisory lock under which one program at a time migrates."""


class Database:
    """One SQLite file (`sqlite:///path`) or PostgreSQL database (`postgresql+psycopg://…`; with `?pooler=transaction`
    through a connection pooler such as PgBouncer in transaction mode).

    Repositories hand it functions over a connection; each runs as one transaction. Raises `ConfigurationError` for an
    address that is neither; nothing is opened before the first use.
    """

    def __init__(self, url: str) -> None:
        self.url = _parse(url)
        self.changes = Changes()
        """Where readers in this process learn at once that a job has new events."""
        self.known_teams: set[str] = set()
        """Teams whose rows are there: they are never removed, and need not be made again with every write."""
        self._runner: TransactionRunner = (
            SqliteRunner(self.url) if self.url.get_backend_name() == "sqlite" else PostgresRunner(self.url)
        )

    @property
    def is_postgres(self) -> bool:
        """Whether a server holds it, and no file."""
        return isinstance(self._runner, PostgresRunner)

    async def read(self, work: Work[T]) -> T:
        """Run a function that only reads. Raises `StorageError`."""
        with clear_faults(self.url):
            return await self._runner.read(work)

    async def read_in_transaction(self, work: Work[T]) -> T:
        """Run a function that only reads and whose settings must end with it. Raises `StorageError`."""
        with clear_faults(self.url):
            return await self._runner.read_in_transaction(work)

    async def write_one(self, work: Work[T]) -> T:
        """Run a function that writes by one statement: cheaper than `write`. Raises `StorageError`; then nothing was
        written."""
        with clear_faults(self.url):
            return await self._runner.write_one(work)

    async def write(self, work: Work[T]) -> T:
        """Run a function as one writing transaction. Raises `StorageError`; then nothing was written."""
        with clear_faults(self.url):
            return await self._runner.write(work)

    async def outside(self, work: Work[T]) -> T:
        """Run a function on PostgreSQL whose statements are each a transaction. Raises `StorageError`."""
        if not isinstance(self._runner, PostgresRunner):
            raise StorageError(f"database {shown(self.url)}: only PostgreSQL works outside transactions")
        with clear_faults(self.url):
            return await self._runner.outside(work)

    async def upgrade(self) -> None:
        """Bring the schema to this program's version; creates an SQLite file. Raises `StorageError`."""
        self._make_directory()
        await self.write(self._upgrade)

    async def downgrade(self, version: str) -> None:
        """Take the schema back to an earlier version, so that an earlier program can use it; what only later versions
        keep is lost. Raises `UserError` for an unknown version, or one later than the schema, and `StorageError`."""
        await self.write(lambda connection: self._downgrade(connection, version))

    async def check(self) -> None:
        """Raise `StorageError` unless the database can be reached and has exactly this program's schema."""
        problem = schema_fault(await self.read(_revisions)) or lacking(await self.read(_shape))
        if problem:
            raise problem.error(self.url)

    async def server_time(self) -> datetime | None:
        """The server's clock; None for a file, which has none. Raises `StorageError`."""
        if self.url.get_backend_name() == "sqlite":
            return None
        return await self.read(lambda connection: connection.execute(text("SELECT clock_timestamp()")).scalar_one())

    async def close(self) -> None:
        """Free connections and threads; idempotent."""
        await self._runner.close()

    def _upgrade(self, connection: Connection) -> None:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SET LOCAL statement_timeout = 0"))
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _UPGRADE_LOCK})
        found = _revisions(connection)
        if found and not found <= _known_revisions():
            raise _newer(found).error(self.url)
        config = _alembic_config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        install(connection)  # once more: pgvector may have come after the migration

    def _downgrade(self, connection: Connection, version: str) -> None:
        known = sorted(_known_revisions())
        found = _revisions(connection)
        if not found or not found <= set(known):
            fault = schema_fault(found) or _newer(found)
            raise fault.error(self.url)
        if version not in known or version >= max(found):
            earlier = ", ".join(name for name in known if name < max(found))
            raise UserError(f"{version!r} is no schema version before {max(found)}; there are: {earlier}")
        config = _alembic_config()
        config.attributes["connection"] = connection
        if connection.dialect.name == "postgresql":
            connection.execute(text("SET LOCAL statement_timeout = 0"))
        command.downgrade(config, version)

    def _make_directory(self) -> None:
        if self.url.get_backend_name() != "sqlite" or not self.url.database:
            return
        try:
            Path(self.url.database).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"database {shown(self.url)}: cannot make its directory: {error}") from error


class Changes:
    """Wakes those who follow a job when this process has committed new events for it."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Event]] = defaultdict(set)

    def notify(self, job_id: str) -> None:
        """Wake the job's followers; to be called after the commit, in their event loop."""
        for waiting in self._waiting.get(job_id, ()):
            waiting.set()

    @contextmanager
    def watch(self, job_id: str) -> Iterator[asyncio.Event]:
        """An event that is set at each change while the context lasts."""
        changed = asyncio.Event()
        self._waiting[job_id].add(changed)
        try:
            yield changed
        finally:
            self._waiting[job_id].discard(changed)
            if not self._waiting[job_id]:
                del self._waiting[job_id]


@dataclass(frozen=True, kw_only=True)
class SchemaFault:
    """Why this program cannot use a database's schema."""

    what: str
    """Follows the database's address in a sentence; says what to do."""
    remedy: str
    """The same for a person who is told nothing else."""

    def error(self, url: URL) -> StorageError:
        """The error that names the database."""
        return StorageError(f"database {shown(url)} {self.what}", remedy=self.remedy)


def schema_fault(found: set[str]) -> SchemaFault | None:
    """What is wrong with a database at these revisions, or None."""
    scripts = ScriptDirectory(str(MIGRATIONS))
    if not found:
        return SchemaFault(what=f"is not migrated: run `{UPGRADE}`", remedy=UPGRADE)
    if not found <= _known_revisions():
        return _newer(found)
    if found != set(scripts.get_heads()):
        return SchemaFault(what=f"is older than this program: run `{UPGRADE}`", remedy=UPGRADE)
    return None


def _newer(found: set[str]) -> SchemaFault:
    unknown = ", ".join(sorted(found - _known_revisions()))
    return SchemaFault(
        what=f"is newer than this program (schema {unknown} is unknown): install the version that wrote it, or newer",
        remedy="Install the version that wrote it, or name another database.",
    )


def lacking(shape: dict[str, set[str]]) -> SchemaFault | None:
    """What a database that says it is up to date does not have: somebody else's hand was in it; or None."""
    for table in metadata.sorted_tables:
        missing = sorted({column.name for column in table.columns} - shape.get(table.name, set()))
        if missing:
            what = f"column {missing[0]} of table {table.name}" if table.name in shape else f"table {table.name}"
            return SchemaFault(
                what=f"has a half-applied schema (no {what}): restore it from a backup",
                remedy="Restore it from a backup.",
            )
    return None


def _shape(connection: Connection) -> dict[str, set[str]]:
    columns = inspect(connection).get_multi_columns()
    return {name: {column["name"] for column in found} for (_, name), found in columns.items()}


def _revisions(connection: Connection) -> set[str]:
    return set(MigrationContext.configure(connection).get_current_heads())


def _known_revisions() -> set[str]:
    return {script.revision for script in ScriptDirectory(str(MIGRATIONS)).walk_revisions()}


def _alembic_config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    return config


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url)
        backend = parsed.get_backend_name()
    except (ArgumentError, NoSuchModuleError):
        raise ConfigurationError(
            f"not a database address: {url!r} (sqlite:///FILE or postgresql+psycopg://…)"
        ) from None
    if backend == "sqlite":
        if parsed.database in {None, "", ":memory:"}:
            raise ConfigurationError("an SQLite database needs a file: sqlite:///path/to/file.db")
        return parsed
    if backend == "postgresql":
        pooler = parsed.query.get(POOLER, TRANSACTION_POOLER)
        if pooler != TRANSACTION_POOLER:
            raise ConfigurationError(
                f"unknown {POOLER} {pooler!r} in the database address: only {TRANSACTION_POOLER!r}"
            )
        return parsed.set(drivername="postgresql+psycopg")
    raise ConfigurationError(f"unknown database {backend!r}: use sqlite:///FILE or postgresql+psycopg://…")
