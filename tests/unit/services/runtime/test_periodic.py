"""What repeats for as long as a process lives, or until it succeeds."""

from __future__ import annotations

import asyncio
import logging

import pytest

from services.domain.errors import StorageError
from services.runtime.periodic import AFTER_FAULT_S, patiently, repeat, repeating
from tests.doubles import FrozenClock, LoopClock

PAUSE_S = 0.2
ATTEMPT_S = 50.0


class Work:
    """Fails as it is told to, then does its work."""

    def __init__(self, *faults: Exception | None) -> None:
        self.faults = list(faults)
        self.done = 0

    async def __call__(self) -> None:
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None:
            raise fault
        self.done += 1


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_no_fault_ends_it_and_each_is_told(caplog: pytest.LogCaptureFixture) -> None:
    clock = FrozenClock()
    work = Work(StorageError("away"), StorageError("away still"), ValueError("a bug"), None, StorageError("again"))
    with caplog.at_level(logging.WARNING):
        async with repeating("answers", work, PAUSE_S, clock):
            for _ in range(6):
                await settled()
                clock.advance(AFTER_FAULT_S)
            await settled()
    assert work.done == 3
    told = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert [level for level, _ in told] == ["WARNING", "ERROR", "WARNING"]
    assert told[0] == ("WARNING", "answers: waiting, away")
    assert told[2] == ("WARNING", "answers: waiting, again")
    assert "a bug" in str(caplog.records[1].exc_info)


async def test_a_fault_is_followed_by_a_longer_pause() -> None:
    clock, work = FrozenClock(), Work(StorageError("away"))
    async with repeating("answers", work, PAUSE_S, clock):
        await settled()
        clock.advance(PAUSE_S * 1.1)
        await settled()
        assert work.done == 0
        clock.advance(AFTER_FAULT_S)
        await settled()
        assert work.done == 1
        clock.advance(PAUSE_S * 1.1)
        await settled()
        assert work.done == 2


async def test_it_ends_with_its_context() -> None:
    clock, work = FrozenClock(), Work()
    async with repeating("answers", work, PAUSE_S, clock):
        await settled()
    clock.advance(10)
    await settled()
    assert work.done == 1


async def test_cancelling_ends_it() -> None:
    task = asyncio.create_task(repeat("answers", Work(ValueError("a bug")), PAUSE_S, FrozenClock()))
    await settled()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.virtual_time
async def test_what_a_store_prevents_is_tried_again_and_slow_attempts_count_as_waiting() -> None:
    attempts = []

    async def away() -> None:
        attempts.append(1)
        await asyncio.sleep(ATTEMPT_S)
        raise StorageError("no server answers")

    with pytest.raises(StorageError, match="no server answers"):
        await patiently("it", away, 2.5 * ATTEMPT_S, LoopClock())
    assert len(attempts) == 3


@pytest.mark.virtual_time
async def test_a_store_that_is_away_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    work = Work(StorageError("no server answers"), StorageError("no server answers"), None)
    await patiently("it", work, 60.0, LoopClock())
    assert work.done == 1
    assert [record.message for record in caplog.records] == ["it: waiting, no server answers"]
