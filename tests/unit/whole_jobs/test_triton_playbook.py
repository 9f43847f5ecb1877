"""Whole jobs about Triton with the playbook: the compiler's draft, then its templates, then the end. No GPU."""

from __future__ import annotations

import ast
from dataclasses import replace

from agents.playbook.model import answer
from agents.playbook.triton.planner import EXHAUSTED
from services.domain.candidates import Origin, candidate_id
from services.domain.evaluations import EvaluationReport, EvaluationRequest, Verdict
from services.domain.events import EventKind
from services.domain.experiences import ExperienceKind
from services.domain.gates import GateName
from services.domain.jobs import Budget, Job, JobStatus
from services.domain.problems import ProblemAnalysis
from services.domain.referees import CURRENT
from services.domain.validations import CompilerDraft, ValidationReport
from tests.doubles import FakeQueue, ScriptedModel, a_job, a_report, an_experience
from tests.doubles.builders import a_device
from tests.unit.agents.triton_problems import a_graph, a_product, operator, ref, spec
from tests.unit.orchestrator.world import World

DRAFT = "class ModelNew: 'by the compiler'\n"


def judged(request: EvaluationRequest) -> EvaluationReport:
    """Split products do not compile, the compiler's draft takes 200 µs, everything else 100."""
    if "def gather_kernel" in request.source:
        return a_report(Verdict.REJECTED, failed_gate=GateName.COMPILE, detail="out of resource: shared memory")
    return a_report(median_us=200.0 if request.source == DRAFT else 100.0)


def a_world(analysis: ProblemAnalysis) -> World:
    draft = CompilerDraft(source=DRAFT)
    validation = ValidationReport(analysis=analysis, refusal=None, device=a_device("h200"), draft=draft)
    return World(
        model=ScriptedModel(lambda request: answer(request).model_dump_json(), name="playbook"),
        queue=FakeQueue(judged, validation=validation),
    )


def a_triton_job(rounds: int = 8) -> Job:
    job = a_job(budget=Budget(rounds=rounds))
    spec = replace(job.spec, backend="triton", device="h200", model="playbook", compiler_draft=True)
    return replace(job, spec=spec)


def moves(world: World) -> list[tuple[str, ...]]:
    return [tuple(move.name for move in step.plan.moves) if step.plan else () for step in world.steps()]


async def test_every_template_is_tried_a_refused_one_is_passed_over_and_the_job_ends_by_itself() -> None:
    world = a_world(a_product())

    job = await world.run(a_triton_job())

    assert moves(world)[:4] == [(), ("matmul.tiled",), ("matmul.split_k",), ("matmul.two_parts",)]
    assert [step.verdict for step in world.steps()[:4]] == [
        Verdict.ACCEPTED, Verdict.ACCEPTED, Verdict.REJECTED, Verdict.ACCEPTED,
    ]  # fmt: skip
    assert job.status is JobStatus.SOLVED
    assert job.message == EXHAUSTED
    assert job.best_candidate_id == candidate_id("job-1", 1)
    origins = [item.candidate.origin for item in await world.candidates.list("local", "job-1")]
    assert origins[:2] == [Origin.COMPILER, Origin.REFINEMENT]


async def test_the_leader_is_measured_again_before_the_job_ends() -> None:
    world = a_world(a_product())
    world.confirmations = 1

    job = await world.run(a_triton_job())

    evaluated = [request.source for request in world.queue.evaluated]
    assert world.queue.evaluated[-1].thorough
    assert evaluated.count(evaluated[-1]) == 2
    assert job.message == EXHAUSTED


async def test_what_the_coder_writes_is_a_whole_module_with_tunables() -> None:
    world = a_world(a_product())

    await world.run(a_triton_job(rounds=1))

    source = world.queue.evaluated[1].source
    names = {node.name for node in ast.parse(source).body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    assert {"product_kernel", "product", "ModelNew"} <= names
    assert "TUNABLES = {" in source


async def test_a_remembered_kernel_of_the_family_is_tried_first() -> None:
    world = a_world(a_product())
    experience = replace(
        an_experience("exp-fast"),
        kind=ExperienceKind.TRACE,
        family="matmul",
        backend="triton",
        verdict=Verdict.ACCEPTED,
        referee=CURRENT,
        speedup=3.0,
        moves=("matmul.two_parts",),
        code="import triton",
    )
    await world.memory.remember([experience])

    await world.run(a_triton_job(rounds=2))

    assert moves(world)[1:3] == [("matmul.two_parts",), ("matmul.tiled",)]
    planned = world.steps()[1].plan
    assert planned is not None
    assert "fastest remembered" in planned.hypothesis


async def test_without_a_template_the_compiler_s_draft_is_all_there_is() -> None:
    sort = a_graph(
        operator("sort.default", ref("x"), output=spec("sort", 64, 64)), inputs=(spec("x", 64, 64),), family="unknown"
    )
    world = a_world(sort)

    job = await world.run(a_triton_job())

    assert job.best_candidate_id == candidate_id("job-1", 0)
    assert "no Triton template for sort.default" in (job.message or "")
    assert len(world.queue.evaluated) == 1
    assert world.log(EventKind.JOB_FINISHED)
