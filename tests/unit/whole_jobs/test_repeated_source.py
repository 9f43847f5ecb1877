"""A source that the Coder proposes again in the same job is not judged again."""

from __future__ import annotations

import json

import pytest

from services.domain.candidates import candidate_id
from services.domain.chat import AgentRole, ChatRequest
from services.domain.evaluations import Verdict
from services.domain.events import EventKind
from services.domain.jobs import Budget
from tests.doubles import FakeQueue, ScriptedModel, a_job, a_report, agreeable_answers
from tests.unit.orchestrator.world import World


def answers(request: ChatRequest) -> str:
    """Two sources in turns: the third round has the first one's."""
    if request.role is AgentRole.CODER:
        number = request.facts.step % 2
        return json.dumps({"summary": f"variant {number}", "source": f"class ModelNew:\n    VARIANT = {number}\n"})
    return agreeable_answers(request)


@pytest.mark.parametrize("verdict", [Verdict.ACCEPTED, Verdict.REJECTED])
async def test_it_has_its_first_report_and_the_agents_are_told(verdict: Verdict) -> None:
    world = World(model=ScriptedModel(answers), queue=FakeQueue([a_report(verdict), a_report(median_us=390.0)]))

    await world.run(a_job(budget=Budget(rounds=4)))

    assert len(world.queue.evaluated) == 2
    first, _, third, fourth = world.steps()
    assert (third.verdict, third.candidate_id) == (first.verdict, candidate_id("job-1", 2))
    assert third.critique is not None
    assert "source of step 0 once more" in third.critique
    assert [call.role for call in third.calls] == [AgentRole.PLANNER, AgentRole.CODER], "nobody is asked about it"
    known = await world.candidates.get("local", candidate_id("job-1", 2))
    assert known.report is not None
    assert known.report.phases_s.total == 0.0, "it took no device"
    assert "source of step 0 once more" in world.model.asked(AgentRole.PLANNER)[3].messages[1].content
    told = [event.data["message"] for event in world.log(EventKind.JOB_NOTICE)]
    assert told == [
        f"round {n + 3} proposed the source of round {n + 1} again; it was not judged again" for n in (0, 1)
    ]
    assert fourth.verdict is Verdict.ACCEPTED


async def test_memory_learns_nothing_from_it() -> None:
    world = World(model=ScriptedModel(answers), queue=FakeQueue([a_report(), a_report(median_us=390.0)]))

    await world.run(a_job(budget=Budget(rounds=4)))

    learned = {item.candidate_id for item in world.database.experiences.values()}
    assert learned == {candidate_id("job-1", 0), candidate_id("job-1", 1)}


async def test_a_confirmation_measures_it_anew_and_once() -> None:
    world = World(model=ScriptedModel(answers), confirmations=2)

    await world.run(a_job(budget=Budget(rounds=8)))

    sources = [request.source for request in world.queue.evaluated]
    assert {sources.count(source) for source in set(sources)} == {2}
