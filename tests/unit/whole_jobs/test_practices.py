"""What a job teaches at its end: practices whose evidence we look up ourselves, at no risk for the job."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from services.domain.candidates import candidate_id
from services.domain.chat import AgentRole, ChatRequest
from services.domain.errors import ModelError
from services.domain.events import EventKind
from services.domain.experiences import Experience
from services.domain.jobs import Budget, Job, JobStatus
from services.domain.usage import Usage
from tests.doubles import FakeQueue, ScriptedModel, a_job, a_report, agreeable_answers
from tests.doubles.models import Answer
from tests.unit.orchestrator.world import Fuse, KilledError, World

FIRST, SECOND, THIRD = (candidate_id("job-1", step) for step in range(3))
MEDIANS = [400.0, 200.0, 202.0]
"""The second is surely faster than the first; the third is not surely slower than the second."""


class PricedModel(ScriptedModel):
    """Costs something, as chat models do."""

    def ceiling(self, request: ChatRequest) -> Usage:
        return Usage(calls=1, input_tokens=200, output_tokens=request.max_output_tokens)


def practice(
    faster: str = SECOND, slower: str = FIRST, statement: str = "Share rows among threads"
) -> dict[str, object]:
    evidence = [{"faster": faster, "slower": slower}]
    return {"statement": statement, "applies": "rows are independent", "evidence": evidence}


def proposing(*practices: dict[str, object], say: Callable[[], Answer] | None = None) -> PricedModel:
    """A model that proposes these practices at the job's end, or says something else."""

    def answer(request: ChatRequest) -> Answer:
        if request.schema_name == "InspectionReply":
            return json.dumps({"cheating": False})
        if request.schema_name == "PracticesReply":
            return say() if say is not None else json.dumps({"practices": practices})
        return agreeable_answers(request)

    return PricedModel(answer)


def a_world(model: ScriptedModel, *, on: bool = True, medians: list[float] = MEDIANS) -> World:
    return World(
        model=model, queue=FakeQueue([a_report(median_us=one, eager_us=800.0) for one in medians]), practices=on
    )


def a_three_round_job(**budget: int) -> Job:
    return a_job(budget=Budget(rounds=3, **budget))


def learned(world: World) -> list[Experience]:
    return [item for item in world.database.experiences.values() if item.is_learned_practice]


def asked(world: World) -> list[ChatRequest]:
    return [request for request in world.model.requests if request.schema_name == "PracticesReply"]


def told(world: World) -> str:
    events = [event for event in world.log(EventKind.AGENT_FINISHED) if event.data["agent"] == "practices"]
    return str(events[-1].data["summary"])


async def test_a_practice_whose_evidence_holds_enters_memory_with_its_figures() -> None:
    world = a_world(proposing(practice()))

    job = await world.run(a_three_round_job())

    (kept,) = learned(world)
    assert job.status is JobStatus.SOLVED
    assert kept.title == "Share rows among threads"
    assert kept.text.startswith(
        f"Applies when: rows are independent\nEvidence: {SECOND} is 2.00× (1.92 to 2.09) as fast as {FIRST}; on cpu, "
    )
    assert (kept.family, kept.backend, kept.job_id) == ("pointwise", "cpp", "job-1")
    assert len(kept.used) == 2
    assert set(kept.used) <= set(world.database.experiences), "its provenance leads to both traces"


async def test_the_judge_reads_the_contrasts_that_held_and_nothing_else() -> None:
    world = a_world(proposing())

    await world.run(a_three_round_job())

    (request,) = asked(world)
    prompt = request.messages[-1].content
    assert request.role is AgentRole.JUDGE
    assert f"{SECOND} is 2.00× (1.92 to 2.09) as fast as {FIRST}" in prompt
    assert "VARIANT = 1" in prompt, "what changed in the code"
    assert THIRD not in prompt, "within noise of its parent"
    assert told(world) == "no practice"


