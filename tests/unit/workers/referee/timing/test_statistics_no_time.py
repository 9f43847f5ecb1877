"""No figure is zero or less, whatever noise was taken off: there is a figure above what can be told, or none."""

from __future__ import annotations

import math
import random
from typing import cast

import pytest

from services.domain.measurements import Baselines
from tests.doubles.builders import a_latency
from workers.referee.baselines.correctness import Reference
from workers.referee.baselines.measurement import BaselineBench
from workers.referee.boundary.isolated_problem import IsolatedProblem
from workers.referee.boundary.worker_client import WorkerLink
from workers.referee.gates.checks.backward_timing import _divided
from workers.referee.gates.checks.memoization import remembered
from workers.referee.timing.single_calls import Alone, ProtocolCost, Samples
from workers.referee.timing.statistics import (
    NoFigureError,
    Uncertainty,
    is_stable,
    is_told,
    latency,
    paired_ratio,
    relative_width,
)
from workers.referee.trial import Measured

SPREAD_S = 5e-6


def around(seconds: float, spread_s: float = SPREAD_S, count: int = 40) -> list[float]:
    """Samples of a call from whose walls the protocol's usual time was taken off."""
    generator = random.Random(7)
    return [seconds + generator.gauss(0.0, spread_s) for _ in range(count)]


NOTHING = around(0.0)
LITTLE = around(SPREAD_S)
LONG = around(100 * SPREAD_S)


@pytest.mark.parametrize("seconds", [NOTHING, [-1e-6] * 20, [0.0] * 20])
def test_calls_that_cannot_be_told_from_none_have_no_latency(seconds: list[float]) -> None:
    assert not is_told(seconds)
    with pytest.raises(NoFigureError):
        latency(seconds)


@pytest.mark.parametrize(("baseline", "candidate"), [(LONG, NOTHING), (NOTHING, LONG), (NOTHING, NOTHING)])
def test_neither_have_they_a_ratio_on_either_side(baseline: list[float], candidate: list[float]) -> None:
    with pytest.raises(NoFigureError):
        paired_ratio(baseline, candidate)


def test_a_call_shorter_than_what_is_known_of_the_protocol_has_no_figure() -> None:
    assert is_told(LITTLE)
    with pytest.raises(NoFigureError):
        latency(LITTLE, Uncertainty(shorter_s=2 * SPREAD_S))
    with pytest.raises(NoFigureError):
        paired_ratio(LONG, LITTLE, Uncertainty(shorter_s=2 * SPREAD_S))


def test_every_figure_lies_above_zero_however_short_the_call() -> None:
    generator, told = random.Random(11), 0
    for _ in range(30):
        own, base = (10 ** generator.uniform(-7, -4) for _ in range(2))
        off = Uncertainty(shorter_s=generator.choice((0.0, 1e-6, 1e-5)), longer_s=generator.choice((0.0, 1e-6)))
        candidate, baseline = around(own), around(base)[::-1]
        try:
            found, ratio = latency(candidate, off), paired_ratio(baseline, candidate, off)
        except NoFigureError:
            continue
        told += 1
        assert 0 < found.ci95_us[0] <= found.median_us <= found.ci95_us[1]
        assert found.p10_us >= 0
        assert found.mean_us > 0
        assert 0 < ratio.ci95[0] <= ratio.value <= ratio.ci95[1] < math.inf
    assert 5 < told < 30


def test_one_sample_below_zero_moves_neither_the_ratio_nor_its_interval_beyond_the_others() -> None:
    candidate, baseline = [1e-4] * 40, [2e-4] * 40
    candidate[5] = -1e-6
    baseline[6] = -1e-6
    found = paired_ratio(baseline, candidate)
    assert found.value == pytest.approx(2.0)
    assert list(found.ci95) == pytest.approx([2.0, 2.0])


def test_pairs_of_which_neither_half_took_time_say_nothing() -> None:
    candidate, baseline = [1e-4] * 40, [2e-4] * 40
    candidate[::8] = baseline[::8] = [-1e-6] * 5
    assert paired_ratio(baseline, candidate).value == pytest.approx(2.0)


def test_an_interval_covers_what_another_estimate_of_the_protocol_would_give() -> None:
    candidate, baseline = [1e-4] * 40, [2e-4] * 40
    off = Uncertainty(shorter_s=2e-5, longer_s=1e-5)
    low, high = latency(candidate, off).ci95_us
    assert (low, high) == pytest.approx((80.0, 110.0))
    assert list(paired_ratio(baseline, candidate, off).ci95) == pytest.approx([2.1 / 1.1, 1.8 / 0.8])


def test_a_backward_pass_that_takes_no_time_beside_the_forward_has_no_figure() -> None:
    assert _divided([1.0] * 9, [0.4] * 9, 100.0).backward_us == pytest.approx(60.0)
    with pytest.raises(NoFigureError):
        _divided([1.0] * 9, [1.01] * 9, 100.0)


def test_samples_below_zero_are_neither_stable_nor_narrow() -> None:
    assert not is_stable([-1e-9] * 20)
    assert relative_width([-1e-9] * 20) == math.inf


def test_a_baseline_that_took_no_time_makes_nobody_slower_on_unseen_values() -> None:
    fresh = [index % 2 == 0 for index in range(20)]
    baseline = [-1e-7 if one else 1e-5 for one in fresh]
    samples = Samples(candidate=[1e-5] * 20, baseline=baseline, fresh=fresh)
    found = Measured(number=0, baseline="eager", samples=samples, shapes=())
    assert remembered(found, lambda: found) is None


def test_a_busy_machine_s_spread_is_in_the_interval_as_it_is() -> None:
    cost = ProtocolCost.of([2e-4 + 1e-5 * index for index in range(15)])
    assert cost.off.shorter_s == pytest.approx(4.9e-5)
    assert cost.tells([2e-4] * 5)
    assert not cost.tells([1e-4] * 5)


def test_where_a_baseline_has_no_figure_on_a_further_set_the_fastest_of_the_first_is_the_rival() -> None:
    known = Baselines(eager=a_latency(1000.0), compile=a_latency(400.0))
    bench = BaselineBench(
        cast("WorkerLink", None), cast("IsolatedProblem", None), known, 1, reference=cast("Reference", None)
    )
    bench._of_sets[1] = Baselines(eager=a_latency(10.0))
    assert bench.fastest(("eager", "compile"), 1) == "eager"
    bench.untold["compile", 1] = "it cannot be told from nothing"
    assert bench.fastest(("eager", "compile"), 1) == "compile"


def test_several_measurements_of_one_side_are_as_uncertain_as_the_worst() -> None:
    both = Alone(seconds=[1.0], off=Uncertainty(shorter_s=3.0))
    both.add(Alone(seconds=[2.0], off=Uncertainty(longer_s=4.0)))
    assert both == Alone(seconds=[1.0, 2.0], off=Uncertainty(shorter_s=3.0, longer_s=4.0))


def test_errors_by_chance_partly_cancel() -> None:
    both = Alone()
    for _ in range(4):
        both.add(Alone(seconds=[1.0], off=Uncertainty(shorter_s=4.0, longer_s=2.0, by_chance=True)))
    assert both.off == Uncertainty(shorter_s=2.0, longer_s=1.0, by_chance=True)
