"""Idempotency keys on both kinds of database."""

from __future__ import annotations

import asyncio

import pytest

from services.domain.errors import ConflictError
from services.testing import FrozenClock
from storage.database import Database
from storage.idempotency import SqlIdempotencyKeys


async def test_the_same_request_gets_the_same_resource(database: Database) -> None:
    keys = SqlIdempotencyKeys(database, FrozenClock())
    made = await asyncio.gather(*(keys.claim("local", "key", "same", f"job-{n}") for n in range(6)))
    assert len(set(made)) == 1
    assert await keys.claim("local", "key", "same", "job-later") == made[0]


async def test_another_request_under_the_same_key_is_a_conflict(database: Database) -> None:
    keys = SqlIdempotencyKeys(database, FrozenClock())
    await keys.claim("local", "key", "one", "job-1")
    with pytest.raises(ConflictError, match="key"):
        await keys.claim("local", "key", "two", "job-2")


async def test_keys_are_a_teams_own(database: Database) -> None:
    keys = SqlIdempotencyKeys(database, FrozenClock())
    assert await keys.claim("ours", "key", "one", "job-1") == "job-1"
    assert await keys.claim("theirs", "key", "two", "job-2") == "job-2"
