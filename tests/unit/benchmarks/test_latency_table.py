"""A recorded table of evaluations answers as the workbench did that filled it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.latency_table import MissingError, TableWorkbench
from services.domain.evaluations import EvaluationReport, EvaluationRequest, Verdict
from services.domain.measurements import Baselines, Speedup
from services.domain.validations import ValidationReport, ValidationRequest
from tests.doubles import a_candidate, a_device, a_problem, a_report, an_analysis
from tests.doubles.builders import a_latency, an_evaluation_request

BASELINES = Baselines(eager=a_latency(300.0), compile=a_latency(200.0))


class Bench:
    """Every evaluation comes out otherwise."""

    def __init__(self) -> None:
        self.verdicts = [Verdict.ACCEPTED] * 10
        self.asked: list[EvaluationRequest] = []

    def validate(self, request: ValidationRequest, cancelled: Callable[[], bool] = lambda: False) -> ValidationReport:
        del request, cancelled
        return ValidationReport(analysis=an_analysis(), refusal=None, device=a_device(), baselines=BASELINES)

    def evaluate(self, request: EvaluationRequest, cancelled: Callable[[], bool]) -> EvaluationReport:
        del cancelled
        self.asked.append(request)
        report = a_report(self.verdicts[len(self.asked) - 1], median_us=100.0 + len(self.asked))
        return replace(report, speedup=Speedup(best_baseline=1.0 + len(self.asked)))

    def close_job(self, job_id: str) -> None:
        raise AssertionError(f"the referee of {job_id} is to stay warm")

    def close(self) -> None:
        """Nothing to free."""


def a_validation_request() -> ValidationRequest:
    return ValidationRequest(job_id="job-1", team_id="local", problem=a_problem(), device="cpu", backend="cpp")


def an_evaluation() -> EvaluationRequest:
    return an_evaluation_request(a_candidate())


def evaluated(bench: TableWorkbench, request: EvaluationRequest) -> EvaluationReport:
    return bench.evaluate(request, lambda: False)


def test_a_kernel_is_measured_once_whichever_job_asks(tmp_path: Path) -> None:
    real = Bench()
    bench = TableWorkbench(tmp_path / "table.json.gz", lambda: real)
    bench.validate(a_validation_request())
    first = evaluated(bench, an_evaluation())
    bench.close_job("job-1")
    assert evaluated(bench, replace(an_evaluation(), job_id="job-2", evaluation_id="eval-other")) == first
    assert (len(real.asked), bench.measured, bench.replayed) == (1, 1, 1)


def test_a_table_replays_without_a_workbench_and_says_what_it_lacks(tmp_path: Path) -> None:
    recorder = TableWorkbench(tmp_path / "table.json.gz", Bench)
    validation = recorder.validate(a_validation_request())
    report = evaluated(recorder, an_evaluation())
    replay = TableWorkbench(tmp_path / "table.json.gz", None)
    assert (replay.validate(a_validation_request()), evaluated(replay, an_evaluation())) == (validation, report)
    with pytest.raises(MissingError, match="--record"):
        evaluated(replay, replace(an_evaluation(), source="class ModelNew:\n    OTHER = 1\n"))


def test_latencies_are_told_in_terms_of_the_validations_baseline(tmp_path: Path) -> None:
    bench = TableWorkbench(tmp_path / "table.json.gz", Bench)
    bench.validate(a_validation_request())
    latency = evaluated(bench, an_evaluation()).latency
    assert latency is not None
    assert latency.median_us == pytest.approx(200.0 / 2.0)


def test_a_failure_of_the_machine_is_not_kept(tmp_path: Path) -> None:
    real = Bench()
    real.verdicts[0] = Verdict.INFRASTRUCTURE_ERROR
    bench = TableWorkbench(tmp_path / "table.json.gz", lambda: real)
    bench.validate(a_validation_request())
    assert evaluated(bench, an_evaluation()).verdict is Verdict.INFRASTRUCTURE_ERROR
    assert evaluated(bench, an_evaluation()).verdict is Verdict.ACCEPTED


def test_a_settled_figure_is_the_median_of_further_measurements_that_are_kept(tmp_path: Path) -> None:
    real = Bench()
    bench = TableWorkbench(tmp_path / "table.json.gz", lambda: real)
    bench.validate(a_validation_request())
    request = an_evaluation()
    first = evaluated(bench, request)
    settled = bench.settle(request.problem, request.source, 2)
    speedups = (2.0, 3.0, 4.0)
    assert settled == pytest.approx(200.0 / speedups[1])
    assert [asked.thorough for asked in real.asked] == [False, True, True]
    assert len({asked.evaluation_id for asked in real.asked}) == 3
    again = TableWorkbench(tmp_path / "table.json.gz", None)
    assert again.settle(request.problem, request.source, 2) == settled
    assert evaluated(again, request) == first, "a search goes on seeing its first figure"
