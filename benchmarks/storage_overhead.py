"""What storage costs on SQLite: a recorded step, a checkpoint, an event, and many jobs at once.

    python -m benchmarks.storage_overhead [--jobs 100] [--old-jobs 10000]

Prints milliseconds per operation (median, 95th percentile, and this process's CPU time, which a busy machine does not
change much) on a new database, then beside many finished jobs.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint
from sqlalchemy import Connection, insert

from services.adapters.embeddings.hashing import HashingEmbedder
from services.domain.chat import AgentRole, ChatMessage
from services.domain.events import EventKind
from services.domain.experiences import RecallQuery
from services.domain.jobs import JobStatus, Lease, Stage
from services.domain.steps import ModelCall, NewEvent, StepRecord
from services.domain.usage import Usage
from services.runtime.clock import SystemClock
from storage.contents.blobs import ensure_team
from storage.database import Database
from storage.jobs.checkpoints import SqlCheckpointSaver
from storage.jobs.creation import job_to_row
from storage.jobs.events import SqlEventLog
from storage.jobs.store import SqlJobStore
from storage.memory.store import SqlMemory
from storage.tables import jobs as jobs_table
from tests.doubles import a_job, a_step, an_experience
from tests.doubles.builders import MOMENT

ROUNDS = 60


@dataclass(frozen=True, kw_only=True)
class Bench:
    database: Database
    jobs: SqlJobStore
    events: SqlEventLog
    memory: SqlMemory


def a_record(job_id: str, index: int) -> StepRecord:
    call = ModelCall(
        role=AgentRole.CODER,
        model="scripted",
        prompt=(ChatMessage(role="user", content=f"{job_id} {index} " + "prompt " * 1000),),
        prompt_hash="0" * 64,
        reply=f"{job_id} {index} " + "reply " * 500,
        usage=Usage(calls=1, input_tokens=2000, output_tokens=800),
        seconds=0.0,
    )
    events = tuple(NewEvent(kind=EventKind.STEP_FINISHED, data={"step": index}) for _ in range(3))
    experience = an_experience(f"exp-{job_id}-{index}", text=f"what {job_id} learned at {index}")
    return StepRecord(step=replace(a_step(job_id, index), calls=(call,) * 4), experiences=(experience,), events=events)


async def timed(name: str, action: Callable[[int], Awaitable[object]]) -> None:
    seconds = []
    cpu = time.process_time()
    for number in range(ROUNDS):
        start = time.perf_counter()
        await action(number)
        seconds.append(time.perf_counter() - start)
    cpu = (time.process_time() - cpu) / ROUNDS
    tail = sorted(seconds)[int(0.95 * len(seconds))]
    median = statistics.median(seconds)
    print(f"  {name:<24} median {median * 1e3:6.2f} ms   p95 {tail * 1e3:6.2f} ms   CPU {cpu * 1e3:5.2f} ms")


async def leased(bench: Bench, job_id: str) -> Lease:
    await bench.jobs.create(a_job(job_id))
    lease = await bench.jobs.acquire("bench", 600, job_id)
    assert lease is not None
    return lease


async def single(bench: Bench, job_id: str) -> None:
    lease = await leased(bench, job_id)
    saver = SqlCheckpointSaver(bench.database, lease=lease)
    config: RunnableConfig = {"configurable": {"thread_id": job_id, "checkpoint_ns": ""}}
    state = {f"channel-{n}": "x" * 400 for n in range(10)}
    query = RecallQuery(
        team_id="local", stage=Stage.DRAFT, text="relu " * 50, family="pointwise", backend="cpp", device="cpu"
    )

    async def put(_: int) -> None:
        await saver.aput(config, {**empty_checkpoint(), "channel_values": state}, {}, {})

    await timed("record_step", lambda n: bench.jobs.record_step(lease, a_record(job_id, n)))
    await timed("checkpoint put (4 kB)", put)
    await timed("event append", lambda n: bench.events.append(job_id, EventKind.AGENT_STARTED, {"step": n}))
    await timed("recall", lambda _: bench.memory.recall(query))
    await timed("get job", lambda _: bench.jobs.get("local", job_id))
    await timed("acquire (none free)", lambda _: bench.jobs.acquire("other", 30))


async def together(bench: Bench, count: int) -> None:
    """Jobs at once; a step is a record, 8 checkpoints with their writes and 8 events, as a turn of the graph makes."""

    async def one(number: int) -> None:
        job_id = f"together-{number}"
        lease = await leased(bench, job_id)
        saver = SqlCheckpointSaver(bench.database, lease=lease)
        config: RunnableConfig = {"configurable": {"thread_id": job_id, "checkpoint_ns": ""}}
        for index in range(3):
            for node in range(8):
                await bench.events.append(job_id, EventKind.AGENT_STARTED, {"step": index, "node": node})
                saved = await saver.aput(config, empty_checkpoint(), {}, {})
                await saver.aput_writes(saved, [("done", node)], f"task-{node}")
            await bench.jobs.record_step(lease, a_record(job_id, index))

    start, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(one(number) for number in range(count)))
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    rate, cost = count * 3 / seconds, cpu / count / 3
    print(f"  {count} jobs at once: {rate:.1f} steps a second, {cost * 1e3:.1f} ms of CPU a step")


def add_finished_jobs(connection: Connection, count: int) -> None:
    ensure_team(connection, "local", MOMENT)
    row = job_to_row(connection, a_job("old", status=JobStatus.SOLVED))
    rows = [row | {"id": f"old-{n}", "created_at": MOMENT + timedelta(seconds=n)} for n in range(count)]
    connection.execute(insert(jobs_table), rows)


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=100)
    parser.add_argument("--old-jobs", type=int, default=10_000)
    arguments = parser.parse_args()
    clock = SystemClock()
    with tempfile.TemporaryDirectory() as directory:
        database = Database(f"sqlite:///{Path(directory) / 'bench.db'}")
        await database.upgrade()
        bench = Bench(
            database=database,
            jobs=SqlJobStore(database, clock),
            events=SqlEventLog(database, clock),
            memory=SqlMemory(database, HashingEmbedder()),
        )
        print("new database")
        await single(bench, "first")
        await database.write(lambda connection: add_finished_jobs(connection, arguments.old_jobs))
        print(f"beside {arguments.old_jobs} finished jobs")
        await single(bench, "second")
        await together(bench, arguments.jobs)
        await database.close()


if __name__ == "__main__":
    asyncio.run(main())
