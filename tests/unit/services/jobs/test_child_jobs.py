"""Jobs that share a budget: nobody passes it, and the parent waits for what is handed in."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.domain.errors import ConflictError
from services.domain.jobs import Budget, Job, JobSpec, JobStatus
from services.jobs.catalogue import Catalogue
from services.jobs.child_jobs import ChildJobService
from services.jobs.service import JobService
from tests.doubles import (
    FrozenClock,
    ScriptedModel,
    a_problem,
    agreeable_answers,
)
from tests.unit.orchestrator.world import World

KEPT_S = 10.0


def family(world: World) -> tuple[ChildJobService, JobService]:
    catalogue = Catalogue(
        backends=("cpp",),
        devices=("cpu",),
        backends_of={"cpu": ("cpp",)},
        strategies=("greedy",),
        models=("scripted",),
        resolve_model=lambda _name: ScriptedModel(agreeable_answers),
    )
    service = JobService(world.jobs, world.candidates, catalogue, world.clock)
    return ChildJobService(world.jobs, service, world.clock, kept_device_s=KEPT_S), service


def a_spec(budget: Budget) -> JobSpec:
    return JobSpec(problem=a_problem(), model="scripted", budget=budget)


async def opened(world: World, budget: Budget) -> tuple[ChildJobService, Job]:
    families, _ = family(world)
    return families, await families.open("local", a_spec(budget))


async def test_a_parent_waits_unclaimed_and_cannot_be_resumed_by_hand() -> None:
    world = World()
    families, service = family(world)
    parent = await families.open("local", a_spec(Budget(rounds=5)))
    assert (parent.status, parent.message, parent.awaits_parts) == (JobStatus.PAUSED, "waits for its parts", True)
    assert await world.jobs.acquire("one", 30) is None
    with pytest.raises(ConflictError, match="continues when they are done"):
        await service.resume("local", parent.id)


async def test_children_share_what_is_left_and_never_pass_the_parent_s_budget() -> None:
    world = World()
    budget = Budget(rounds=9, wall_s=100.0, tokens=1000, dollars=8.0, device_s=90.0)
    families, parent = await opened(world, budget)
    first = await families.add("local", parent.id, a_spec(Budget()), 2)
    second = await families.add("local", parent.id, a_spec(Budget()), 1)
    assert first is not None
    assert second is not None
    assert (first.parent_id, second.parent_id) == (parent.id, parent.id)
    assert first.spec.budget == Budget(rounds=4, wall_s=40.0, tokens=500, dollars=4.0, device_s=40.0)
    assert second.spec.budget == Budget(rounds=4, wall_s=80.0, tokens=500, dollars=4.0, device_s=40.0)
    assert await families.add("local", parent.id, a_spec(Budget()), 1) is None
    assert set(await world.jobs.children("local", parent.id)) == {first, second}


async def test_what_a_child_left_over_goes_to_the_next() -> None:
    world = World()
    families, parent = await opened(world, Budget(rounds=9))
    first = await families.add("local", parent.id, a_spec(Budget()), 2)
    assert first is not None
    assert first.spec.budget.rounds == 4
    world.database.jobs[first.id] = replace(first, status=JobStatus.SOLVED, steps_done=1)
    second = await families.add("local", parent.id, a_spec(Budget()), 1)
    assert second is not None
    assert second.spec.budget.rounds == 7


async def test_wall_time_runs_from_the_parent_s_beginning() -> None:
    world = World()
    families, parent = await opened(world, Budget(rounds=9, wall_s=100.0))
    assert isinstance(world.clock, FrozenClock)
    world.clock.advance(70)
    child = await families.add("local", parent.id, a_spec(Budget()), 1)
    assert child is not None
    assert child.spec.budget.wall_s == pytest.approx(10.0)
    world.clock.advance(20)
    assert await families.left(parent) is None


async def test_what_is_handed_in_is_judged_once_and_ends_the_parent() -> None:
    world = World()
    families, parent = await opened(world, Budget(rounds=9))
    await families.hand_in("local", parent.id, "class ModelNew: pass\n", ("linear",))
    job = await world.orchestrator().run_job(parent.id)
    assert (job.status, job.steps_done, job.message) == (JobStatus.SOLVED, 1, "the kernel was judged")
    (request,) = world.queue.evaluated
    assert request.problem.allow_library == ("linear",)
    assert request.source == "class ModelNew: pass\n"
    assert world.model.requests == []
    with pytest.raises(ConflictError, match="waits for no kernel"):
        await families.hand_in("local", parent.id, "class ModelNew: pass\n", ())


async def test_a_parent_without_results_ends_unsolved_with_the_reason() -> None:
    world = World()
    families, parent = await opened(world, Budget(rounds=9))
    job = await families.give_up(parent.id, "one", "no part got a kernel")
    assert (job.status, job.message) == (JobStatus.UNSOLVED, "no part got a kernel")
    with pytest.raises(ConflictError, match="takes no children"):
        await families.add("local", parent.id, a_spec(Budget()), 1)
