"""How many calls of a model a round makes, and what none of them costs the job."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import pytest

from agents.strategies.registry import STRATEGIES
from services.domain.candidates import candidate_id
from services.domain.chat import AgentRole, ChatRequest
from services.domain.evaluations import Verdict
from services.domain.gates import GateName
from services.domain.jobs import AgentsMode, Budget, Job, JobStatus
from services.domain.profiles import Profile
from services.domain.usage import Usage
from tests.doubles import FakeQueue, ScriptedModel, a_job, a_report, agreeable_answers
from tests.unit.orchestrator.world import World

FALLING = [a_report(median_us=400.0 - 40 * step) for step in range(4)]


class PricedModel(ScriptedModel):
    """Costs something, so that second opinions are asked for."""

    def ceiling(self, request: ChatRequest) -> Usage:
        return Usage(calls=1, input_tokens=200, output_tokens=request.max_output_tokens)


def answers(request: ChatRequest) -> str:
    if request.schema_name == "InspectionReply":
        return json.dumps({"cheating": False})
    if request.schema_name == "DiagnosedPlannerReply":
        plan = json.loads(agreeable_answers(request))
        return json.dumps({**plan, "diagnosis": f"one core works, step {request.facts.step}"})
    return agreeable_answers(request)


def a_lean_job(rounds: int = 3, **changes: object) -> Job:
    job = a_job(budget=Budget(rounds=rounds))
    return replace(job, spec=replace(job.spec, agents=AgentsMode.LEAN, **changes))  # type: ignore[arg-type]


async def test_a_lean_round_is_two_calls_and_the_diagnosis_reaches_the_coder() -> None:
    world = World(model=ScriptedModel(answers), queue=FakeQueue(FALLING))

    job = await world.run(a_lean_job())

    assert job.status is JobStatus.NO_GAIN
    assert [[call.role.value for call in step.calls] for step in world.steps()] == [["planner", "coder"]] * 3
    coder = world.model.asked(AgentRole.CODER)[1]
    assert "one core works, step 1" in coder.messages[1].content
    planner = world.model.asked(AgentRole.PLANNER)[1]
    assert "First the diagnosis" in planner.messages[1].content
    assert "bytes over time" in planner.messages[1].content, "what the Profiler and the Judge would have read"
    plan = world.steps()[1].plan
    assert plan is not None
    assert plan.diagnosis == "one core works, step 1"


async def test_a_lean_planner_reads_the_whole_failure() -> None:
    detail = "k.cpp:3:1: error: no such function\n" * 40
    failed = a_report(Verdict.REJECTED, failed_gate=GateName.COMPILE, detail=detail)
    world = World(model=ScriptedModel(answers), queue=FakeQueue([failed, a_report()]))

    await world.run(a_lean_job(2))

    assert detail.strip() in world.model.asked(AgentRole.PLANNER)[1].messages[1].content


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
async def test_every_strategy_works_with_lean_agents(strategy: str) -> None:
    world = World(model=ScriptedModel(answers), queue=FakeQueue(FALLING))

    job = await world.run(a_lean_job(4, strategy=strategy))

    assert job.status is JobStatus.NO_GAIN
    assert len(world.steps()) == 4


async def test_a_profiler_without_counters_is_not_asked_and_its_evidence_is_kept() -> None:
    bare = Profile(source="none", metrics={}, bottleneck="memory", reason="15% of the floor")
    world = World(queue=FakeQueue([replace(a_report(), profile=bare)]))

    await world.run(a_job(budget=Budget(rounds=1)))

    assert world.model.asked(AgentRole.PROFILER) == []
    assert "bottleneck memory: 15% of the floor" in world.model.asked(AgentRole.JUDGE)[0].messages[1].content
    assert {item.bottleneck for item in world.database.experiences.values()} == {"memory"}


async def test_what_the_profiler_concludes_reaches_the_judge() -> None:
    world = World()

    await world.run(a_job(budget=Budget(rounds=1)))

    assert "memory: near the copy bandwidth" in world.model.asked(AgentRole.JUDGE)[0].messages[1].content


async def test_only_a_candidate_that_takes_the_lead_gets_a_second_opinion() -> None:
    medians = [400.0, 420.0, 360.0, 380.0]
    world = World(model=PricedModel(answers), queue=FakeQueue([a_report(median_us=median) for median in medians]))

    await world.run(a_job(budget=Budget(rounds=4)))

    asked = [request for request in world.model.requests if request.schema_name == "InspectionReply"]
    assert [request.facts.step for request in asked] == [0, 2]


async def test_with_verify_first_a_doubted_candidate_is_never_run() -> None:
    def doubting(request: ChatRequest) -> str:
        if request.schema_name == "InspectionReply" and request.facts.step == 0:
            return json.dumps({"cheating": True, "reason": "keeps its result", "quote": "VARIANT = 0"})
        return answers(request)

    world = World(model=PricedModel(doubting))
    job = await world.run(a_lean_job(2, verify_first=True))

    assert job.status is JobStatus.SOLVED
    assert [request.candidate_id for request in world.queue.evaluated] == [candidate_id("job-1", 1)]
    first, second = world.steps()
    assert (first.verdict, first.reward) == (None, None)
    assert first.failure == "not run: second opinion of the Judge: keeps its result (VARIANT = 0)"
    assert Counter(call.role for call in second.calls)[AgentRole.JUDGE] == 1, "no second look after the measurement"
    assert "has not been run yet" in world.model.asked(AgentRole.JUDGE)[0].messages[1].content


async def test_a_planner_without_a_way_on_ends_its_line_and_the_leader_is_confirmed() -> None:
    def stuck(request: ChatRequest) -> str:
        if request.role is AgentRole.PLANNER and request.facts.step == 2:
            return json.dumps({"hypothesis": "none", "unable": "the floor is reached"})
        return answers(request)

    world = World(
        model=ScriptedModel(stuck), queue=FakeQueue([*FALLING[:2], a_report(median_us=361.0)]), confirmations=1
    )

    job = await world.run(a_job(budget=Budget(rounds=8)))

    assert job.status is JobStatus.NO_GAIN
    assert [step.failure for step in world.steps()] == [None, None, "no plan: the floor is reached", None]
    confirmation = await world.candidates.get("local", candidate_id("job-1", 3))
    assert confirmation.candidate.parent_id == candidate_id("job-1", 1)
    assert confirmation.candidate.origin.value == "confirmation"


async def test_only_after_a_failure_the_simplest_kernel_is_asked_for() -> None:
    world = World(queue=FakeQueue([a_report(Verdict.REJECTED), a_report()]))

    await world.run(a_job(budget=Budget(rounds=2)))

    first, second = (request.messages[1].content for request in world.model.asked(AgentRole.PLANNER))
    assert "Begin with a fast kernel" in first
    assert "simplest" not in first
    assert "Repair the failed start point" in second
