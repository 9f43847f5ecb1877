"""PostgreSQL on threads: what a caller sees who is cancelled, who waits, or who closes the database meanwhile."""

from __future__ import annotations

import asyncio
import threading

import pytest
from sqlalchemy import Connection, make_url, select, text
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from services.domain.errors import StorageError
from services.domain.jobs import JobSpec, JobStatus
from storage.contents.blobs import SqlArtefactStore
from storage.database import Database
from storage.db.errors import clear_faults
from storage.db.runners import PostgresRunner
from storage.jobs.store import SqlJobStore
from storage.tables import job_artefacts
from tests.doubles import FrozenClock, a_job, a_problem

_SLEEP = text("SELECT pg_sleep(600)")


async def test_a_cancelled_callers_transaction_stays_whole(postgres_address: str) -> None:
    database = Database(postgres_address)
    jobs = SqlJobStore(database, FrozenClock())
    await jobs.create(a_job())
    begun, go_on = threading.Event(), threading.Event()

    def work(connection: Connection) -> None:
        connection.execute(text("UPDATE jobs SET message = 'half'"))
        begun.set()
        go_on.wait(60)
        connection.execute(text("UPDATE jobs SET message = 'whole'"))

    writing = asyncio.create_task(database.write(work))
    await asyncio.to_thread(begun.wait, 60)
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert (await jobs.get("local", "job-1")).message is None
    go_on.set()
    await database.close()  # which waits for what runs
    later = Database(postgres_address)
    assert (await SqlJobStore(later, FrozenClock()).get("local", "job-1")).message == "whole"
    await later.close()


async def test_who_waits_too_long_for_a_connection_is_told(postgres_address: str) -> None:
    runner = PostgresRunner(make_url(postgres_address), connections=2, patience_s=0.2)
    begun, go_on = threading.Event(), threading.Event()

    def busy(_connection: Connection) -> None:
        begun.set()
        go_on.wait(60)

    reading = asyncio.create_task(runner.read(busy))
    await asyncio.to_thread(begun.wait, 60)
    with pytest.raises(PoolTimeoutError):
        await runner.read(lambda connection: connection.execute(text("SELECT 1")).scalar_one())
    assert await runner.write(lambda connection: connection.execute(text("SELECT 1")).scalar_one()) == 1
    go_on.set()
    await reading
    assert await runner.read(lambda connection: connection.execute(text("SELECT 1")).scalar_one()) == 1
    await runner.close()


async def test_closing_breaks_off_what_runs_on(postgres_address: str) -> None:
    database = Database(postgres_address)
    running = [
        asyncio.create_task(run(lambda c: c.execute(_SLEEP).scalar())) for run in (database.read, database.write)
    ]
    await asyncio.sleep(0.5)
    async with asyncio.timeout(60):
        await database.close()
        for task in running:
            with pytest.raises(StorageError):
                await task


async def test_jobs_with_one_new_source_are_all_stored(postgres_address: str) -> None:
    database = Database(postgres_address)
    jobs = SqlJobStore(database, FrozenClock())
    await jobs.create(a_job("job-0", spec=JobSpec(problem=a_problem("another = 1"))))
    await asyncio.gather(*(jobs.create(a_job(f"job-{number}")) for number in range(1, 40)))
    page = await jobs.list("local", limit=100)
    assert {job.id for job in page.jobs} == {f"job-{number}" for number in range(40)}
    assert {job.status for job in page.jobs} == {JobStatus.QUEUED}
    await database.close()


async def test_one_new_content_is_kept_for_all_jobs_that_put_it(postgres_address: str) -> None:
    database, clock = Database(postgres_address), FrozenClock()
    jobs, artefacts = SqlJobStore(database, clock), SqlArtefactStore(database, clock)
    names = [f"job-{number}" for number in range(20)]
    for name in names:
        await jobs.create(a_job(name))
    await asyncio.gather(*(artefacts.put("local", b"the same", job_id=name) for name in names))
    kept = await database.read(lambda connection: connection.execute(select(job_artefacts.c.job_id)).scalars().all())
    assert sorted(kept) == sorted(names)
    with pytest.raises(StorageError, match="nobody is not there"):
        await artefacts.put("local", b"the same", job_id="nobody")
    await database.close()


async def test_a_statement_that_takes_too_long_is_ended_and_told(postgres_address: str) -> None:
    url = make_url(postgres_address)
    runner = PostgresRunner(url, connections=2, read_s=0.2, write_s=0.4)
    limits = [
        (runner.read, "200ms"),
        (runner.write_one, "200ms"),
        (runner.read_in_transaction, "400ms"),
        (runner.write, "400ms"),
        (runner.outside, "0"),
    ]
    for run, limit in limits:
        shown = await run(lambda connection: connection.execute(text("SHOW statement_timeout")).scalar_one())
        assert shown == limit
    assert await runner.read(lambda connection: connection.execute(text("SHOW jit")).scalar_one()) == "off"
    with pytest.raises(StorageError, match="took too long and was ended"), clear_faults(url):
        await runner.read(lambda connection: connection.execute(text("SELECT pg_sleep(5)")).all())
    await runner.outside(lambda connection: connection.execute(text("SELECT pg_sleep(0.6)")).all())
    await runner.close()


async def test_a_limit_of_the_address_is_kept(postgres_address: str) -> None:
    url = make_url(postgres_address).update_query_dict({"options": "-c statement_timeout=7000"})
    runner = PostgresRunner(url, connections=2)
    assert await runner.read(lambda c: c.execute(text("SHOW statement_timeout")).scalar_one()) == "7s"
    await runner.close()
