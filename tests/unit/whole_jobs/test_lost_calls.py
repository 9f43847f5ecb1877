"""Calls that come to no answer cost all the same: the step they were made in is charged, whoever ends it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from agents.workflow.model_call import INTERRUPTED
from orchestrator import PollingIntervals
from services.domain.chat import AgentRole, ChatReply, ChatRequest
from services.domain.errors import ModelError
from services.domain.jobs import Budget, JobStatus
from services.domain.usage import Usage
from services.ports.models import MeteredChatModel
from tests.doubles import FakeQueue, LoopClock, ScriptedModel, a_job, agreeable_answers
from tests.doubles.models import Answer
from tests.unit.orchestrator.test_service import until
from tests.unit.orchestrator.world import World

LOST = Usage(calls=1, input_tokens=600, output_tokens=8_192)


class Metered(ScriptedModel, MeteredChatModel):
    """A scripted model that costs something."""

    def ceiling(self, request: ChatRequest) -> Usage:
        return Usage(calls=1, input_tokens=1_000, output_tokens=request.max_output_tokens)


def a_coder_that_is_down(request: ChatRequest) -> Answer:
    if request.role is AgentRole.CODER:
        used = replace(LOST, output_tokens=request.max_output_tokens)
        return ModelError("the reply broke off: try again later", usage=used)
    return agreeable_answers(request)


async def fails(world: World, budget: Budget) -> str:
    job = await world.run(a_job(budget=budget))
    assert job.status is JobStatus.FAILED
    return str(job.message)


async def goes_on(world: World, model: ScriptedModel) -> JobStatus:
    world.model = model
    await world.jobs.reopen("local", "job-1", model=model.name, rounds=1)
    return (await world.orchestrator(owner="another").run_job("job-1")).status


async def test_what_a_failed_call_has_used_is_in_the_step_that_goes_on_elsewhere() -> None:
    world = World(model=ScriptedModel(a_coder_that_is_down))
    assert "broke off" in await fails(world, Budget(rounds=1))
    assert world.steps() == []

    assert await goes_on(world, ScriptedModel(agreeable_answers, name="other")) is JobStatus.SOLVED
    (step,) = world.steps()
    roles = [(call.role.value, call.error is None) for call in step.calls]
    assert roles == [
        *[("planner", True), ("coder", False), ("coder", True)],
        *[("profiler", True), ("judge", True)],
    ]
    lost = step.calls[1]
    assert lost.usage == LOST + LOST + LOST, "three attempts, each lost"
    assert (lost.reply, lost.error) == ("", "the reply broke off: try again later")
    assert step.usage == Usage(calls=4, input_tokens=400, output_tokens=200) + lost.usage
    assert await world.jobs.kept_calls("local", "job-1") == {}, "they are the step's now"


async def test_a_job_that_failed_and_goes_on_does_not_pass_its_budget() -> None:
    world = World(model=Metered(a_coder_that_is_down))
    await fails(world, Budget(rounds=1, tokens=40_000))
    tries = 1
    while await goes_on(world, Metered(a_coder_that_is_down)) is JobStatus.FAILED:
        tries += 1
        assert tries < 5, "the budget stops it"
    (step,) = world.steps()
    assert "the token budget of 40000 could be passed" in str(step.failure)
    assert step.usage.input_tokens + step.usage.output_tokens <= 40_000
    assert step.usage.calls >= 4, "the lost ones count"


async def test_a_budget_that_ends_between_two_attempts_charges_the_first() -> None:
    world = World(model=Metered(a_coder_that_is_down))
    job = await world.run(a_job(budget=Budget(rounds=1, tokens=10_000)))
    assert job.status is JobStatus.UNSOLVED, job.message
    (step,) = world.steps()
    assert "could be passed" in str(step.failure)
    assert step.calls[-1].usage == LOST


@pytest.mark.virtual_time
async def test_a_call_that_a_pause_interrupts_is_charged_with_the_most_it_can_have_cost() -> None:
    world = World(
        clock=LoopClock(),
        queue=FakeQueue(),
        model=Metered(agreeable_answers, latency_s=60.0),
        polling=PollingIntervals(lease_ttl_s=30.0, poll_s=1.0),
    )
    await world.jobs.create(a_job(budget=Budget(rounds=1)))
    running = asyncio.create_task(world.orchestrator().run_job("job-1"))
    await until(lambda: bool(world.model.requests))
    await world.jobs.request("local", "job-1", "pause")
    await until(lambda: world.database.jobs["job-1"].status is JobStatus.PAUSED)
    await world.jobs.request("local", "job-1", "resume")
    await running

    (step,) = world.steps()
    first, second = step.calls[:2]
    assert (first.role, first.error, first.usage) == (
        AgentRole.PLANNER,
        INTERRUPTED,
        Usage(calls=1, input_tokens=1_000, output_tokens=world.model.requests[0].max_output_tokens),
    )
    assert (second.role, second.error) == (AgentRole.PLANNER, None)


async def test_what_was_answered_in_the_step_where_a_job_fails_is_counted_once() -> None:
    world = World(model=ScriptedModel(a_coder_that_is_down))
    await fails(world, Budget(rounds=1))
    kept = (await world.jobs.kept_calls("local", "job-1"))[0]
    assert [(call.role, call.error is None) for call in kept] == [(AgentRole.CODER, False), (AgentRole.PLANNER, True)]

    await goes_on(world, ScriptedModel(a_coder_that_is_down, name="other"))
    kept = (await world.jobs.kept_calls("local", "job-1"))[0]
    assert [call.role for call in kept] == [AgentRole.CODER, AgentRole.PLANNER, AgentRole.CODER]
    assert await goes_on(world, ScriptedModel(agreeable_answers, name="third")) is JobStatus.SOLVED
    (step,) = world.steps()
    assert [call.role for call in step.calls].count(AgentRole.PLANNER) == 1
    assert step.usage == Usage(calls=4, input_tokens=400, output_tokens=200) + sum([LOST] * 6, Usage())


async def test_a_model_that_costs_nothing_leaves_no_trace_of_its_failures() -> None:
    class Down(ScriptedModel):
        async def complete(self, request: ChatRequest) -> ChatReply:
            raise ModelError("nobody answered", retryable=False)

    world = World(model=Down([]))
    await fails(world, Budget(rounds=1))
    assert await world.jobs.kept_calls("local", "job-1") == {}
