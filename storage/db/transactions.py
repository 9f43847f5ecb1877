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

    @functools.wraps(method)
    async def run(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        found: T = await self._database.read(lambda connection: method(self, connection, *args, **kwargs))
        return found

    return run


def writes(method: Method[P, T]) -> Transaction[P, T]:
    """Runs the method in a writing transaction of its object's `_database`."""

    @functools.wraps(method)
    async def run(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        done: T = await self._database.write(lambda connection: method(self, connection, *args, **kwargs))
        return done

    return run
