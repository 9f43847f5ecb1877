"""Statements that SQLAlchemy spells differently for SQLite and PostgreSQL.

They are built once and executed with parameters: building a statement costs more than running it on SQLite.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite


def insert_new(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows; those whose key exists already are left as they are."""
    if rows:
        connection.execute(_insert_new(connection.dialect.name, table), rows)


def insert_one_new(connection: Connection, table: Table, row: dict[str, Any]) -> bool:
    """Insert one row; False where its key exists already."""
    # By what comes back: psycopg gives no row count for an insert that SQLAlchemy compiled.
    return connection.execute(_insert_returning(connection.dialect.name, table), row).first() is not None


def upsert(connection: Connection, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows of one shape, or overwrite their columns where the primary key exists."""
    connection.execute(_upsert(connection.dialect.name, table, tuple(rows[0])), rows)


@functools.cache
def _insert_new(dialect: str, table: Table) -> Any:
    return _insert(dialect, table).on_conflict_do_nothing()


@functools.cache
def _insert_returning(dialect: str, table: Table) -> Any:
    return _insert_new(dialect, table).returning(next(iter(table.primary_key)))


@functools.cache
def _upsert(dialect: str, table: Table, names: tuple[str, ...]) -> Any:
    keys = [column.name for column in table.primary_key]
    new = _insert(dialect, table)
    return new.on_conflict_do_update(
        index_elements=keys, set_={name: new.excluded[name] for name in names if name not in keys}
    )


def _insert(dialect: str, table: Table) -> Any:
    return sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)


CHUNK = 500
"""Rows and parameters of one statement."""


def chunks(items: Sequence[Any]) -> list[Sequence[Any]]:
    """As many at a time as one statement takes."""
    return [items[start : start + CHUNK] for start in range(0, len(items), CHUNK)]
