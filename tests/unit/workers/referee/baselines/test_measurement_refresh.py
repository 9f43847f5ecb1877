"""When a referee measures its baselines again: they are old, or the canary has drifted."""

from typing import cast

from services.domain.measurements import Baselines
from tests.doubles.builders import a_latency
from workers.referee.baselines.correctness import Reference
from workers.referee.baselines.measurement import DRIFT, LEAST_AGE_S, BaselineBench
from workers.referee.boundary.isolated_problem import IsolatedProblem
from workers.referee.boundary.worker_client import WorkerLink

KNOWN = Baselines(eager=a_latency(1000.0), compile=a_latency(400.0))


def a_bench(*, age_s: float, known: Baselines = KNOWN) -> BaselineBench:
    """Nothing here reaches a worker or a problem."""
    link, problem, reference = (
        cast("WorkerLink", None),
        cast("IsolatedProblem", None),
        cast("Reference", None),
    )
    return BaselineBench(link, problem, known, 1, reference=reference, age_s=age_s)


def test_young_baselines_are_kept() -> None:
    bench = a_bench(age_s=1000.0)
    assert bench.refresh(3600.0) is None
    assert bench.baselines == KNOWN


def test_old_baselines_are_forgotten_with_a_reason_that_is_said() -> None:
    bench = a_bench(age_s=4000.0)
    assert bench.refresh(3600.0) == "older than 3600 s"
    assert bench.baselines == Baselines()


def test_baselines_are_forgotten_when_the_canary_drifts_either_way() -> None:
    for factor in (DRIFT * 1.01, 1 / (DRIFT * 1.01)):
        bench = a_bench(age_s=LEAST_AGE_S + 1)
        bench.observe("compile", 0.0004)
        bench.observe("compile", 0.0004 * factor)
        why = bench.refresh(3600.0)
        assert why is not None
        assert f"compile takes {factor:.2f} times as long as it did" in why
        assert bench.baselines == Baselines()
        assert bench.refresh(3600.0) is None


def test_a_canary_within_its_bounds_changes_nothing_and_another_baseline_is_no_drift() -> None:
    bench = a_bench(age_s=LEAST_AGE_S + 1)
    for name, seconds in (("compile", 0.0004), ("compile", 0.00045), ("eager", 0.001), ("compile", 0.00035)):
        bench.observe(name, seconds)
    assert bench.refresh(3600.0) is None


def test_a_machine_that_drifts_all_the_time_is_not_measured_all_the_time() -> None:
    bench = a_bench(age_s=LEAST_AGE_S / 2)
    bench.observe("eager", 0.001)
    bench.observe("eager", 0.009)
    assert bench.refresh(3600.0) is None
    assert bench.baselines == KNOWN
