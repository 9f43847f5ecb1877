"""Several processes on one database: leases, events, and what is left when one is killed."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from sqlalchemy import text

from services.domain.events import EventKind
from services.domain.jobs import JobStatus
from services.runtime.clock import SystemClock
from storage.database import Database
from storage.jobs.events import SqlEventLog
from storage.jobs.store import SqlJobStore
from tests.doubles import a_job

ROOT = Path(__file__).parents[2]

TAKER = """
import asyncio, sys
from services.runtime.clock import SystemClock
from storage.database import Database
from storage.jobs.store import SqlJobStore

async def main():
    database = Database(sys.argv[1])
    jobs = SqlJobStore(database, SystemClock())
    idle = 0
    while idle < 5:
        lease = await jobs.acquire(sys.argv[2], 600)
        if lease is None:
            idle += 1
            await asyncio.sleep(0.02)
        else:
            print(lease.job_id, flush=True)
    await database.close()

asyncio.run(main())
"""

RECORDER = """
import asyncio, sys
from services.runtime.clock import SystemClock
from services.domain.events import EventKind
from services.domain.steps import NewEvent, StepRecord
from tests.doubles import a_job, a_step, an_experience
from storage.database import Database
from storage.jobs.store import SqlJobStore

async def main():
    jobs = SqlJobStore(Database(sys.argv[1]), SystemClock())
    lease = await jobs.acquire("victim", 1)
    for index in range(10_000):
        event = NewEvent(kind=EventKind.STEP_FINISHED, data={"step": index})
        experience = an_experience(f"exp-{index}", text=f"lesson {index}")
        await jobs.record_step(
            lease, StepRecord(step=a_step(lease.job_id, index), experiences=(experience,), events=(event,))
        )
        print(index, flush=True)

asyncio.run(main())
"""


def start(program: str, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    )


async def test_processes_that_race_for_jobs_never_share_one(database: Database, address: str) -> None:
    jobs = SqlJobStore(database, SystemClock())
    for number in range(60):
        await jobs.create(a_job(f"job-{number:02}"))
    racers = [start(TAKER, address, f"racer-{n}") for n in range(3)]
    taken = [line for racer in racers for line in (await asyncio.to_thread(racer.communicate))[0].split()]
    assert [racer.returncode for racer in racers] == [0, 0, 0]
    assert sorted(taken) == [f"job-{number:02}" for number in range(60)]


async def test_a_killed_process_loses_no_finished_step_and_leaves_no_half_one(database: Database, address: str) -> None:
    jobs, events = SqlJobStore(database, SystemClock()), SqlEventLog(database, SystemClock())
    await jobs.create(a_job())
    victim = start(RECORDER, address)
    assert victim.stdout is not None
    reported = -1
    while reported < 20:
        line = await asyncio.to_thread(victim.stdout.readline)
        assert line, "the recorder ended by itself"
        reported = int(line)
    victim.kill()
    rest = await asyncio.to_thread(victim.stdout.read)
    victim.stdout.close()
    victim.wait()
    reported = max([reported, *(json.loads(line) for line in rest.split("\n")[:-1])])
    steps = await jobs.steps("local", "job-1")
    assert [step.index for step in steps] == list(range(len(steps)))
    assert len(steps) in {reported + 1, reported + 2}
    assert (await jobs.get("local", "job-1")).steps_done == len(steps)
    log = await events.read("job-1", limit=10_000)
    assert [event.seq for event in log] == list(range(1, len(steps) + 2))
    await asyncio.sleep(1.0)
    assert await jobs.acquire("heir", 30) is not None


async def test_a_follower_hears_of_another_processs_event_within_a_fifth_of_a_second(
    database: Database, address: str
) -> None:
    await SqlJobStore(database, SystemClock()).create(a_job())
    follower = SqlEventLog(database, SystemClock())
    elsewhere = Database(address)  # another connection that shares nothing with the first: as good as a process

    delays = []
    after = 1
    for number in range(5):
        following = asyncio.create_task(next_event(follower, after))
        await asyncio.sleep(0.05 + 0.03 * number)
        appended = time.perf_counter()
        event = await SqlEventLog(elsewhere, SystemClock()).append("job-1", EventKind.STEP_STARTED, {})
        delays.append(await following - appended)
        after = event.seq
    await elsewhere.close()
    # The median, since the machine may be busy with something else for a moment.
    assert statistics.median(delays) < 0.2


async def next_event(log: SqlEventLog, after: int) -> float:
    async for _ in log.follow("job-1", after):
        return time.perf_counter()
    raise AssertionError("the log ended")


async def test_a_job_that_ended_without_its_last_event_does_not_hold_its_followers_for_ever(database: Database) -> None:
    jobs = SqlJobStore(database, SystemClock())
    await jobs.create(a_job())
    lease = await jobs.acquire("one", 30)
    assert lease is not None
    await jobs.set_status(lease, JobStatus.SOLVED)
    # As an earlier version of the program may have left it.
    await database.write(lambda connection: connection.execute(text("DELETE FROM events WHERE kind = 'job.finished'")))
    log = SqlEventLog(database, SystemClock(), orphan_s=0.3)
    events = [event async for event in log.follow("job-1")]
    assert [event.kind for event in events] == [EventKind.JOB_STATUS, EventKind.JOB_STATUS]
