"""Checkpoints: a run resumes where it was, only its lease's holder writes, and nothing piles up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import END, START, StateGraph
from sqlalchemy import Table, func, select

from services.domain.errors import LeaseLostError
from services.domain.jobs import Lease
from storage.database import Database
from storage.jobs.checkpoints import LEASE_KEY, SqlCheckpointSaver
from storage.jobs.store import SqlJobStore
from storage.tables import checkpoint_writes, checkpoints
from tests.doubles import FrozenClock, a_job


class State(TypedDict, total=False):
    done: list[str]


class CrashError(Exception):
    """What a node raises when the process is supposed to die there."""


@dataclass
class Trace:
    """Nodes that ran, over all attempts, and the node that fails the first time."""

    ran: list[str]
    fail_once: str | None = None


def build(saver: SqlCheckpointSaver, trace: Trace) -> Any:
    graph = StateGraph(State)

    def node(name: str) -> Any:
        async def run(state: State) -> State:
            trace.ran.append(name)
            if trace.fail_once == name:
                trace.fail_once = None
                raise CrashError(name)
            return {"done": [*state.get("done", []), name]}

        return run

    for name in ("plan", "code", "judge"):
        graph.add_node(name, node(name))
    graph.add_edge(START, "plan")
    graph.add_edge("plan", "code")
    graph.add_edge("code", "judge")
    graph.add_edge("judge", END)
    return graph.compile(checkpointer=saver)


async def leased(database: Database) -> tuple[SqlJobStore, FrozenClock, Lease]:
    clock = FrozenClock()
    jobs = SqlJobStore(database, clock)
    await jobs.create(a_job())
    lease = await jobs.acquire("one", 30)
    assert lease is not None
    return jobs, clock, lease


def thread(lease: Lease | None = None) -> RunnableConfig:
    configurable: dict[str, Any] = {"thread_id": "job-1", "checkpoint_ns": ""}
    return {"configurable": configurable | ({LEASE_KEY: lease} if lease else {})}


async def count(database: Database, table: Table) -> int:
    query = select(func.count()).select_from(table)
    return await database.read(lambda connection: connection.execute(query).scalar_one())


async def test_a_run_resumes_at_the_node_that_was_interrupted(database: Database) -> None:
    _, _, lease = await leased(database)
    trace = Trace(ran=[], fail_once="code")
    with pytest.raises(CrashError):
        await build(SqlCheckpointSaver(database, lease=lease), trace).ainvoke({}, thread(), durability="sync")
    reopened = Database(database.url.render_as_string(hide_password=False))
    state = await build(SqlCheckpointSaver(reopened, lease=lease), trace).ainvoke(None, thread(), durability="sync")
    await reopened.close()
    assert state == {"done": ["plan", "code", "judge"]}
    assert trace.ran == ["plan", "code", "code", "judge"]


async def test_only_the_newest_checkpoint_is_kept(database: Database) -> None:
    _, _, lease = await leased(database)
    await build(SqlCheckpointSaver(database), Trace(ran=[])).ainvoke({}, thread(lease), durability="sync")
    assert await count(database, checkpoints) == 1
    assert await count(database, checkpoint_writes) == 0


async def test_a_writer_whose_lease_was_taken_over_cannot_fork_the_thread(database: Database) -> None:
    jobs, clock, lease = await leased(database)
    saver = SqlCheckpointSaver(database, lease=lease)
    kept = await saver.aput(thread(), empty_checkpoint(), {"step": 1}, {})
    clock.advance(31)
    assert await jobs.acquire("two", 30) is not None
    with pytest.raises(LeaseLostError):
        await saver.aput(thread(), empty_checkpoint(), {"step": 2}, {})
    with pytest.raises(LeaseLostError):
        await saver.aput_writes(kept, [("done", ["forged"])], "task-1")
    found = await saver.aget_tuple(thread())
    assert found is not None
    assert (found.config, found.metadata.get("step"), found.pending_writes) == (kept, 1, [])


async def test_a_stale_graph_run_ends_with_the_lost_lease(database: Database) -> None:
    jobs, clock, lease = await leased(database)
    clock.advance(31)
    assert await jobs.acquire("two", 30) is not None
    trace = Trace(ran=[])
    with pytest.raises(LeaseLostError):
        await build(SqlCheckpointSaver(database), trace).ainvoke({}, thread(lease), durability="sync")
    assert await count(database, checkpoints) == 0


async def test_a_lease_is_good_for_its_own_thread_only(database: Database) -> None:
    _, _, lease = await leased(database)
    other: RunnableConfig = {"configurable": {"thread_id": "job-2", "checkpoint_ns": ""}}
    with pytest.raises(LeaseLostError):
        await SqlCheckpointSaver(database, lease=lease).aput(other, empty_checkpoint(), {}, {})


async def test_pending_writes_come_back_in_order_and_once(database: Database) -> None:
    saver = SqlCheckpointSaver(database)
    config = await saver.aput(thread(), empty_checkpoint(), {}, {})
    await saver.aput_writes(config, [("a", 1), ("b", {"x": [1, 2.5, None, "é"]})], "task-2", "~2")
    await saver.aput_writes(config, [("a", "other")], "task-2", "~2")
    await saver.aput_writes(config, [("__error__", "first")], "task-1", "~1")
    await saver.aput_writes(config, [("__error__", "second")], "task-1", "~1")
    found = await saver.aget_tuple(thread())
    assert found is not None
    assert found.pending_writes == [
        ("task-1", "__error__", "second"),
        ("task-2", "a", 1),
        ("task-2", "b", {"x": [1, 2.5, None, "é"]}),
    ]


async def test_writes_that_come_after_the_next_checkpoint_leave_nothing_behind(database: Database) -> None:
    saver = SqlCheckpointSaver(database)
    old = await saver.aput(thread(), empty_checkpoint(), {}, {})
    await saver.aput(thread(), empty_checkpoint(), {}, {})
    await saver.aput_writes(old, [("a", 1)], "task-1")
    assert await count(database, checkpoint_writes) == 0


async def test_a_deleted_thread_leaves_nothing(database: Database) -> None:
    saver = SqlCheckpointSaver(database)
    config = await saver.aput(thread(), empty_checkpoint(), {}, {})
    await saver.aput_writes(config, [("a", 1)], "task-1")
    await saver.adelete_thread("job-1")
    assert await saver.aget_tuple(thread()) is None
    assert (await count(database, checkpoints), await count(database, checkpoint_writes)) == (0, 0)


async def test_a_checkpoint_is_data_and_builds_no_foreign_object(database: Database) -> None:
    """Reading back a type that is not allowed gives its plain data; an allowed one is rebuilt."""
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"]["trace"] = Trace(ran=["plan"])
    await SqlCheckpointSaver(database).aput(thread(), checkpoint, {}, {})
    strict = await SqlCheckpointSaver(database).aget_tuple(thread())
    assert strict is not None
    assert not isinstance(strict.checkpoint["channel_values"]["trace"], Trace)
    allowing = SqlCheckpointSaver(database, allowed=[(Trace.__module__, "Trace")])
    loose = await allowing.aget_tuple(thread())
    assert loose is not None
    assert loose.checkpoint["channel_values"]["trace"] == Trace(ran=["plan"])
