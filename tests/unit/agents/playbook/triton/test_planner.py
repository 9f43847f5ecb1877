"""The Triton playbook's answers for the agents."""

from __future__ import annotations

from dataclasses import replace

from agents.playbook import critic
from agents.playbook.triton.catalogue import kernels
from agents.playbook.triton.planner import EXHAUSTED, code, plan
from services.domain.chat import AttemptFact, Facts
from services.domain.gates import GateName
from services.domain.jobs import Stage
from services.domain.measurements import Baselines
from services.domain.problems import Problem, ProblemAnalysis
from tests.unit.agents.playbook.test_planner import report
from tests.unit.agents.playbook.triton.test_catalogue import names
from tests.unit.agents.triton_problems import a_product


def facts(analysis: ProblemAnalysis, attempts: tuple[AttemptFact, ...] = (), **changes: object) -> Facts:
    made = Facts(
        job_id="job", step=len(attempts), stage=Stage.DRAFT, seed=1, problem=Problem(name="p", source=""),
        analysis=analysis, backend="triton", device=None, baselines=Baselines(), attempts=attempts, experiences=(),
        start_point=None,
    )  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]


def tried(analysis: ProblemAnalysis, count: int) -> tuple[AttemptFact, ...]:
    return tuple(
        AttemptFact(
            step=step, stage=Stage.DRAFT, candidate_id=f"c{step}", parent_id=None, plan=None,
            source=item.variant.source, report=report(100.0),
        )
        for step, item in enumerate(kernels(analysis)[:count])
    )  # fmt: skip


def test_the_kernels_follow_each_other_and_then_the_playbook_says_so() -> None:
    analysis = a_product()
    asked = [plan(facts(analysis, tried(analysis, count))) for count in range(4)]
    assert [reply.moves[0].name for reply in asked[:3]] == names(analysis)
    assert asked[3].unable == EXHAUSTED
    written = code(facts(analysis, plan=asked[1].fact()))
    assert (written.summary, written.source) == ("matmul.split_k", kernels(analysis)[1].variant.source)


def test_branches_of_a_beam_take_different_kernels() -> None:
    found = [plan(facts(a_product(), branch=branch, width=2)).moves[0].name for branch in range(2)]
    assert found == ["matmul.tiled", "matmul.split_k"]


def test_the_judge_names_the_next_kernel_and_knows_no_schedules() -> None:
    analysis = a_product()
    first = kernels(analysis)[0].variant.source
    advice = critic.refine(facts(analysis, source=first, report=report(100.0)))
    assert advice.method == "matmul.split_k"
    done = critic.refine(facts(analysis, tried(analysis, 3), source=first, report=report(100.0)))
    assert (done.method, done.modification_plan) == ("none", EXHAUSTED)
    refused = critic.draft(facts(analysis, source=first, report=report(100.0, GateName.COMPILE)))
    assert "next kernel" in refused.minimal_fix
