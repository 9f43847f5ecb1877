"""Jobs that begin with the compiler's own code: judged before any model is asked, and what the search starts from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.domain.candidates import Origin, candidate_id
from services.domain.evaluations import Verdict
from services.domain.events import EventKind
from services.domain.gates import GateName
from services.domain.jobs import Budget, Job, JobStatus
from services.domain.validations import CompilerDraft, ValidationReport
from tests.doubles import FakeQueue, a_job, a_report
from tests.doubles.builders import a_device, an_analysis
from tests.unit.orchestrator.world import World

DRAFT = "class ModelNew: 'by the compiler'\n"


def drafted(*, rounds: int = 2, seed: str | None = None, wanted: bool = True) -> Job:
    job = a_job(budget=Budget(rounds=rounds))
    return replace(job, spec=replace(job.spec, compiler_draft=wanted, seed_candidate=seed))


def validated(draft: CompilerDraft | None) -> ValidationReport:
    return ValidationReport(analysis=an_analysis(), refusal=None, device=a_device(), draft=draft)


async def test_the_compiler_s_code_is_step_0_and_no_model_is_asked_about_it() -> None:
    world = World(queue=FakeQueue(validation=validated(CompilerDraft(source=DRAFT))))

    await world.run(drafted(rounds=1))

    first = await world.candidates.get("local", candidate_id("job-1", 0))
    assert (first.candidate.origin, first.candidate.source) == (Origin.COMPILER, DRAFT)
    assert world.steps()[0].calls == ()
    assert world.queue.validated[0].draft


async def test_the_search_starts_from_the_compiler_s_code_and_the_budget_does_not_count_it() -> None:
    world = World(queue=FakeQueue(validation=validated(CompilerDraft(source=DRAFT))))

    job = await world.run(drafted(rounds=2))

    assert job.steps_done == 3
    assert world.steps()[1].start_point == candidate_id("job-1", 0)


async def test_memory_learns_nothing_of_the_compiler_s_code() -> None:
    world = World(queue=FakeQueue(validation=validated(CompilerDraft(source=DRAFT))))

    await world.run(drafted(rounds=1))

    assert world.steps()[0].reward is None
    assert all(item.candidate_id != candidate_id("job-1", 0) for item in world.database.experiences.values())


async def test_a_kernel_that_came_with_the_job_goes_first_and_the_compiler_s_code_second() -> None:
    world = World(queue=FakeQueue(validation=validated(CompilerDraft(source=DRAFT))))

    await world.run(drafted(rounds=2, seed="class ModelNew: pass\n"))

    origins = [(await world.candidates.get("local", candidate_id("job-1", step))).candidate.origin for step in (0, 1)]
    assert origins == [Origin.SEED, Origin.COMPILER]


async def test_without_a_draft_the_job_says_why_in_a_sentence_and_goes_on() -> None:
    world = World(queue=FakeQueue(validation=validated(CompilerDraft(reason="the compiler leaves sort to a library"))))

    job = await world.run(drafted(rounds=1))

    (told,) = world.log(EventKind.JOB_NOTICE)
    assert told.data["message"] == "no compiler draft: the compiler leaves sort to a library"
    assert (job.status, job.steps_done) == (JobStatus.SOLVED, 1)


async def test_a_draft_that_a_gate_rejects_is_told_of_and_nobody_is_asked_to_repair_it() -> None:
    wrong = a_report(Verdict.REJECTED, failed_gate=GateName.CORRECTNESS, detail="row 3 is wrong")
    world = World(queue=FakeQueue([wrong], validation=validated(CompilerDraft(source=DRAFT))))

    await world.run(drafted(rounds=1))

    (told,) = world.log(EventKind.JOB_NOTICE)
    assert told.data["message"] == "the compiler's own code is rejected by the gate correctness: row 3 is wrong"
    assert world.steps()[0].verdict is Verdict.REJECTED
    assert world.steps()[1].start_point is None


async def test_a_job_that_wants_no_draft_asks_for_none() -> None:
    world = World()

    await world.run(drafted(rounds=1, wanted=False))

    assert not world.queue.validated[0].draft
    assert world.log(EventKind.JOB_NOTICE) == []


@pytest.mark.parametrize(
    ("median_us", "status"), [(100.0, JobStatus.SOLVED), (200.0, JobStatus.NO_GAIN), (300.0, JobStatus.NO_GAIN)]
)
async def test_a_job_is_solved_only_by_a_kernel_that_is_surely_faster(median_us: float, status: JobStatus) -> None:
    world = World(queue=FakeQueue([a_report(median_us=median_us, eager_us=200.0)]))

    job = await world.run(drafted(rounds=1, wanted=False))

    assert job.status is status
    assert job.best_candidate_id == candidate_id("job-1", 0)


async def test_a_job_without_gain_says_how_fast_its_best_kernel_is() -> None:
    world = World(queue=FakeQueue([a_report(median_us=200.0, eager_us=200.0)]))

    job = await world.run(drafted(rounds=1, wanted=False))

    assert job.message is not None
    assert job.message.startswith("the best kernel is as fast as the fastest baseline, in noise: 1.00× [0.97, 1.03]")
