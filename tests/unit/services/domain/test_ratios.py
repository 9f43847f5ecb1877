"""Speedups over the kernel that a job started from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.domain.evaluations import Verdict
from services.domain.measurements import Baselines, Speedup
from services.domain.ratios import baseline_bounds, eager_bounds, paced_us, paired_time, seed_figures, with_seed
from tests.doubles import a_report
from tests.doubles.builders import a_latency


def test_the_seed_s_speedup_is_divided_out_where_both_met_the_same_baseline() -> None:
    seed = seed_figures(a_report(median_us=200.0, eager_us=400.0))
    # The machine is twice as slow by now, for everybody: the ratio of medians would say 1.0.
    found = with_seed(a_report(median_us=200.0, eager_us=800.0), seed).speedup
    assert found.seed == pytest.approx(2.0)
    assert found.seed_ci95 is not None
    low, high = found.seed_ci95
    assert 1.9 < low < 2.0 < high < 2.1
    assert high / low > 1.03 / 0.97


def test_medians_are_divided_where_the_baselines_differ() -> None:
    seed = seed_figures(a_report(median_us=200.0))
    other = replace(a_report(median_us=100.0), baselines=Baselines(compile=a_latency(150.0)))
    found = with_seed(other, seed).speedup
    assert found.seed == pytest.approx(2.0)
    assert found.seed_ci95 == pytest.approx((196 / 102, 204 / 98))


def test_candidates_are_compared_at_the_pace_of_the_baseline_beside_them() -> None:
    quiet = a_report(median_us=200.0, eager_us=400.0)
    # The same kernel while everything takes half as long again: the baseline's own figure is the one of before.
    busy = replace(quiet, latency=a_latency(300.0))
    assert paced_us(quiet) == pytest.approx(200.0)
    assert paced_us(busy) == pytest.approx(200.0)


def test_candidates_are_ranked_by_their_pairs_whatever_the_baseline_took_by_itself() -> None:
    faster = a_report(median_us=344.8, eager_us=400.0)
    slower = a_report(median_us=416.7, eager_us=400.0)
    # Measured anew in between, the baseline took half the time: by latencies the slower one would lead.
    anew = replace(slower, latency=a_latency(208.0), baselines=Baselines(eager=a_latency(200.0)))
    times = paired_time(faster), paired_time(anew)
    assert times[0] is not None
    assert times[1] is not None
    assert times[0] < times[1]


def test_a_latency_without_a_pair_is_compared_as_it_is() -> None:
    alone = replace(a_report(median_us=120.0), speedup=Speedup(), baselines=Baselines())
    assert paced_us(alone) == pytest.approx(120.0)
    assert paced_us(a_report(Verdict.SUSPICIOUS)) is None
    assert paced_us(None) is None


def test_what_was_not_timed_or_not_accepted_has_no_figure() -> None:
    assert seed_figures(None) is None
    assert seed_figures(a_report(Verdict.REJECTED)) is None
    assert seed_figures(a_report(Verdict.SUSPICIOUS)) is None
    rejected = a_report(Verdict.REJECTED)
    assert with_seed(rejected, seed_figures(a_report())) == rejected
    assert with_seed(a_report(), None).speedup.seed is None


def test_bounds_over_eager_are_the_pair_s_where_eager_was_the_rival() -> None:
    report = a_report(median_us=100.0, eager_us=200.0)
    assert eager_bounds(report) == report.speedup.ci95
    assert eager_bounds(replace(report, speedup=Speedup())) is None


def test_bounds_over_a_baseline_beside_the_pair_lie_around_its_speedup() -> None:
    # In the pair torch.compile took 156 µs, by itself 150: eager's figure is scaled by that, and so are its bounds.
    report = replace(
        a_report(median_us=100.0, eager_us=200.0),
        baselines=Baselines(eager=a_latency(200.0), compile=a_latency(150.0)),
        speedup=Speedup(eager=2.08, compile=1.56, best_baseline=1.56, ci95=(1.55, 1.57)),
    )
    bounds = baseline_bounds(report, "eager")
    assert bounds == pytest.approx((1.55 * 196 / 153, 1.57 * 204 / 147))
    assert bounds is not None
    assert bounds[0] < 2.08 < bounds[1]
    assert baseline_bounds(report, "compile") == (1.55, 1.57)
    assert baseline_bounds(report, "compile_max") is None


def test_bounds_of_a_quick_look_are_those_of_the_medians() -> None:
    report = a_report(median_us=100.0, eager_us=200.0)
    quick = replace(report, speedup=Speedup(eager=2.0, best_baseline=2.0))
    assert eager_bounds(quick) == pytest.approx((196 / 102, 204 / 98))
