"""A device budget that permits no evaluation is refused when a job is submitted, not found out when it has ended."""

from __future__ import annotations

import pytest

from services.domain.errors import ConfigurationError
from services.domain.jobs import Budget, JobSpec
from services.jobs.catalogue import Catalogue
from services.jobs.service import JobService
from tests.doubles import ScriptedModel, a_problem, agreeable_answers
from tests.unit.orchestrator.world import World

EVALUATION_S = 120.0


def a_service(world: World) -> JobService:
    catalogue = Catalogue(
        backends=("cpp",),
        devices=("cpu",),
        backends_of={"cpu": ("cpp",)},
        strategies=("greedy",),
        models=("scripted",),
        resolve_model=lambda _name: ScriptedModel(agreeable_answers),
    )
    return JobService(world.jobs, world.candidates, catalogue, world.clock, evaluation_timeout_s=EVALUATION_S)


def a_spec(device_s: float | None) -> JobSpec:
    return JobSpec(problem=a_problem(), model="scripted", budget=Budget(device_s=device_s))


async def test_less_than_one_evaluation_may_take_is_refused_with_what_to_give() -> None:
    world = World()
    with pytest.raises(ConfigurationError, match=r"30 s permits no evaluation.*give at least 120 s"):
        await a_service(world).submit("local", a_spec(30.0))
    assert (await world.jobs.list("local")).jobs == ()


@pytest.mark.parametrize("device_s", [None, EVALUATION_S])
async def test_no_limit_and_room_for_one_evaluation_are_accepted(device_s: float | None) -> None:
    job, is_new = await a_service(World()).submit("local", a_spec(device_s))
    assert is_new
    assert job.spec.budget.device_s == device_s
