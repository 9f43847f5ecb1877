"""A bench runs what has no row yet, as long as there is device time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernelwright.bench.jobs import BenchJobs
from kernelwright.bench.results import Results
from kernelwright.bench.rows import BenchRow, JobFacts
from kernelwright.bench.runner import Bench, BenchEnd, BenchLimits, pending
from kernelwright.suites.suite import SuiteProblem
from services.client import Client
from services.domain.errors import ConfigurationError, ConflictError, ProblemError
from services.domain.jobs import JobStatus
from services.domain.problems import Problem
from tests.doubles import a_problem
from tests.doubles.builders import MOMENT
from tests.doubles.clock import FrozenClock
from tests.unit.kernelwright.bench.builders import a_row, an_item, some_terms
from tests.unit.kernelwright.bench.test_rows import facts

DEVICE_S = 13.5
"""Of each job."""


class InstantJobs(BenchJobs):
    """Jobs that end at once; those of `failing` problems by the machine's fault, `wrong` ones cannot be read."""

    def __init__(self) -> None:
        super().__init__(Client("http://127.0.0.1"), some_terms())
        self.failing: set[str] = set()
        self.wrong: set[str] = set()
        self.names: list[str] = []
        self.solved: list[str] = []

    def check(self, problem: Problem) -> None:
        if problem.name in self.wrong:
            raise ProblemError("there is no Model", remedy="Write one.", path=problem.path)

    async def submit(self, problem: Problem, name: str) -> str:
        self.names.append(name)
        return problem.name

    async def _kernel(self, job_id: str, folder: Path) -> Path | None:
        return None

    async def finish(self, job_id: str, folder: Path) -> JobFacts:
        self.solved.append(job_id)
        if job_id in self.failing:
            return facts(job_id=job_id, status=JobStatus.FAILED, best_candidate_id=None, report=None)
        return facts(job_id=job_id)


class Silent:
    """Nobody is told."""

    def started(self, place: str, item: SuiteProblem, job_id: str) -> None:
        """Nothing."""

    def finished(self, place: str, row: BenchRow) -> None:
        """Nothing."""


ITEMS = [an_item(number) for number in (1, 2, 3)]


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return Results(tmp_path / "out")


async def run(
    jobs: InstantJobs, results: Results, items: list[SuiteProblem], limits: BenchLimits | None = None
) -> BenchEnd:
    with results.held():
        kept = results.begin(some_terms(), MOMENT)
        return await Bench(jobs, results, kept, FrozenClock(), Silent()).run(items, limits or BenchLimits())


async def test_a_second_call_runs_only_what_is_missing(results: Results) -> None:
    first, second = InstantJobs(), InstantJobs()
    await run(first, results, ITEMS[:2])
    end = await run(second, results, ITEMS)
    assert (first.solved, second.solved) == (["1_relu", "2_relu"], ["3_relu"])
    assert [row.number for row in results.rows()] == [1, 2, 3]
    assert end.remaining == ()


async def test_a_problem_that_was_interrupted_gets_the_same_job_again(results: Results) -> None:
    first, second, third = InstantJobs(), InstantJobs(), InstantJobs()
    await run(first, results, ITEMS[:1])
    (results.folder / "rows" / "1_relu.json").unlink()
    await run(second, results, ITEMS[:1])
    assert first.names == second.names
    await run(third, Results(results.folder.with_name("other")), ITEMS[:1])
    assert third.names != first.names, "another folder is another run"


async def test_no_problem_is_begun_once_the_device_time_is_spent(results: Results) -> None:
    limits = BenchLimits(device_seconds=DEVICE_S + 1)
    end = await run(InstantJobs(), results, ITEMS, limits)
    assert end == BenchEnd(remaining=("3_relu",), device_s=2 * DEVICE_S)
    end = await run(InstantJobs(), results, ITEMS, limits)
    assert end == BenchEnd(remaining=(), device_s=DEVICE_S), "each call has its own"


async def test_what_the_machine_failed_is_tried_again_only_if_asked(results: Results) -> None:
    jobs = InstantJobs()
    jobs.failing = {"2_relu"}
    await run(jobs, results, ITEMS)
    again = InstantJobs()
    await run(again, results, ITEMS)
    assert again.solved == []
    await run(again, results, ITEMS, BenchLimits(retry_failed=True))
    assert again.solved == ["2_relu"]
    assert again.names[0] not in jobs.names
    assert {row.number: row.attempt for row in results.rows()} == {1: 1, 2: 2, 3: 1}


async def test_a_problem_that_cannot_be_read_is_a_row_and_the_rest_goes_on(results: Results) -> None:
    jobs = InstantJobs()
    jobs.wrong = {"2_relu"}
    await run(jobs, results, ITEMS)
    assert jobs.solved == ["1_relu", "3_relu"]
    assert [row.status.value for row in results.rows()] == ["solved", "refused", "solved"]


async def test_terms_that_cannot_be_met_stop_it_before_the_first_job(results: Results) -> None:
    class Nowhere(InstantJobs):
        def check(self, problem: Problem) -> None:
            raise ConfigurationError("unknown backend 'ada'; known: cpp")

    jobs = Nowhere()
    with pytest.raises(ConfigurationError, match="unknown backend"):
        await run(jobs, results, ITEMS)
    assert (jobs.names, results.rows()) == ([], ())


def test_a_problem_whose_text_has_changed_is_refused() -> None:
    changed = replace(an_item(1), problem=a_problem("import torch\n", name="1_relu"))
    with pytest.raises(ConflictError, match=r"1_relu\.py: has changed since its row was written"):
        pending([changed], [a_row(1)], retry_failed=False)
