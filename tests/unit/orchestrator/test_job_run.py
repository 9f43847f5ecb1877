"""One job from submission to its end, over doubles."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from services.domain.candidates import Origin, candidate_id, evaluation_id
from services.domain.chat import AgentRole, ChatRequest
from services.domain.errors import InfrastructureError, ModelError, NotFoundError
from services.domain.evaluations import EvaluationReport, Verdict
from services.domain.events import EventKind
from services.domain.experiences import ExperienceKind
from services.domain.gates import GateName
from services.domain.jobs import Budget, JobSpec, JobStatus, Stage
from services.domain.usage import Usage
from services.domain.validations import ProblemRefusal, ValidationReport
from tests.doubles import FakeQueue, ScriptedModel, a_job, a_problem, a_report, agreeable_answers, an_experience
from tests.unit.orchestrator.world import World

OTHER_MODEL = "Go on with another model: kernelwright run --resume job-1 --model NAME"


def rejected(detail: str = "max error 0.5") -> EvaluationReport:
    return a_report(Verdict.REJECTED, failed_gate=GateName.CORRECTNESS, detail=detail)


async def test_a_rejected_draft_goes_back_to_the_coder_and_the_best_is_refined() -> None:
    world = World(queue=FakeQueue([rejected(), a_report(median_us=100.0), a_report(median_us=90.0)]))

    job = await world.run(a_job(budget=Budget(rounds=3)))

    assert job.status is JobStatus.SOLVED
    assert job.message == "all 3 rounds are used"
    steps = world.steps()
    assert [step.verdict for step in steps] == [Verdict.REJECTED, Verdict.ACCEPTED, Verdict.ACCEPTED]
    assert [step.stage for step in steps] == [Stage.DRAFT, Stage.DRAFT, Stage.REFINE]
    assert [step.start_point for step in steps] == [None, candidate_id("job-1", 0), candidate_id("job-1", 1)]
    assert [step.reward for step in steps] == [-1.0, 1.0, pytest.approx(0.1049, abs=1e-3)]
    assert job.best_candidate_id == candidate_id("job-1", 2)
    candidates = [item.candidate for item in await world.candidates.list("local", "job-1")]
    assert [item.origin for item in candidates] == [Origin.DRAFT, Origin.REPAIR, Origin.REFINEMENT]
    assert [item.parent_id for item in candidates] == [step.start_point for step in steps]


@pytest.mark.parametrize(("strategy", "asked"), [("greedy", [False, True, True]), ("tree", [False, False, False])])
async def test_where_only_leaders_are_gone_on_from_only_they_are_worth_a_profile(
    strategy: str, asked: list[bool]
) -> None:
    world = World(queue=FakeQueue([a_report(median_us=100.0), a_report(median_us=90.0), a_report(median_us=80.0)]))

    job = a_job(budget=Budget(rounds=3))

    await world.run(replace(job, spec=replace(job.spec, strategy=strategy)))

    assert [request.least_profiled_speedup is not None for request in world.queue.evaluated] == asked


async def test_every_step_keeps_prompt_reply_usage_and_experiences_used() -> None:
    world = World()
    await world.memory.remember([an_experience("exp-known")])

    await world.run(a_job(budget=Budget(rounds=2)))

    first, second = world.steps()
    roles = [call.role for call in first.calls]
    assert roles == [AgentRole.PLANNER, AgentRole.CODER, AgentRole.PROFILER, AgentRole.JUDGE]
    for call in first.calls:
        assert [message.role for message in call.prompt] == ["system", "user"]
        assert json.loads(call.reply)
        assert len(call.prompt_hash) == 64
    assert first.usage == Usage(calls=4, input_tokens=400, output_tokens=200)
    assert first.experiences_used == second.experiences_used == ("exp-known",), (
        "a job's own steps are in its trajectory"
    )
    made = [item for item in world.database.experiences.values() if item.candidate_id == first.candidate_id]
    assert [item.kind for item in made] == [ExperienceKind.TRACE], "one experience a step"
    used = second.experiences_used
    assert any(item.used == used for item in world.database.experiences.values()), "provenance is kept"


async def test_the_events_tell_the_whole_story_in_order() -> None:
    world = World()

    await world.run(a_job(budget=Budget(rounds=1)))

    kinds = [event.kind.value for event in world.database.events["job-1"]]
    agent = ["agent.started", "agent.finished"]
    assert kinds == [
        *("job.status", "job.status", "job.status", "job.validated", "step.started"),
        *agent,
        *agent,
        *("candidate.created", "evaluation.started", "evaluation.finished"),
        *agent,
        *agent,
        *("step.finished", "job.status", "job.finished"),
    ]
    finished = world.log(EventKind.JOB_FINISHED)[0].data
    assert finished["status"] == "solved"
    assert finished["speedup"] == 2.0
    evaluated = world.log(EventKind.EVALUATION_FINISHED)[0].data
    assert (evaluated["verdict"], evaluated["median_us"], evaluated["speedup"]) == ("accepted", 100.0, 2.0)


async def test_held_out_text_reaches_the_referee_and_no_model() -> None:
    world = World()
    spec = JobSpec(problem=a_problem("HIDDEN = 'SECRET'\n"), model="scripted", budget=Budget(rounds=1))

    await world.run(a_job(spec=spec))

    assert "SECRET" in world.queue.evaluated[0].problem.source
    for request in world.model.requests:
        assert "SECRET" not in request.facts.problem.source
        assert all("SECRET" not in message.content for message in request.messages)


async def test_facts_hold_all_that_happened_before() -> None:
    world = World(queue=FakeQueue([rejected("row 3 is wrong"), a_report()]))

    await world.run(a_job(budget=Budget(rounds=2)))

    coder = world.model.asked(AgentRole.CODER)[1].facts
    assert coder.device is not None
    assert coder.start_point is not None
    assert coder.start_point.source == "class ModelNew:\n    VARIANT = 0\n"
    assert coder.start_point.critique == "wrong sum; the tail is skipped; loop over the tail"
    assert coder.start_point.report is not None
    assert coder.attempts == (coder.start_point,)
    assert coder.baselines.eager is not None
    assert coder.plan is not None
    assert "row 3 is wrong" in world.model.asked(AgentRole.CODER)[1].messages[1].content
    judge = world.model.asked(AgentRole.JUDGE)[0].facts
    assert judge.source == coder.start_point.source
    assert judge.report == coder.start_point.report


async def test_a_refused_problem_ends_the_job_with_file_line_and_remedy() -> None:
    refusal = ProblemRefusal(reason="the output is constant", remedy="Use the input.", line=7)
    world = World(queue=FakeQueue(validation=ValidationReport(analysis=None, refusal=refusal, device=None)))

    job = await world.run(a_job())

    assert job.status is JobStatus.REFUSED
    assert job.message == "relu.py:7: the output is constant. Use the input."
    assert world.model.requests == []
    assert world.log(EventKind.JOB_FINISHED)[0].data["status"] == "refused"


async def test_a_planner_that_is_unable_ends_the_job_unsolved_with_its_words() -> None:
    reply = json.dumps({"hypothesis": "none", "unable": "no template for aten.convolution: configure a chat model"})
    world = World(model=ScriptedModel([reply]))

    job = await world.run(a_job())

    assert job.status is JobStatus.UNSOLVED
    assert job.message == "no template for aten.convolution: configure a chat model"
    assert len(world.steps()) == 1
    assert world.steps()[0].candidate_id is None


async def test_a_planner_that_is_unable_after_an_accepted_candidate_ends_the_job_solved() -> None:
    def answers(request: ChatRequest) -> str:
        if request.role is AgentRole.PLANNER and request.facts.step == 1:
            return json.dumps({"hypothesis": "none", "unable": "every variant has been tried"})
        return agreeable_answers(request)

    world = World(model=ScriptedModel(answers))

    job = await world.run(a_job(budget=Budget(rounds=5)))

    assert job.status is JobStatus.SOLVED
    assert job.message == "every variant has been tried"
    assert job.best_candidate_id == candidate_id("job-1", 0)
    assert [step.failure for step in world.steps()] == [None, "no plan: every variant has been tried"]


async def test_people_who_watch_read_short_sentences() -> None:
    world = World(queue=FakeQueue([rejected(), a_report()]))

    await world.run(a_job(budget=Budget(rounds=2)))

    told = [
        (event.data["step"], event.data["agent"], event.data["summary"])
        for event in world.log(EventKind.AGENT_FINISHED)
    ]
    assert told == [
        (0, "planner", "fuse: fuse everything, variant 0"),
        (0, "coder", "variant 0"),
        (0, "judge", "wrong sum; loop over the tail"),
        (1, "planner", "fuse: fuse everything, variant 1"),
        (1, "coder", "variant 1"),
        (1, "profiler", "memory"),
        (1, "judge", "wider vectors; process 16 floats at once"),
    ]


async def test_a_malformed_reply_is_sent_back_once_with_the_error() -> None:
    seen: list[str] = []

    def answers(request: ChatRequest) -> str:
        if request.role is AgentRole.PLANNER and not seen:
            seen.append(request.key)
            return "I would fuse everything."
        return agreeable_answers(request)

    world = World(model=ScriptedModel(answers))

    job = await world.run(a_job(budget=Budget(rounds=1)))

    assert job.status is JobStatus.SOLVED
    first, second = world.model.asked(AgentRole.PLANNER)
    assert second.key == "job-1/0/planner/1"
    assert [message.role for message in second.messages] == ["system", "user", "assistant", "user"]
    assert second.messages[2].content == "I would fuse everything."
    assert "Invalid JSON" in second.messages[3].content
    calls = world.steps()[0].calls
    assert [call.error is None for call in calls] == [False, True, True, True, True]
    assert first.key == "job-1/0/planner/0"


async def test_a_coder_that_never_fits_fails_the_step_and_not_the_job() -> None:
    def answers(request: ChatRequest) -> str:
        if request.role is AgentRole.CODER and request.facts.step == 0:
            return json.dumps({"summary": "x", "source": "def f(:\n"})
        return agreeable_answers(request)

    world = World(model=ScriptedModel(answers))

    job = await world.run(a_job(budget=Budget(rounds=2)))

    assert job.status is JobStatus.SOLVED
    first, second = world.steps()
    assert (first.candidate_id, first.verdict, first.reward) == (None, None, None)
    assert first.failure is not None
    assert "line 1" in first.failure
    assert second.verdict is Verdict.ACCEPTED
    assert len(world.queue.evaluated) == 1


async def test_a_judge_that_never_fits_leaves_the_step_without_a_critique() -> None:
    def answers(request: ChatRequest) -> str:
        return "no idea" if request.role in (AgentRole.JUDGE, AgentRole.PROFILER) else agreeable_answers(request)

    world = World(model=ScriptedModel(answers))

    job = await world.run(a_job(budget=Budget(rounds=1)))

    (step,) = world.steps()
    assert job.status is JobStatus.SOLVED
    assert (step.verdict, step.critique, step.failure) == (Verdict.ACCEPTED, None, None)
    assert len(step.calls) == 6


async def test_a_model_out_of_reach_fails_the_job_after_some_attempts() -> None:
    world = World(model=ScriptedModel(lambda _request: ModelError("scripted: connection refused")))

    job = await world.run(a_job())

    assert job.status is JobStatus.FAILED
    assert job.message == f"scripted: connection refused. {OTHER_MODEL}"
    assert len(world.model.requests) == 3
    assert world.steps() == []


async def test_a_call_that_the_service_refuses_for_good_is_not_repeated() -> None:
    world = World(model=ScriptedModel(lambda _request: ModelError("no such model", retryable=False)))

    job = await world.run(a_job())

    assert job.message == f"no such model. {OTHER_MODEL}"
    assert len(world.model.requests) == 1


async def test_an_infrastructure_error_is_retried_and_teaches_nothing() -> None:
    world = World(queue=FakeQueue([a_report(Verdict.INFRASTRUCTURE_ERROR), a_report()]))

    job = await world.run(a_job(budget=Budget(rounds=1)))

    assert job.status is JobStatus.SOLVED
    assert len(world.queue.evaluated) == 2
    assert [step.verdict for step in world.steps()] == [Verdict.ACCEPTED]


async def test_a_machine_that_stays_broken_fails_the_job_and_blames_no_candidate() -> None:
    world = World(queue=FakeQueue(lambda _request: a_report(Verdict.INFRASTRUCTURE_ERROR)))

    job = await world.run(a_job())

    assert job.status is JobStatus.FAILED
    assert job.message is not None
    assert "no worker could evaluate" in job.message
    assert world.steps() == []
    assert world.database.experiences == {}
    assert world.database.reports == {}


async def test_a_validation_that_no_worker_can_do_fails_the_job() -> None:
    world = World(queue=FakeQueue(validation=InfrastructureError("no worker for device h200")))

    job = await world.run(a_job())

    assert job.status is JobStatus.FAILED
    assert job.message == "the problem could not be validated: no worker for device h200"
    assert len(world.queue.validated) == 3


async def test_a_suspicious_candidate_is_kept_but_never_best_and_earns_nothing() -> None:
    world = World(queue=FakeQueue([a_report(Verdict.SUSPICIOUS, median_us=1.0, detail="below the floor")]))

    job = await world.run(a_job(budget=Budget(rounds=1)))

    assert job.status is JobStatus.UNSOLVED
    assert job.best_candidate_id is None
    assert world.steps()[0].reward is None
    assert world.database.experiences == {}
    assert len(await world.candidates.list("local", "job-1")) == 1


async def test_a_kernel_that_came_with_the_job_is_judged_first() -> None:
    spec = replace(a_job(budget=Budget(rounds=2)).spec, seed_candidate="class ModelNew: pass\n")
    world = World()

    await world.run(a_job(spec=spec))

    first, second = world.steps()
    assert [call.role for call in first.calls] == [AgentRole.PROFILER, AgentRole.JUDGE]
    seeded = await world.candidates.get("local", candidate_id("job-1", 0))
    assert (seeded.candidate.origin, seeded.candidate.source) == (Origin.SEED, "class ModelNew: pass\n")
    assert second.start_point == seeded.candidate.id


async def test_a_job_that_only_evaluates_asks_no_model() -> None:
    spec = replace(
        a_job(budget=Budget(rounds=1)).spec, seed_candidate="class ModelNew: pass\n", tags=("evaluate-only",)
    )
    world = World()

    job = await world.run(a_job(spec=spec))

    assert job.status is JobStatus.SOLVED
    assert world.model.requests == []
    assert await world.candidates.report(evaluation_id(candidate_id("job-1", 0))) == a_report()


@pytest.mark.parametrize(
    ("tags", "status"), [(("evaluate-only",), JobStatus.SOLVED), (("model", "evaluate-only"), JobStatus.NO_GAIN)]
)
async def test_a_whole_model_must_be_faster_and_a_kernel_that_is_only_evaluated_need_not(
    tags: tuple[str, ...], status: JobStatus
) -> None:
    spec = replace(a_job(budget=Budget(rounds=1)).spec, seed_candidate="class ModelNew: pass\n", tags=tags)
    world = World(queue=FakeQueue([a_report(median_us=300.0)]))

    job = await world.run(a_job(spec=spec))

    assert job.status is status


async def test_edits_are_applied_to_the_start_point() -> None:
    def answers(request: ChatRequest) -> str:
        if request.role is AgentRole.CODER and request.facts.step == 1:
            return json.dumps({"summary": "wider", "edits": [{"search": "VARIANT = 0", "replace": "VARIANT = 16"}]})
        return agreeable_answers(request)

    world = World(model=ScriptedModel(answers))

    await world.run(a_job(budget=Budget(rounds=2)))

    assert world.queue.evaluated[1].source == "class ModelNew:\n    VARIANT = 16\n"


async def test_the_roof_ends_the_search() -> None:
    world = World(queue=FakeQueue([a_report(median_us=81.0)]))

    job = await world.run(a_job(budget=Budget(rounds=10)))

    assert job.status is JobStatus.SOLVED
    assert job.message == "stopped early: within 5 % of the roofline"
    assert len(world.steps()) == 1


async def test_the_figures_of_a_job_are_those_of_the_second_measurement() -> None:
    medians = (200.0, 160.0, 190.0, 195.0)
    world = World(queue=FakeQueue([a_report(median_us=median) for median in medians]), confirmations=2)

    job = await world.run(a_job(budget=Budget(rounds=4)))

    again = world.steps()[3]
    lucky = await world.candidates.get("local", candidate_id("job-1", 1))
    confirmed = await world.candidates.get("local", candidate_id("job-1", 3))
    assert [request.thorough for request in world.queue.evaluated] == [False, False, False, True]
    assert (confirmed.candidate.origin, confirmed.candidate.parent_id) == (Origin.CONFIRMATION, lucky.candidate.id)
    assert confirmed.candidate.source == lucky.candidate.source
    assert (again.calls, again.reward, again.experiences_used) == ((), None, ())
    assert job.best_candidate_id == confirmed.candidate.id
    assert not any(item.candidate_id == confirmed.candidate.id for item in world.database.experiences.values())


async def test_the_token_budget_is_never_passed() -> None:
    world = World(model=ScriptedModel(agreeable_answers, usage=Usage(calls=1, input_tokens=5000, output_tokens=500)))

    job = await world.run(a_job(budget=Budget(rounds=10, tokens=30_000)))

    used = sum(step.usage.input_tokens + step.usage.output_tokens for step in world.steps())
    assert 0 < used <= 30_000
    assert job.status is JobStatus.SOLVED
    assert job.message == "the token budget of 30000 could be passed by the next call"


async def test_a_dollar_budget_refuses_calls_of_unknown_price() -> None:
    usage = Usage(calls=1, input_tokens=1, output_tokens=1, dollars=None)
    world = World(model=ScriptedModel(agreeable_answers, usage=usage))

    job = await world.run(a_job(budget=Budget(rounds=10, dollars=1.0)))

    assert len(world.model.requests) == 1
    assert job.status is JobStatus.UNSOLVED
    assert job.message is not None
    assert job.message.startswith("a dollar budget is set and the price of scripted is unknown: set its price")


async def test_the_device_budget_reserves_an_evaluation_s_ceiling() -> None:
    world = World(queue=FakeQueue(lambda _request: a_report(seconds=10.0)))

    job = await world.run(a_job(budget=Budget(rounds=10, device_s=45.0)), timeout_s=20.0)

    assert len(world.queue.evaluated) == 3
    assert job.status is JobStatus.SOLVED
    assert job.message is not None
    assert "device budget of 45 s" in job.message


async def test_an_unknown_strategy_fails_the_job_and_names_those_there_are() -> None:
    spec = replace(a_job().spec, strategy="magic")
    world = World()

    job = await world.run(a_job(spec=spec))

    assert job.status is JobStatus.FAILED
    assert (
        job.message
        == "unknown strategy 'magic': choose from greedy, islands, map_elites, tree, value_driven, world_model"
    )


async def test_a_fault_of_the_program_fails_the_job_and_says_so() -> None:
    world = World(model=ScriptedModel(lambda _request: ZeroDivisionError("oops")))

    job = await world.run(a_job())

    assert job.status is JobStatus.FAILED
    assert job.message == "internal error: ZeroDivisionError: oops"


async def test_checkpoints_are_pruned_and_workers_freed_when_a_job_ends() -> None:
    world = World()

    await world.run(a_job(budget=Budget(rounds=1)))

    assert await world.saver.aget_tuple({"configurable": {"thread_id": "job-1", "checkpoint_ns": ""}}) is None
    assert world.queue.cancelled == ["job-1"]
    assert not world.database.held("job-1")


async def test_a_final_job_is_returned_as_it_is_and_an_unknown_one_is_an_error() -> None:
    world = World()
    job = await world.run(a_job(budget=Budget(rounds=1)))
    asked = len(world.model.requests)

    assert await world.orchestrator().run_job(job.id) == job
    assert len(world.model.requests) == asked
    assert len(world.log(EventKind.JOB_FINISHED)) == 1
    with pytest.raises(NotFoundError):
        await world.orchestrator().run_job("job-2")
