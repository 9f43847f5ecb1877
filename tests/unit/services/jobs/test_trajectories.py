"""Training data: which steps count, and what the three forms hold."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from services.domain.candidates import candidate_id
from services.domain.chat import AgentRole, ChatRequest
from services.domain.errors import NotFoundError
from services.domain.evaluations import Verdict
from services.domain.gates import GateName
from services.domain.jobs import Budget, TrainingFormat
from services.jobs.catalogue import Catalogue
from services.jobs.service import JobService
from services.jobs.trajectories import TrajectoryService
from tests.doubles import (
    FakeQueue,
    InMemoryMemoryRecords,
    ScriptedModel,
    a_job,
    a_report,
    agreeable_answers,
)
from tests.doubles.models import Answer
from tests.unit.orchestrator.world import World

CATALOGUE = Catalogue(backends=(), devices=(), strategies=(), models=(), resolve_model=lambda name: name)
SECRET = "sk-abcdefghijklmnopqrstuvwxyz0123456789"


def telling(request: ChatRequest) -> Answer:
    """A Coder that writes a secret into its summary."""
    reply = agreeable_answers(request)
    if request.role is not AgentRole.CODER:
        return reply
    return json.dumps({**json.loads(str(reply)), "summary": f"with api_key={SECRET}"})


async def a_solved_world() -> World:
    """Rejected, accepted at 100 µs, accepted at 50 µs."""
    rejected = a_report(Verdict.REJECTED, failed_gate=GateName.CORRECTNESS, detail="off by one")
    queue = FakeQueue([rejected, a_report(median_us=100.0), a_report(median_us=50.0)])
    world = World(model=ScriptedModel(telling), queue=queue)
    await world.run(a_job(budget=Budget(rounds=3)))
    return world


async def a_world_of_two_refinements() -> World:
    """100 µs, and from there 120 µs and 50 µs."""
    reports = [a_report(median_us=median_us) for median_us in (100.0, 120.0, 50.0)]
    world = World(model=ScriptedModel(telling), queue=FakeQueue(reports))
    await world.run(a_job(budget=Budget(rounds=3)))
    return world


async def lines(world: World, form: TrainingFormat, **wanted: Any) -> list[dict[str, Any]]:
    jobs = JobService(world.jobs, world.candidates, CATALOGUE, world.clock)
    records = InMemoryMemoryRecords(world.database)
    found = await TrajectoryService(jobs, records).export("local", form, **wanted)
    return [json.loads(line) async for line in found]


async def test_rl_lines_hold_every_call_with_the_reward_of_its_step() -> None:
    (line,) = await lines(await a_solved_world(), TrainingFormat.RL)
    rewards = {turn["step"]: turn["reward"] for turn in line["turns"]}
    assert rewards[0] == -1
    assert rewards[1] == 1
    assert 0 < rewards[2] < 1
    assert {turn["role"] for turn in line["turns"]} >= {"planner", "coder", "judge"}
    assert all(turn["messages"] and turn["reply"] for turn in line["turns"])


async def test_sft_lines_train_only_on_what_was_accepted_and_say_the_system_prompt_once() -> None:
    (line,) = await lines(await a_solved_world(), TrainingFormat.SFT)
    said = [message for message in line["messages"] if message["role"] == "assistant"]
    assert said[-1]["verdict"] == "accepted"
    assert all(message["train"] == (message["verdict"] == "accepted") for message in said)
    assert [message["role"] for message in line["messages"]].count("system") == 1
    assert line["median_us"] == 50


async def test_preferences_choose_the_faster_or_the_accepted() -> None:
    (pair,) = await lines(await a_world_of_two_refinements(), TrainingFormat.PREFERENCES)
    assert (pair["chosen"]["median_us"], pair["rejected"]["median_us"]) == (50, 120)
    assert pair["chosen"]["reward"] > 0 > pair["rejected"]["reward"]


async def test_from_a_refuted_kernel_on_the_job_is_left_out() -> None:
    world = await a_solved_world()
    refuted = candidate_id("job-1", 1)
    evaluation = world.database.evaluation_of[refuted]
    world.database.reports[evaluation] = a_report(Verdict.REJECTED, failed_gate=GateName.INTEGRITY)
    (line,) = await lines(world, TrainingFormat.RL)
    assert {turn["step"] for turn in line["turns"]} == {0}
    assert await lines(world, TrainingFormat.SFT) == []


async def test_what_was_retracted_from_memory_is_left_out() -> None:
    world = await a_solved_world()
    records = InMemoryMemoryRecords(world.database)
    assert await records.retract("local", candidate_id("job-1", 2), "a cheat", "test")
    (line,) = await lines(world, TrainingFormat.RL)
    assert {turn["step"] for turn in line["turns"]} == {0, 1}
    assert await lines(world, TrainingFormat.SFT) == []


async def test_steps_that_quote_another_teams_memory_are_left_out() -> None:
    world = await a_solved_world()
    steps = world.database.steps["job-1"]
    foreign = next(iter(world.database.experiences.values()))
    world.database.experiences["exp-foreign"] = replace(foreign, id="exp-foreign", team_id="rivals")
    steps[1] = replace(steps[1], experiences_used=("exp-foreign",))
    (line,) = await lines(world, TrainingFormat.RL)
    assert 1 not in {turn["step"] for turn in line["turns"]}


async def test_what_looks_like_a_secret_is_cut_out() -> None:
    world = await a_world_of_two_refinements()
    for form in TrainingFormat:
        text = json.dumps(await lines(world, form))
        assert SECRET not in text
        assert "looks like a secret" in text


async def test_another_teams_job_is_not_found() -> None:
    world = World()
    await world.jobs.create(a_job("job-2", team_id="rivals"))
    with pytest.raises(NotFoundError):
        await lines(world, TrainingFormat.RL, job_id="job-2")
    assert await lines(world, TrainingFormat.RL) == []
