"""Rounds of several candidates at the same time."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from agents.strategies.registry import STRATEGIES
from services.domain.candidates import candidate_id
from services.domain.chat import AgentRole, ChatRequest
from services.domain.evaluations import EvaluationReport, EvaluationRequest, Verdict
from services.domain.events import EventKind
from services.domain.jobs import Budget, Job, JobStatus
from services.domain.usage import Usage
from tests.doubles import FakeQueue, FrozenClock, ScriptedModel, a_job, a_report, agreeable_answers
from tests.unit.orchestrator.world import Fuse, KilledError, World

TTL_S = 15.0


def variant(request: EvaluationRequest) -> int:
    return int(request.source.split("VARIANT = ")[1])


def falling(request: EvaluationRequest) -> EvaluationReport:
    """Every variant a little faster than the one before."""
    return a_report(median_us=1000.0 * 0.9 ** variant(request))


def a_beam(width: int = 4, *, budget: Budget | None = None, strategy: str = "greedy", job_id: str = "job-1") -> Job:
    spec = replace(a_job(budget=budget or Budget(rounds=8)).spec, beam=width, strategy=strategy)
    return a_job(job_id, spec=spec)


async def test_a_beam_makes_its_candidates_at_the_same_time_from_the_same_knowledge() -> None:
    world = World(queue=FakeQueue(falling, latency_s=0.01))

    job = await world.run(a_beam(4))

    assert job.status in (JobStatus.SOLVED, JobStatus.NO_GAIN)
    assert job.message is not None
    assert job.message.endswith("all 8 rounds are used")
    steps = world.steps()
    assert [step.index for step in steps] == list(range(8))
    assert [step.start_point for step in steps[:4]] == [None] * 4
    assert [step.start_point for step in steps[4:]] == [candidate_id("job-1", step) for step in (3, 2, 1, 0)]
    assert job.best_candidate_id == candidate_id("job-1", 7)
    planner = world.model.asked(AgentRole.PLANNER)
    assert [len(request.facts.attempts) for request in planner] == [0] * 4 + [4] * 4
    assert sorted(request.facts.branch for request in planner[:4]) == [0, 1, 2, 3]
    kinds = [(event.kind, event.data.get("step")) for event in world.database.events["job-1"]]
    last_start = max(kinds.index((EventKind.EVALUATION_STARTED, step)) for step in range(4))
    first_end = min(kinds.index((EventKind.EVALUATION_FINISHED, step)) for step in range(4))
    assert last_start < first_end, "they are judged at the same time"


async def test_every_branch_is_rewarded_against_what_was_known_when_its_round_began() -> None:
    world = World(queue=FakeQueue(falling))

    await world.run(a_beam(2, budget=Budget(rounds=4)))

    first, second, third, fourth = (step.reward for step in world.steps())
    assert (first, second) == (1.0, 1.0), "both were drafts"
    assert third == pytest.approx(0.1, abs=0.01)
    assert fourth == pytest.approx(0.2, abs=0.02)


async def test_the_last_round_is_as_wide_as_the_budget_of_rounds_allows() -> None:
    world = World(queue=FakeQueue(falling))

    await world.run(a_beam(4, budget=Budget(rounds=6)))

    assert [step.index for step in world.steps()] == list(range(6))
    assert [request.facts.width for request in world.model.asked(AgentRole.PLANNER)] == [4, 4, 4, 4, 2, 2]


@pytest.mark.parametrize("tokens", [30_000, 60_000, 150_000, 400_000])
async def test_branches_never_pass_the_token_budget_together(tokens: int) -> None:
    usage = Usage(calls=1, input_tokens=3000, output_tokens=500)
    world = World(model=ScriptedModel(agreeable_answers, usage=usage, latency_s=0.001), queue=FakeQueue(falling))

    job = await world.run(a_beam(4, budget=Budget(rounds=40, tokens=tokens)))

    used = sum(step.usage.input_tokens + step.usage.output_tokens for step in world.steps())
    assert 0 < used <= tokens
    assert job.status in (JobStatus.SOLVED, JobStatus.NO_GAIN, JobStatus.UNSOLVED)


async def test_branches_never_pass_the_device_budget_together() -> None:
    world = World(queue=FakeQueue(lambda _request: a_report(seconds=20.0)))

    job = await world.run(a_beam(4, budget=Budget(rounds=40, device_s=130.0)), timeout_s=20.0)

    assert 4 <= len(world.queue.evaluated) <= 6
    assert job.status in (JobStatus.SOLVED, JobStatus.NO_GAIN)
    assert "device budget" in (job.message or "")


async def test_a_branch_without_ideas_narrows_the_beam_and_the_job_goes_on() -> None:
    def answers(request: ChatRequest) -> str:
        if request.role is AgentRole.PLANNER and request.facts.branch >= 2:
            return json.dumps({"hypothesis": "none", "unable": "nothing new from here"})
        return agreeable_answers(request)

    world = World(model=ScriptedModel(answers), queue=FakeQueue(falling))

    job = await world.run(a_beam(4, budget=Budget(rounds=8)))

    assert job.status in (JobStatus.SOLVED, JobStatus.NO_GAIN)
    assert [request.facts.width for request in world.model.asked(AgentRole.PLANNER)] == [4] * 4 + [2] * 4


async def test_a_failed_branch_leaves_the_others_alone() -> None:
    def answers(request: ChatRequest) -> str:
        if request.role is AgentRole.CODER and request.facts.step == 1:
            return "no code"
        return agreeable_answers(request)

    world = World(model=ScriptedModel(answers), queue=FakeQueue(falling))

    await world.run(a_beam(3, budget=Budget(rounds=3)))

    assert [step.verdict for step in world.steps()] == [Verdict.ACCEPTED, None, Verdict.ACCEPTED]
    assert "coder's reply could not be used" in (world.steps()[1].failure or "")


async def test_a_seed_candidate_is_judged_alone_before_the_beam_opens() -> None:
    spec = replace(a_job(budget=Budget(rounds=4)).spec, beam=3, seed_candidate="class ModelNew:\n    VARIANT = 0\n")
    world = World(queue=FakeQueue(falling))

    await world.run(a_job(spec=spec))

    assert [request.facts.width for request in world.model.asked(AgentRole.PLANNER)] == [3, 3, 3]
    assert [step.start_point for step in world.steps()] == [None, *[candidate_id("job-1", 0)] * 3]


@pytest.fixture(scope="module")
def clean() -> World:
    """What a beam comes to that nobody kills."""
    world = World(queue=FakeQueue(falling))
    asyncio.run(world.run(a_beam(3, budget=Budget(rounds=6))))
    return world


@pytest.mark.parametrize("operations", range(21, 260, 22))
async def test_a_beam_that_is_killed_is_taken_up_without_repeating_what_was_done(clean: World, operations: int) -> None:
    world = World(queue=FakeQueue(falling))
    await world.jobs.create(a_beam(3, budget=Budget(rounds=6)))

    try:
        await world.orchestrator(owner="first", fuse=Fuse(operations)).run_job("job-1")
    except KilledError:
        assert isinstance(world.clock, FrozenClock)
        world.clock.advance(TTL_S + 1)
        await world.orchestrator(owner="second").run_job("job-1")

    assert [step.index for step in world.steps()] == list(range(6))
    assert [step.start_point for step in world.steps()] == [step.start_point for step in clean.steps()]
    assert [step.reward for step in world.steps()] == [step.reward for step in clean.steps()]
    assert len(world.queue.evaluated) == 6, "no candidate is judged twice"
    assert len(world.model.requests) <= len(clean.model.requests) + 3, "at most the calls under way are made again"
    assert len(world.database.candidates) == 6


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("name", sorted(STRATEGIES))
async def test_every_strategy_takes_a_job_to_its_end(name: str, beam: int) -> None:
    def judge(request: EvaluationRequest) -> EvaluationReport:
        number = variant(request)
        return a_report(Verdict.REJECTED) if number % 3 == 1 else a_report(median_us=1000.0 * 0.95**number)

    world = World(queue=FakeQueue(judge))

    job = await world.run(a_beam(beam, budget=Budget(rounds=12), strategy=name))

    assert job.status in (JobStatus.SOLVED, JobStatus.NO_GAIN)
    assert len(world.steps()) == 12
    assert job.best_candidate_id == candidate_id("job-1", 11)
