"""Writers that wait at the same time share a transaction, and nobody pays for another's fault."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Connection, make_url, text

from storage.db.runners import SqliteRunner


def adds(number: int, *, fails: bool = False) -> Callable[[Connection], int]:
    def work(connection: Connection) -> int:
        connection.execute(text("INSERT INTO numbers VALUES (:number)"), {"number": number})
        if fails:
            raise ValueError(f"no {number}")
        return number

    return work


async def test_a_failing_writer_is_rolled_back_alone(tmp_path: Path) -> None:
    runner = SqliteRunner(make_url(f"sqlite:///{tmp_path}/numbers.db"))
    await runner.write(lambda connection: connection.execute(text("CREATE TABLE numbers (number INTEGER)")) and None)

    outcomes = await asyncio.gather(
        *(runner.write(adds(number, fails=number % 7 == 3)) for number in range(40)),
        return_exceptions=True,
    )

    failed = [number for number in range(40) if number % 7 == 3]
    assert [str(outcomes[number]) for number in failed] == [f"no {number}" for number in failed]
    good = [number for number in range(40) if number not in failed]
    assert [outcomes[number] for number in good] == good
    query = text("SELECT number FROM numbers ORDER BY number")
    assert await runner.read(lambda connection: list(connection.execute(query).scalars())) == good
    await runner.close()


async def test_a_writer_cancelled_in_the_queue_leaves_the_others_alone(tmp_path: Path) -> None:
    runner = SqliteRunner(make_url(f"sqlite:///{tmp_path}/numbers.db"))
    await runner.write(lambda connection: connection.execute(text("CREATE TABLE numbers (number INTEGER)")) and None)
    tasks = [asyncio.create_task(runner.write(adds(number))) for number in range(10)]
    await asyncio.sleep(0)

    tasks[4].cancel()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)

    assert isinstance(outcomes[4], asyncio.CancelledError)
    assert [outcome for index, outcome in enumerate(outcomes) if index != 4] == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    with pytest.raises(ZeroDivisionError):
        await runner.write(lambda _connection: 1 // 0)
    await runner.close()
