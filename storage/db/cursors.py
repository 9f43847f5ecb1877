"""Cursors of lists that go from the newest row to the oldest."""

from __future__ import annotations

import base64
import binascii
from datetime import datetime
from typing import Any

from sqlalchemy import Select, Table, literal, tuple_

from services.domain.errors import ConfigurationError


def newest_first(query: Select[Any], table: Table) -> Select[Any]:
    """Rows by `created_at`, and by `id` where that is the same, the latest first."""
    return query.order_by(*(column.desc() for column in _order(table)))


def behind(query: Select[Any], table: Table, cursor: str | None) -> Select[Any]:
    """Rows behind the one that a cursor names; all without one. Raises `ConfigurationError`."""
    if cursor is None:
        return query
    place = decode_cursor(cursor)
    # Typed as the columns are, so that SQLite compares with the texts it has stored.
    typed = (literal(value, column.type) for value, column in zip(place, _order(table), strict=True))
    return query.where(tuple_(*_order(table)) < tuple_(*typed))


def encode_cursor(created_at: datetime, name: str) -> str:
    """An opaque text for a row's place."""
    return base64.urlsafe_b64encode(f"{created_at.isoformat()}/{name}".encode()).decode()


def decode_cursor(cursor: str) -> tuple[datetime, str]:
    """The place a cursor names. Raises `ConfigurationError`."""
    try:
        moment, _, name = base64.urlsafe_b64decode(cursor.encode()).decode().partition("/")
        created_at = datetime.fromisoformat(moment)
    except (ValueError, binascii.Error):
        raise ConfigurationError(f"not a cursor of this list: {cursor!r}") from None
    if created_at.tzinfo is None or not name:
        raise ConfigurationError(f"not a cursor of this list: {cursor!r}")
    return created_at, name


def _order(table: Table) -> tuple[Any, Any]:
    return table.c.created_at, table.c.id
