"""A kernel that one job proved is in the prompts of the next one about such a problem, and may be its start point."""

from __future__ import annotations

import re
from dataclasses import replace

from agents.prompts.token_budget import tokens
from services.domain.candidates import Origin, candidate_id
from services.domain.chat import AgentRole
from services.domain.evaluations import Verdict
from services.domain.experiences import Experience, ExperienceKind
from services.domain.jobs import Budget, Job, JobStatus, Stage
from services.domain.referees import CURRENT
from services.domain.usage import Usage
from tests.doubles import (
    FakeQueue,
    ScriptedModel,
    a_job,
    a_report,
    agreeable_answers,
    an_analysis,
    an_experience,
)
from tests.unit.orchestrator.world import World
from tests.unit.whole_jobs.test_fewer_calls import PricedModel, answers

KERNEL = 'SOURCE = r"""\n' + "".join(f"    acc += x[i + {n}];\n" for n in range(80)) + '"""\nclass ModelNew: ...\n'


def proven(name: str = "exp-proven", **changes: object) -> Experience:
    """A trace of another job on the very problem of `a_job`."""
    subject = an_analysis().subject
    trace = replace(
        an_experience(name, text=f"{subject} Moves: fuse. Outcome: accepted at 90.0 µs (89.0 to 91.0)."),
        title="pointwise in cpp: fuse: accepted at 90.0 µs, 1.80× the best baseline",
        kind=ExperienceKind.TRACE,
        verdict=Verdict.ACCEPTED,
        referee=CURRENT,
        dtype="float32",
        speedup=1.8,
        median_us=90.0,
        job_id="job-0",
        candidate_id="cand-proven",
        code=KERNEL,
    )
    return replace(trace, **changes)  # type: ignore[arg-type]


def a_second_job(rounds: int = 2) -> Job:
    return a_job(budget=Budget(rounds=rounds))


def prompts(world: World, role: AgentRole) -> list[str]:
    return [request.messages[1].content for request in world.model.asked(role)]


async def test_a_second_job_reads_the_first_ones_kernel_whole_with_its_figures() -> None:
    world = World(queue=FakeQueue([a_report(median_us=400.0), a_report(median_us=390.0)]))
    await world.memory.remember([proven(), an_experience("exp-practice")])

    await world.run(a_second_job())

    for prompt in (*prompts(world, AgentRole.CODER), prompts(world, AgentRole.PLANNER)[0]):
        assert KERNEL in prompt
        assert "kernel of experience exp-proven 1.80 times the best baseline this very problem" in prompt
        assert "accepted at 90.0 µs (89.0 to 91.0)" in prompt
    assert KERNEL not in prompts(world, AgentRole.PLANNER)[1], "the Planner has read it; the Coder writes from it"
    assert "kernel of experience exp-proven" in prompts(world, AgentRole.PLANNER)[1]
    assert all("exp-proven" in step.experiences_used for step in world.steps()), "its value is learned like any other's"


async def test_nothing_of_its_own_job_and_nothing_twice_is_in_a_prompt() -> None:
    world = World(queue=FakeQueue([a_report(median_us=400.0 - step) for step in range(4)]))
    await world.memory.remember([proven()])

    await world.run(a_second_job(4))

    own = {item.id for item in world.database.experiences.values() if item.job_id == "job-1"}
    assert len(own) == 4
    assert not own & {name for step in world.steps() for name in step.experiences_used}
    for prompt in prompts(world, AgentRole.CODER):
        assert prompt.count(KERNEL) == 1
        assert len(set(re.findall(r'name="experience (exp-[\w-]+)', prompt))) == prompt.count('name="experience ')


async def test_a_kernel_is_shown_whole_or_not_at_all() -> None:
    huge = KERNEL * 60
    assert tokens(huge) > 4000
    world = World()
    await world.memory.remember([proven(code=huge)])

    await world.run(a_second_job(1))

    assert "acc += x[i" not in prompts(world, AgentRole.CODER)[0]
    assert "1.80× the best baseline" in prompts(world, AgentRole.CODER)[0], "its words come all the same"


async def test_another_backends_kernel_is_marked_as_such() -> None:
    world = World()
    await world.memory.remember([proven(backend="triton", device="h200")])

    await world.run(a_second_job(1))

    assert "this very problem in triton not cpp" in prompts(world, AgentRole.CODER)[0]


async def test_a_job_begins_with_a_kernel_that_another_one_proved_once_it_holds_here() -> None:
    world = World(model=PricedModel(answers), queue=FakeQueue([a_report(median_us=400.0), a_report(median_us=380.0)]))
    await world.memory.remember([proven(), proven("exp-slow", candidate_id="cand-x", speedup=1.1, code="x = 1")])

    job = await world.run(a_second_job())

    first, second = world.steps()
    assert first.calls == ()
    assert first.experiences_used == ("exp-proven",)
    assert (first.verdict, first.reward, first.start_point) == (Verdict.ACCEPTED, 1.0, None)
    candidate = (await world.candidates.get("local", candidate_id("job-1", 0))).candidate
    assert (candidate.origin, candidate.source, candidate.parent_id) == (Origin.RECALLED, KERNEL, None)
    assert candidate.summary == "proven in job-0 at 1.80× the best baseline, measured again here"
    assert (second.stage, second.start_point) == (Stage.REFINE, candidate.id)
    assert job.status is JobStatus.NO_GAIN
    assert prompts(world, AgentRole.CODER)[0].count(KERNEL) == 1, "the start point, and not once more as an experience"


async def test_a_proven_kernel_that_fails_here_is_one_failed_round_and_no_more() -> None:
    world = World(model=PricedModel(answers), queue=FakeQueue([a_report(Verdict.REJECTED), a_report(median_us=380.0)]))
    await world.memory.remember([proven()])

    job = await world.run(a_second_job())

    assert job.status is JobStatus.NO_GAIN
    assert [(step.verdict, step.reward) for step in world.steps()] == [
        (Verdict.REJECTED, -1.0),
        (Verdict.ACCEPTED, 1.0),
    ]
    assert [request.source == KERNEL for request in world.queue.evaluated] == [True, False]


async def test_a_slower_kernel_and_one_of_another_problem_are_read_but_not_begun_with() -> None:
    world = World(model=PricedModel(answers))
    other = proven("exp-other", text="Operator family: pointwise. other", code="y = 2")
    await world.memory.remember([proven(speedup=0.9), other])

    await world.run(a_second_job(1))

    assert world.steps()[0].calls


async def test_the_offline_model_reads_its_memory_itself() -> None:
    world = World(model=ScriptedModel(agreeable_answers, usage=Usage(calls=1)))
    await world.memory.remember([proven()])

    await world.run(a_second_job(1))

    assert [call.role for call in world.steps()[0].calls][:2] == [AgentRole.PLANNER, AgentRole.CODER]
