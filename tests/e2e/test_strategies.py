"""Every search strategy, and a beam of four, through the whole program on the CPU: database, orchestrator, referee."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from agents.strategies.registry import STRATEGIES
from kernelwright.local_job import open_solver
from kernelwright.settings import Settings
from services.domain.candidates import EvaluatedCandidate
from services.domain.jobs import LOCAL_TEAM, Budget, Job, JobSpec, Stage
from services.domain.problems import Problem
from services.domain.steps import Step
from tests.e2e.programs import SMALL, WELL, give_a_sheet
from tests.selection import collected, with_full

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1200)]
ROUNDS = 2
BEAM = 4


@dataclass(frozen=True, kw_only=True)
class Solved:
    """What one job left behind."""

    job: Job
    steps: tuple[Step, ...]
    candidates: tuple[EvaluatedCandidate, ...]


def a_spec(strategy: str, *, beam: int = 1, rounds: int = ROUNDS) -> JobSpec:
    return JobSpec(
        problem=Problem(name="small", source=SMALL, path="small.py"),
        strategy=strategy,
        beam=beam,
        budget=Budget(rounds=rounds),
        baselines=("eager",),
    )


def solve(home: Path, specs: Mapping[str, JobSpec]) -> dict[str, Solved]:
    """What each job left behind, by its name."""
    give_a_sheet(home)

    async def work() -> dict[str, Solved]:
        found = {}
        async with open_solver(Settings(home=home), *specs.values()) as solver:
            for name, spec in specs.items():
                job = await solver.submit(spec)
                outcome = await solver.finish(job.id, out=None, listener=lambda _event, _report: None)
                found[name] = Solved(
                    job=outcome.job,
                    steps=await solver.here.stores.jobs.steps(LOCAL_TEAM, job.id),
                    candidates=await solver.here.stores.candidates.list(LOCAL_TEAM, job.id),
                )
        return found

    return asyncio.run(work())


@pytest.fixture(scope="module")
def solved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Solved]:
    """Each strategy's job."""
    return solve(tmp_path_factory.mktemp("home"), {name: a_spec(name) for name in collected(request, "strategy")})


@pytest.mark.parametrize("strategy", with_full(sorted(STRATEGIES), ("greedy",)))
def test_a_strategy_drafts_refines_and_ends_with_an_accepted_kernel(solved: dict[str, Solved], strategy: str) -> None:
    found = solved[strategy]
    assert found.job.spec.strategy == strategy
    assert found.job.status in WELL
    assert found.job.best_candidate_id in {item.candidate.id for item in found.candidates}
    assert found.steps[0].stage is Stage.DRAFT
    assert 2 <= len(found.steps) <= ROUNDS
    made = {item.candidate.id: item for item in found.candidates}
    for step in found.steps:
        assert step.candidate_id is not None
        assert made[step.candidate_id].report is not None
        assert step.start_point is None or step.start_point in made


def test_a_beam_of_four_makes_its_candidates_at_the_same_time_and_keeps_to_the_rounds(tmp_path: Path) -> None:
    found = solve(tmp_path, {"beam": a_spec("greedy", beam=BEAM, rounds=BEAM + 1)})["beam"]
    assert found.job.status in WELL
    first, later = found.steps[:BEAM], found.steps[BEAM:]
    assert [step.index for step in first] == list(range(BEAM))
    assert {step.start_point for step in first} == {None}
    assert {step.stage for step in first} == {Stage.DRAFT}
    assert max(step.started_at for step in first) <= min(step.finished_at for step in first)
    assert len(found.steps) <= BEAM + 1
    assert all(step.started_at >= max(one.started_at for one in first) for step in later)