@pytest.mark.parametrize(
    ("proposal", "why"),
    [
        (practice(faster="cand-of-another-job"), "cand-of-another-job is no accepted candidate of this job"),
        (practice(faster=FIRST, slower=SECOND), f"{FIRST} is not surely faster than {SECOND}"),
        (practice(faster=SECOND, slower=THIRD), "their interval holds 1"),
        ({**practice(), "evidence": []}, "names no pair of candidates"),
        ({**practice(), "evidence": [{"faster": "", "slower": FIRST}]}, "an empty id is no accepted candidate"),
    ],
)
async def test_what_the_measurements_do_not_show_is_refused_with_the_reason(
    proposal: dict[str, object], why: str
) -> None:
    world = a_world(proposing(proposal))

    job = await world.run(a_three_round_job())

    assert learned(world) == []
    assert why in told(world)
    assert job.status is JobStatus.SOLVED


async def test_a_job_leaves_two_practices_at_most() -> None:
    proposals = [practice(statement=f"Practice {number}") for number in range(4)]
    world = a_world(proposing(practice(faster=THIRD, slower=SECOND), *proposals))

    await world.run(a_three_round_job())

    assert [item.title for item in learned(world)] == ["Practice 0", "Practice 1"]


async def test_nobody_is_asked_where_it_is_switched_off_no_chat_model_works_or_nothing_differed() -> None:
    off = a_world(proposing(practice()), on=False)
    offline = a_world(ScriptedModel(agreeable_answers))
    alike = a_world(proposing(practice()), medians=[200.0, 201.0, 202.0])

    for world in (off, offline, alike):
        await world.run(a_three_round_job())
        assert asked(world) == []
        assert learned(world) == []


@pytest.mark.parametrize("answer", [ModelError("down", retryable=True), "no JSON at all", '{"practices": 7}'])
async def test_a_failing_answer_never_harms_the_job_and_is_asked_once(answer: Answer) -> None:
    world = a_world(proposing(say=lambda: answer))

    job = await world.run(a_three_round_job())

    assert job.status is JobStatus.SOLVED
    assert len(asked(world)) == 1
    assert learned(world) == []


async def test_the_call_is_counted_to_the_job_and_needs_room_in_its_budget() -> None:
    world = a_world(proposing(practice()))
    await world.run(a_three_round_job())
    rounds = sum(step.usage.tokens for step in world.steps())
    (kept,) = (await world.jobs.kept_calls("local", "job-1"))[3]
    assert kept.usage.tokens == 150
    assert kept.role is AgentRole.JUDGE

    poor = a_world(proposing(practice()))
    job = await poor.run(a_three_round_job(tokens=rounds + 8192 + 200 - 1))
    assert len(poor.steps()) == 3
    assert job.status is JobStatus.SOLVED
    assert sum(step.usage.tokens for step in poor.steps()) <= rounds + 8391


async def test_a_job_that_may_spend_no_more_ends_without_the_question() -> None:
    world = a_world(proposing(practice()))
    job = await world.run(a_three_round_job(tokens=2700))

    assert asked(world) == []
    assert job.status is not JobStatus.FAILED


async def test_a_killed_orchestrator_leaves_one_practice() -> None:
    learned_before = set()
    for operations in range(
        271, 297, 4
    ):  # those of the job's end; an odd one has had its effect, and nobody learned of it
        world = a_world(proposing(practice()))
        await world.jobs.create(a_three_round_job())
        with pytest.raises(KilledError):
            await world.orchestrator(fuse=Fuse(operations)).run_job("job-1")
        learned_before.add(len(learned(world)))
        await world.orchestrator(owner="two", gone=("one",)).run_job("job-1")
        assert len(learned(world)) == 1, operations
    assert learned_before == {0, 1}, "it was killed before it learned and after"


async def test_a_later_job_recalls_it_and_a_held_out_step_does_not() -> None:
    world = a_world(proposing(practice()), medians=[*MEDIANS, 190.0, 180.0, 170.0])
    await world.run(a_three_round_job())
    (kept,) = learned(world)

    await world.run(a_job("job-2", budget=Budget(rounds=2)))
    assert kept.id in world.steps("job-2")[1].experiences_used, "the first round measured what job-1 had proved"

    held_out = replace(world, holdout_share=1.0)
    held_out.database = world.database
    for name in ("jobs", "candidates", "events", "memory", "artefacts"):
        setattr(held_out, name, getattr(world, name))
    await held_out.run(a_job("job-3", budget=Budget(rounds=1)))
    assert kept.id not in world.steps("job-3")[0].experiences_used
