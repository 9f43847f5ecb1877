"""Reading an SDK's stream to its end, or to where we stop, and leaving nothing of it behind."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any


@asynccontextmanager
async def reading(events: Any) -> AsyncIterator[AsyncGenerator[Any, None]]:
    """The events of an SDK's stream, closed afterwards with every generator below them.

    Both SDKs close the response but leave their generators in a cycle to the garbage collector. That may run in any
    thread (the database has some) and then finds the generators of one stream all at once, each closing the next."""
    async with events:
        try:
            async with aclosing(aiter(events)) as each:
                yield each
        finally:
            await events._iterator.aclose()
