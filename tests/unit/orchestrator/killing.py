"""Killing an orchestrator after a number of operations, and what must be true when another one has gone on."""

from __future__ import annotations

from collections import Counter

from services.domain.evaluations import Verdict
from services.domain.events import Event, EventKind
from services.domain.jobs import Budget, JobStatus
from tests.doubles import FakeQueue, FrozenClock, a_job, a_report
from tests.unit.orchestrator.world import Fuse, KilledError, World

CLEAN_CALLS = 7
"""Two steps: planner, coder, judge for the rejected one; planner, coder, profiler, judge for the accepted one."""
TTL_S = 15.0


def a_world() -> World:
    return World(clock=FrozenClock(), queue=FakeQueue([a_report(Verdict.REJECTED), a_report(median_us=90.0)]))


async def killed_after(operations: int) -> tuple[World, bool]:
    """A job whose first orchestrator dies after so many operations; whether it did."""
    world = a_world()
    await world.jobs.create(a_job(budget=Budget(rounds=2)))
    try:
        await world.orchestrator(owner="first", fuse=Fuse(operations)).run_job("job-1")
    except KilledError:
        return world, True
    return world, False


async def resume(world: World) -> None:
    assert isinstance(world.clock, FrozenClock)
    world.clock.advance(TTL_S + 1)
    await world.orchestrator(owner="second").run_job("job-1")


def marks(events: list[Event]) -> Counter[tuple[str, object, object]]:
    return Counter(
        (event.kind.value, event.data.get("step"), event.data.get("agent"))
        for event in events
        if event.kind is not EventKind.JOB_STATUS
    )


async def sweep(first: int, stride: int) -> None:
    """Kill a job after `first` operations and every `stride` more, each time in a world of its own."""
    clean = a_world()
    await clean.run(a_job(budget=Budget(rounds=2)))
    assert len(clean.model.requests) == CLEAN_CALLS

    # An odd number: the operation has had its effect and its caller never learns of it. What is stored is then the
    # same as before the next operation, so even numbers would only repeat this.
    assert first % 2 == 1
    assert stride % 2 == 0
    operations, killed = first, True
    while killed:
        world, killed = await killed_after(operations)
        await resume(world)
        await _check(world, clean, f"killed after {operations} operations")
        operations += stride
    assert operations > 100, "the job has more operations than that, else the fuse is not in them"


async def _check(world: World, clean: World, where: str) -> None:
    job = await world.jobs.get("local", "job-1")
    assert job.status is JobStatus.SOLVED, where
    assert [step.index for step in world.steps()] == [0, 1], where
    assert [step.verdict for step in world.steps()] == [Verdict.REJECTED, Verdict.ACCEPTED], where
    assert [len(step.calls) for step in world.steps()] == [3, 4], where
    assert len(world.model.requests) <= CLEAN_CALLS + 1, where
    assert len(world.queue.evaluated) == 2, where
    assert len(world.database.candidates) == 2, where
    assert len(world.database.experiences) == 2, where
    assert marks(world.database.events["job-1"]) == marks(clean.database.events["job-1"]), where
