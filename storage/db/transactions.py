"""Methods of repositories that are one transaction each: they are written over a connection and called without it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection

P = ParamSpec("P")
T = TypeVar("T")
Method = Callable[Concatenate[Any, Connection, P], T]
Transaction = Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]


def reads(method: Method[P, T]) -> Transaction[P, T]:
    """Runs the method in a transaction of its object's `_database` that only reads."""
    return _run_by("read", method)


def writes(method: Method[P, T]) -> Transaction[P, T]:
    """Runs the method in a writing transaction of its object's `_database`."""
    return _run_by("write", method)


def writes_one(method: Method[P, T]) -> Transaction[P, T]:
    """The same for a method of one statement, which is cheaper."""
    return _run_by("write_one", method)


def _run_by(way: str, method: Method[P, T]) -> Transaction[P, T]:
    """`way` names the method of `Database` that runs the transaction."""

    @functools.wraps(method)
    async def run(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        found: T = await getattr(self._database, way)(lambda connection: method(self, connection, *args, **kwargs))
        return found

    return run
