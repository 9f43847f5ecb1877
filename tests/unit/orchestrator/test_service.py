"""Cancel, pause, resume, wall time, leases and serving, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from orchestrator import PollingIntervals
from services.domain.errors import ConflictError, LeaseLostError
from services.domain.events import EventKind
from services.domain.jobs import Budget, JobStatus
from tests.doubles import FakeQueue, FrozenClock, LoopClock, ScriptedModel, a_job, agreeable_answers
from tests.unit.orchestrator.world import World

pytestmark = pytest.mark.virtual_time
LEASE_S = 30.0
LONG_S = 10 * LEASE_S
"""An evaluation that outlasts many leases."""


def slow_world(*, evaluation_s: float = 0.0, model_s: float = 0.0) -> World:
    return World(
        clock=LoopClock(),
        queue=FakeQueue(latency_s=evaluation_s),
        model=ScriptedModel(agreeable_answers, latency_s=model_s),
        polling=PollingIntervals(lease_ttl_s=LEASE_S, poll_s=1.0),
    )


async def until(condition: Callable[[], bool]) -> None:
    """Wait while virtual time passes, for at most an hour of it."""
    for _ in range(36_000):
        if condition():
            return
        await asyncio.sleep(0.1)
    raise AssertionError("it never came to that")


async def test_cancel_stops_a_running_evaluation() -> None:
    world = slow_world(evaluation_s=LONG_S)
    await world.jobs.create(a_job())
    running = asyncio.create_task(world.orchestrator().run_job("job-1"))
    await until(lambda: bool(world.queue.evaluated))

    await world.jobs.request("local", "job-1", "cancel")
    job = await running

    assert asyncio.get_running_loop().time() < LEASE_S, "it did not wait for the evaluation"
    assert job.status is JobStatus.CANCELLED
    assert job.message == "Cancelled by user"
    assert "job-1" in world.queue.cancelled
    assert world.log(EventKind.JOB_FINISHED)[0].data["status"] == "cancelled"


async def test_a_paused_job_stops_and_goes_on_from_where_it_was() -> None:
    world = slow_world(evaluation_s=LONG_S)
    await world.jobs.create(a_job(budget=Budget(rounds=1)))
    running = asyncio.create_task(world.orchestrator().run_job("job-1"))
    await until(lambda: bool(world.queue.evaluated))

    await world.jobs.request("local", "job-1", "pause")
    await until(lambda: world.database.jobs["job-1"].status is JobStatus.PAUSED)
    asked = len(world.model.requests)
    await asyncio.sleep(2 * LONG_S)
    assert world.database.jobs["job-1"].status is JobStatus.PAUSED
    await world.jobs.request("local", "job-1", "resume")
    job = await running

    assert job.status is JobStatus.SOLVED
    assert asked == 2
    assert len(world.model.requests) == 4, "planner and coder were not asked again"
    assert len(world.steps()) == 1


async def test_a_paused_job_can_be_cancelled() -> None:
    world = slow_world(evaluation_s=LONG_S)
    await world.jobs.create(a_job())
    running = asyncio.create_task(world.orchestrator().run_job("job-1"))
    await until(lambda: bool(world.queue.evaluated))
    await world.jobs.request("local", "job-1", "pause")
    await until(lambda: world.database.jobs["job-1"].status is JobStatus.PAUSED)

    await world.jobs.request("local", "job-1", "cancel")

    assert (await running).status is JobStatus.CANCELLED


async def test_the_wall_budget_ends_a_job_in_the_middle_of_a_step() -> None:
    world = slow_world(evaluation_s=LONG_S)
    job = await world.run(a_job(budget=Budget(rounds=5, wall_s=90.0)))

    assert 90.0 <= asyncio.get_running_loop().time() < 90.0 + LEASE_S
    assert job.status is JobStatus.UNSOLVED
    assert job.message == "the wall budget of 90 s is used up"


async def test_a_heartbeat_keeps_the_lease_of_a_long_job() -> None:
    world = slow_world(evaluation_s=LONG_S)
    await world.jobs.create(a_job(budget=Budget(rounds=1)))
    running = asyncio.create_task(world.orchestrator().run_job("job-1"))
    await until(lambda: bool(world.queue.evaluated))
    await asyncio.sleep(2 * LEASE_S)

    assert await world.jobs.acquire("thief", 1.0, "job-1") is None
    assert (await running).status is JobStatus.SOLVED


async def test_two_orchestrators_never_run_one_job_at_once() -> None:
    world = slow_world(evaluation_s=LONG_S)
    await world.jobs.create(a_job(budget=Budget(rounds=1)))
    first = asyncio.create_task(world.orchestrator(owner="first").run_job("job-1"))
    await until(lambda: bool(world.queue.evaluated))

    with pytest.raises(ConflictError, match="run by another orchestrator"):
        await world.orchestrator(owner="second").run_job("job-1")

    assert (await first).status is JobStatus.SOLVED
    assert len(world.queue.evaluated) == 1
    assert len(world.model.requests) == 4


async def test_an_orchestrator_that_lost_its_lease_writes_nothing_more() -> None:
    clock = FrozenClock()
    world = World(clock=clock, queue=FakeQueue(latency_s=0.2))
    await world.jobs.create(a_job(budget=Budget(rounds=1)))
    first = asyncio.create_task(world.orchestrator(owner="first").run_job("job-1"))
    await until(lambda: bool(world.queue.evaluated))
    clock.advance(60.0)  # as if this process had been asleep
    assert await world.jobs.acquire("second", 10.0, "job-1") is not None
    written = len(world.database.events["job-1"])

    with pytest.raises(LeaseLostError):
        await first

    assert world.steps() == []
    assert len(world.database.events["job-1"]) == written
    assert world.database.jobs["job-1"].status is JobStatus.RUNNING
    assert world.queue.cancelled == [], "what runs may serve the new holder"
    assert world.database.held("job-1")


async def test_an_interrupted_caller_gives_the_job_back_for_later() -> None:
    world = slow_world(evaluation_s=LONG_S)
    await world.jobs.create(a_job(budget=Budget(rounds=1)))
    running = asyncio.create_task(world.orchestrator().run_job("job-1"))
    await until(lambda: bool(world.queue.evaluated))

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert world.queue.cancelled == ["job-1"]
    assert not world.database.held("job-1")
    job = await world.orchestrator(owner="later").run_job("job-1")
    assert job.status is JobStatus.SOLVED
    assert len(world.model.requests) == 4


async def test_serve_runs_what_is_queued_and_lets_go_when_told() -> None:
    world = slow_world(model_s=0.01)
    for number in range(5):
        await world.jobs.create(a_job(f"job-{number}", budget=Budget(rounds=1)))
    stop = asyncio.Event()
    serving = asyncio.create_task(world.orchestrator().serve(stop, concurrency=3))

    await until(lambda: all(job.status is JobStatus.SOLVED for job in world.database.jobs.values()))
    stop.set()
    await serving

    assert sorted(world.database.steps) == [f"job-{number}" for number in range(5)]
    assert not any(world.database.held(job) for job in world.database.jobs)


async def test_serve_leaves_a_running_job_to_be_resumed() -> None:
    world = slow_world(evaluation_s=LONG_S)
    await world.jobs.create(a_job(budget=Budget(rounds=1)))
    stop = asyncio.Event()
    serving = asyncio.create_task(world.orchestrator().serve(stop))
    await until(lambda: bool(world.queue.evaluated))
    stop.set()
    await serving

    assert world.database.jobs["job-1"].status is JobStatus.RUNNING
    job = await world.orchestrator(owner="later").run_job("job-1")
    assert job.status is JobStatus.SOLVED
    assert len(world.model.requests) == 4
