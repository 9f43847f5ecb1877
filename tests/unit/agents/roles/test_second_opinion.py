"""The Judge's second opinion may make a verdict stricter, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from agents.roles.second_opinion import doubt_of, doubted, read_inspection
from services.domain.candidates import candidate_id, evaluation_id
from services.domain.chat import AgentRole, ChatRequest
from services.domain.errors import ReplyError
from services.domain.evaluations import Verdict
from services.domain.gates import GateName
from services.domain.jobs import Budget, JobStatus
from services.domain.usage import Usage
from tests.doubles import FakeQueue, ScriptedModel, a_job, a_report, agreeable_answers
from tests.doubles.models import Answer
from tests.unit.agents.some_facts import some_facts
from tests.unit.orchestrator.world import World


class PricedModel(ScriptedModel):
    """A scripted model that costs something, as those of providers do."""

    def ceiling(self, request: ChatRequest) -> Usage:
        return Usage(calls=1, input_tokens=200, output_tokens=request.max_output_tokens)


def inspecting(answer: Callable[[ChatRequest], dict[str, object]]) -> PricedModel:
    def answers(request: ChatRequest) -> Answer:
        if request.schema_name == "InspectionReply":
            return json.dumps(answer(request))
        return agreeable_answers(request)

    return PricedModel(answers)


def accuses(request: ChatRequest) -> dict[str, object]:
    if request.facts.step:
        return {"cheating": False}
    return {"cheating": True, "reason": "keeps its result", "quote": "VARIANT = 0"}


async def test_an_accepted_candidate_that_the_judge_holds_for_a_cheat_never_counts() -> None:
    world = World(model=inspecting(accuses), queue=FakeQueue([a_report(median_us=85.0), a_report(median_us=100.0)]))

    job = await world.run(a_job(budget=Budget(rounds=2)))

    assert job.status in (JobStatus.SOLVED, JobStatus.NO_GAIN)
    assert [step.verdict for step in world.steps()] == [Verdict.SUSPICIOUS, Verdict.ACCEPTED]
    assert [step.reward for step in world.steps()] == [None, 1.0]
    assert job.best_candidate_id == candidate_id("job-1", 1)
    stored = await world.candidates.report(evaluation_id(candidate_id("job-1", 0)))
    assert stored is not None
    assert stored.verdict is Verdict.SUSPICIOUS
    gate = stored.gate(GateName.INTEGRITY)
    assert gate is not None
    assert "second opinion of the Judge: keeps its result (VARIANT = 0)" in gate.detail
    assert all(item.candidate_id != candidate_id("job-1", 0) for item in world.database.experiences.values())


async def test_an_opinion_without_evidence_convicts_nobody() -> None:
    def vague(_request: ChatRequest) -> dict[str, object]:
        return {"cheating": True, "reason": "too fast", "quote": "not in the source"}

    world = World(model=inspecting(vague))

    job = await world.run(a_job(budget=Budget(rounds=1)))

    assert job.status in (JobStatus.SOLVED, JobStatus.NO_GAIN)
    asked = [request for request in world.model.asked(AgentRole.JUDGE) if request.schema_name == "InspectionReply"]
    assert [request.key for request in asked] == ["job-1/0/inspector/0", "job-1/0/inspector/1"]
    assert world.steps()[0].verdict is Verdict.ACCEPTED


async def test_only_accepted_candidates_are_inspected() -> None:
    world = World(model=inspecting(accuses), queue=FakeQueue([a_report(Verdict.REJECTED)]))

    await world.run(a_job(budget=Budget(rounds=1)))

    assert all(request.schema_name != "InspectionReply" for request in world.model.requests)


async def test_an_offline_model_is_not_asked_for_an_opinion() -> None:
    world = World()

    await world.run(a_job(budget=Budget(rounds=1)))

    assert all(request.schema_name != "InspectionReply" for request in world.model.requests)


def test_no_verdict_becomes_milder() -> None:
    for verdict in (Verdict.REJECTED, Verdict.SUSPICIOUS, Verdict.INFRASTRUCTURE_ERROR):
        assert doubted(a_report(verdict), "doubt") == a_report(verdict)
    assert doubted(a_report(), "doubt").verdict is Verdict.SUSPICIOUS


def test_a_quote_may_differ_in_white_space_only() -> None:
    facts = some_facts(source="if  n > 10:\n    return kept\n", report=a_report())
    reply = {"cheating": True, "reason": "replays", "quote": "if n > 10: return kept"}

    assert doubt_of(read_inspection(json.dumps(reply), facts)) == "replays (if n > 10: return kept)"
    assert doubt_of(read_inspection(json.dumps({"cheating": False}), facts)) is None
    with pytest.raises(ReplyError, match="quote"):
        read_inspection(json.dumps({**reply, "quote": "if n > 11"}), facts)
