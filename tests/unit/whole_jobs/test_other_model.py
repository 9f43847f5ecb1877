"""A model that cannot be used: one clear message on the job, which goes on with another model."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.adapters.llm.manual import ManualModel
from services.domain.chat import AgentRole, ChatRequest
from services.domain.errors import ConflictError, ModelError
from services.domain.events import EventKind
from services.domain.jobs import Budget, JobStatus
from tests.doubles import FrozenClock, InMemoryRequestStore, ScriptedModel, a_job, agreeable_answers
from tests.doubles.models import Answer
from tests.unit.orchestrator.world import World


async def test_a_failed_call_fails_the_job_and_another_model_goes_on_from_there() -> None:
    def no_coder(request: ChatRequest) -> Answer:
        if request.role is AgentRole.CODER:
            return ModelError("openai refused the key: set another api_key", retryable=False)
        return agreeable_answers(request)

    world = World(model=ScriptedModel(no_coder))
    job = await world.run(a_job(budget=Budget(rounds=1)))
    assert job.status is JobStatus.FAILED
    assert job.message is not None
    assert "set another api_key" in job.message
    assert "kernelwright run --resume job-1 --model NAME" in job.message

    world.model = ScriptedModel(agreeable_answers, name="other")
    await world.jobs.reopen("local", "job-1", model="other", rounds=1)
    job = await world.orchestrator(owner="two").run_job("job-1")
    assert job.status is JobStatus.SOLVED
    assert job.message is None or "key" not in job.message
    assert not world.model.asked(AgentRole.PLANNER), "the plan was made before and is not asked for again"
    assert [event.data["status"] for event in world.log(EventKind.JOB_FINISHED)] == ["failed", "solved"]


async def test_a_model_that_only_writes_prose_is_given_up_after_three_rounds() -> None:
    world = World(model=ScriptedModel(lambda _request: "Certainly! Here is what I think about kernels."))
    job = await world.run(a_job(budget=Budget(rounds=10)))
    assert job.status is JobStatus.FAILED
    assert job.steps_done == 3
    assert job.message is not None
    assert "'scripted' gave no usable answer in 3 rounds" in job.message
    assert "--resume job-1" in job.message

    world.model = ScriptedModel(agreeable_answers, name="other")
    await world.jobs.reopen("local", "job-1", model="other", rounds=4)
    assert (await world.orchestrator(owner="two").run_job("job-1")).status is JobStatus.SOLVED


async def test_one_usable_answer_between_keeps_the_job_going() -> None:
    def sometimes(request: ChatRequest) -> Answer:
        return agreeable_answers(request) if request.facts.step % 3 == 2 else "prose"

    world = World(model=ScriptedModel(sometimes))
    job = await world.run(a_job(budget=Budget(rounds=7)))
    assert job.status is JobStatus.SOLVED
    assert job.steps_done == 7


async def test_a_job_with_a_result_is_not_reopened() -> None:
    world = World()
    await world.run(a_job(budget=Budget(rounds=1)))
    with pytest.raises(ConflictError, match="it has its result"):
        await world.jobs.reopen("local", "job-1", model="scripted", rounds=5)


async def test_a_manual_request_that_nobody_answers_ends_with_what_to_do() -> None:
    clock = FrozenClock()
    world = World(clock=clock)
    await world.jobs.create(a_job())
    probe = World()
    await probe.run(a_job(budget=Budget(rounds=1)))
    asked = probe.model.requests
    model = ManualModel(InMemoryRequestStore(world.database), clock, timeout_s=0.0)
    with pytest.raises(ModelError, match=r"nobody answered request req-.*KERNELWRIGHT_MANUAL_TIMEOUT_S") as caught:
        await model.complete(replace(asked[0], key="job-1/0/planner/0"))
    assert not caught.value.retryable
