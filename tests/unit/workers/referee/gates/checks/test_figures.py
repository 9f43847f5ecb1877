"""The ratios of a page can be computed from its medians."""

import pytest

from services.domain.measurements import Baselines
from tests.doubles.builders import a_latency
from workers.referee.gates.checks.figures import page_baselines, shape_result
from workers.referee.timing.single_calls import Samples
from workers.referee.trial import Measured

KNOWN = Baselines(eager=a_latency(400.0), compile=a_latency(200.0))
"""Measured before, when the machine was twice as slow as beside the candidate."""


def measured(candidate_us: float, compile_us: float) -> Measured:
    samples = Samples(candidate=[candidate_us * 1e-6] * 20, baseline=[compile_us * 1e-6] * 20)
    return Measured(number=0, baseline="compile", samples=samples, shapes=((4, 4),))


def test_every_speedup_is_the_quotient_of_two_medians_on_the_page() -> None:
    one = measured(50.0, 100.0)
    result, page = shape_result(one, KNOWN), page_baselines(KNOWN, one)
    assert page.compile is not None
    assert page.eager is not None
    assert page.compile.median_us == pytest.approx(100.0)
    assert page.eager.median_us == pytest.approx(200.0)
    assert result.speedup.compile == pytest.approx(page.compile.median_us / result.latency.median_us)
    assert result.speedup.eager == pytest.approx(page.eager.median_us / result.latency.median_us)


def test_a_baseline_that_nobody_measured_is_not_on_the_page() -> None:
    assert page_baselines(KNOWN, measured(50.0, 100.0)).compile_max is None
