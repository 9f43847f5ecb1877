"""Domain values as rows and back, where fields and columns have the same names."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import fields
from enum import StrEnum
from typing import Any, TypeVar, get_args, get_type_hints

from sqlalchemy import Row, Table

T = TypeVar("T")


def row_of(table: Table, value: Any, **own: Any) -> dict[str, Any]:
    """The row of a value: `own`, and what the value's fields have for the other columns."""
    return {name: _plain(getattr(value, name)) for name in _shared(table, value.__class__) if name not in own} | own


def value_of(kind: Callable[..., T], row: Row[Any], **own: Any) -> T:
    """The value of a row: `own`, and what the row has for the other fields."""
    known = row._mapping
    read = {name: of(known[name]) for name, of in _readers(kind) if name in known and name not in own}
    return kind(**read, **own)


@functools.cache
def _shared(table: Table, kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if field.name in table.columns)


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, StrEnum) else value


@functools.cache
def _readers(kind: Any) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
    hints: Mapping[str, Any] = get_type_hints(kind)
    return tuple((field.name, _reader(hints[field.name])) for field in fields(kind))


def _reader(hint: Any) -> Callable[[Any], Any]:
    for kind in (hint, *get_args(hint)):
        if isinstance(kind, type) and issubclass(kind, StrEnum):
            return lambda value: None if value is None else kind(value)
    return lambda value: value
