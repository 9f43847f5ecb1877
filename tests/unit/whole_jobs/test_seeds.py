"""Jobs that start from a kernel: it is proven in the validating phase, and what comes of it is compared with it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agents.workflow.seed_kernel import backend_of
from services.domain.candidates import Origin, candidate_id
from services.domain.evaluations import Verdict
from services.domain.events import EventKind
from services.domain.gates import GateName
from services.domain.jobs import Budget, Job, JobStatus
from tests.doubles import FakeQueue, a_job, a_report
from tests.unit.orchestrator.world import World

CPP = 'from kernelwright_rt import compile_cpp\nLIBRARY = compile_cpp("")\nclass ModelNew: pass\n'
TRITON = "import triton\n@triton.jit\ndef f(): pass\nclass ModelNew: pass\n"


def seeded(seed: str, *, rounds: int = 2) -> Job:
    job = a_job(budget=Budget(rounds=rounds))
    return replace(job, spec=replace(job.spec, seed_candidate=seed))


async def test_a_wrong_seed_is_refused_while_validating_with_the_gate_that_rejected_it() -> None:
    wrong = a_report(Verdict.REJECTED, failed_gate=GateName.CORRECTNESS, detail="row 3 is wrong.")
    world = World(queue=FakeQueue([wrong]))

    job = await world.run(seeded(CPP))

    assert job.status is JobStatus.REFUSED
    assert job.message is not None
    assert job.message.startswith("the seed candidate was rejected by the gate correctness: row 3 is wrong. Repair it")
    assert [event.data["status"] for event in world.log(EventKind.JOB_STATUS)] == ["queued", "validating", "refused"]
    assert world.model.requests == []
    assert world.steps() == []
    kept = await world.candidates.get("local", candidate_id("job-1", 0))
    assert (kept.candidate.origin, kept.report) == (Origin.SEED, wrong)


async def test_a_seed_that_is_right_is_judged_once_and_is_the_first_step() -> None:
    world = World()

    job = await world.run(seeded(CPP))

    assert job.status is JobStatus.SOLVED
    ids = [request.candidate_id for request in world.queue.evaluated]
    assert ids == [candidate_id("job-1", 0), candidate_id("job-1", 1)]
    assert world.steps()[0].candidate_id == candidate_id("job-1", 0)


async def test_later_candidates_are_judged_with_the_seed_s_figures() -> None:
    seed = a_report(median_us=150.0)
    world = World(queue=FakeQueue([seed]))

    await world.run(seeded(CPP))

    first, second = world.queue.evaluated
    assert first.seed is None
    assert second.seed is not None
    assert (second.seed.latency, second.seed.speedup) == (seed.latency, seed.speedup)


async def test_a_kernel_of_another_backend_is_there_to_be_brought_over_and_may_fail() -> None:
    world = World(queue=FakeQueue([a_report(Verdict.REJECTED, failed_gate=GateName.COMPILE, detail="no g++ for it")]))

    job = await world.run(seeded(TRITON))

    assert job.status is JobStatus.SOLVED
    assert [step.verdict for step in world.steps()] == [Verdict.REJECTED, Verdict.ACCEPTED]
    assert all(request.seed is None for request in world.queue.evaluated)


async def test_what_the_machine_could_not_prove_is_tried_again_as_the_first_step() -> None:
    world = World(queue=FakeQueue([a_report(Verdict.INFRASTRUCTURE_ERROR), a_report()]))

    job = await world.run(seeded(CPP))

    assert job.status is JobStatus.SOLVED
    assert world.steps()[0].verdict is Verdict.ACCEPTED


@pytest.mark.parametrize(
    ("source", "backend"),
    [
        (CPP, "cpp"),
        (TRITON, "triton"),
        ("import kernelwright_rt\nX = kernelwright_rt.compile_cuda('')", "cuda"),
        ("from torch.utils.cpp_extension import load_inline\nX = load_inline('x', cuda_sources='')", "cuda"),
        ("from torch.utils.cpp_extension import load_inline\nX = load_inline('x', cpp_sources='')", "cpp"),
        ("import torch", None),
        ("def f(:", None),
    ],
)
def test_the_language_of_a_kernel_is_read_from_its_module(source: str, backend: str | None) -> None:
    assert backend_of(source) == backend
