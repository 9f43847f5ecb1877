"""How long a queue waits for a database that is away: by the clock, however long each attempt takes."""

from __future__ import annotations

import asyncio

import pytest
from celery import Celery

from services.adapters.queues.celery_queue import CeleryQueue
from services.domain.errors import StorageError
from services.testing import InMemoryDatabase, InMemoryWorkStore, LoopClock

ATTEMPT_S = 50.0


@pytest.mark.virtual_time
async def test_slow_attempts_count_as_waiting() -> None:
    attempts = []

    async def away() -> None:
        attempts.append(1)
        await asyncio.sleep(ATTEMPT_S)
        raise StorageError("no server answers")

    clock = LoopClock()
    queue = CeleryQueue(Celery(), InMemoryWorkStore(InMemoryDatabase(clock=clock)), clock, give_up_s=2.5 * ATTEMPT_S)
    with pytest.raises(StorageError, match="no server answers"):
        await queue._patiently(away)
    assert len(attempts) == 3
