"""No figure is zero or less, whatever noise was taken off: there is a figure above what can be told, or none."""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from services.domain.errors import InfrastructureError
from services.domain.evaluations import ObjectiveKind
from services.domain.gates import GateStatus
from services.domain.measurements import Baselines
from services.domain.objectives import Objective
from tests.doubles.builders import a_latency
from workers.referee.baselines.bench import BaselineBench
from workers.referee.baselines.rightness import Reference
from workers.referee.gates.passes import _divided
from workers.referee.gates.remembering import remembered
from workers.referee.gates.timing import TimingGate, _check_rivals, widest
from workers.referee.session.isolated_problem import IsolatedProblem
from workers.referee.timing.single_calls import Alone, ProtocolCost, Samples
from workers.referee.timing.statistics import (
    NoFigureError,
    Uncertainty,
    is_stable,
    is_told,
    latency,
    paired_ratio,
    relative_width,
    unpaired_ratio,
)
from workers.referee.trial import Measured
from workers.referee.worker_client import WorkerLink

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


@pytest.mark.parametrize("ratio", [paired_ratio, unpaired_ratio])
@pytest.mark.parametrize(("baseline", "candidate"), [(LONG, NOTHING), (NOTHING, LONG), (NOTHING, NOTHING)])
def test_neither_have_they_a_ratio_on_either_side(
    ratio: Callable[..., object], baseline: list[float], candidate: list[float]
) -> None:
    with pytest.raises(NoFigureError):
        ratio(baseline, candidate)


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


def test_where_a_baseline_has_no_figure_no_speedup_is_told() -> None:
    """It might have been the fastest."""
    one = trial(LONG, LONG, Uncertainty(), batched=False)
    one.state.bench.untold["compile", 1] = "on another set"
    _check_rivals(one)
    one.state.bench.untold["compile", 0] = "calls of compile cannot be told"
    with pytest.raises(InfrastructureError, match="too busy: calls of compile cannot be told"):
        TimingGate().examine(one)


def test_where_a_baseline_has_no_figure_on_a_further_set_the_fastest_of_the_first_is_the_rival() -> None:
    known = Baselines(eager=a_latency(1000.0), compile=a_latency(400.0))
    bench = BaselineBench(
        cast("WorkerLink", None), cast("IsolatedProblem", None), known, 1, reference=cast("Reference", None)
    )
    bench._of_sets[1] = Baselines(eager=a_latency(10.0))
    assert bench.fastest(("eager", "compile"), 1) == "eager"
    bench.untold["compile", 1] = "it cannot be told from nothing"
    assert bench.fastest(("eager", "compile"), 1) == "compile"


def test_one_of_many_sets_may_be_left_out_of_their_mean() -> None:
    one = trial(LONG, LONG, Uncertainty(), batched=False)
    one.notes, one.held_out, one.session = [], [], SimpleNamespace(is_stopped_between_calls=True)
    one.phase, one.state.bench.notes = (lambda _name: contextlib.nullcontext()), {}
    one.state.bench.baselines = one.state.bench.known(0)
    problem = SimpleNamespace(is_step=False, set_names=[f"set {number}" for number in range(9)], objective=Objective())
    one.state.problem, one.state.is_one_of_many = problem, True
    one.state.place = SimpleNamespace(is_gpu=True)  # where nothing is compared with the reference's operators
    steady = one.measured[0]
    untold = replace(
        steady, number=3, samples=Samples(candidate=NOTHING, baseline=NOTHING, off=Uncertainty(shorter_s=1.0))
    )
    one.measured = [replace(steady, number=number) if number != 3 else untold for number in range(9)]
    assert "left out: set 3, whose calls cannot be told" in TimingGate().examine(one).detail
    assert len(one.shapes) == 8
    problem.objective = Objective(kind=ObjectiveKind.WORST)
    with pytest.raises(InfrastructureError, match="too busy to time calls this short"):
        TimingGate().examine(one)


def test_several_measurements_of_one_side_are_as_uncertain_as_the_worst() -> None:
    both = Alone(seconds=[1.0], off=Uncertainty(shorter_s=3.0))
    both.add(Alone(seconds=[2.0], off=Uncertainty(longer_s=4.0)))
    assert both == Alone(seconds=[1.0, 2.0], off=Uncertainty(shorter_s=3.0, longer_s=4.0))


def test_errors_by_chance_partly_cancel() -> None:
    both = Alone()
    for _ in range(4):
        both.add(Alone(seconds=[1.0], off=Uncertainty(shorter_s=4.0, longer_s=2.0, by_chance=True)))
    assert both.off == Uncertainty(shorter_s=2.0, longer_s=1.0, by_chance=True)


def trial(candidate: Sequence[float], baseline: Sequence[float], off: Uncertainty, *, batched: bool) -> Any:
    samples = Samples(candidate=list(candidate), baseline=list(baseline), off=off, batched=batched)
    measured = Measured(number=0, baseline="eager", samples=samples, shapes=())
    bench = SimpleNamespace(known=lambda _number: Baselines(eager=a_latency(1.0)), untold={})
    state = SimpleNamespace(bench=bench)
    return SimpleNamespace(
        measured=[measured],
        shapes=[],
        state=state,
        request=SimpleNamespace(baselines=("eager", "compile")),
        named=lambda result, _number: result,
    )


STEADY_NOTHING = around(0.0, 1e-7)
"""Of a kernel whose calls cannot be told from none."""


@pytest.mark.parametrize("batched", [True, False])
def test_too_fast_is_who_cannot_be_told_from_nothing_where_that_is_known_well(batched: bool) -> None:
    off = Uncertainty(shorter_s=0.5e-6)
    finding = TimingGate().examine(trial([1e-7] * 40, LONG, off, batched=batched))
    assert finding.status is GateStatus.FAILED
    assert "too fast to be measured" in finding.detail


@pytest.mark.parametrize("batched", [True, False])
def test_where_nothing_is_known_badly_the_machine_is_blamed(batched: bool) -> None:
    off = Uncertainty(shorter_s=1.1 * widest(Samples(batched=batched)))
    with pytest.raises(InfrastructureError, match="too busy to time calls this short"):
        TimingGate().examine(trial([1e-7] * 40, LONG, off, batched=batched))


@pytest.mark.parametrize("batched", [True, False])
def test_where_the_reference_has_no_figure_either_the_machine_is_blamed(batched: bool) -> None:
    with pytest.raises(InfrastructureError, match="too busy to time calls this short"):
        TimingGate().examine(trial(STEADY_NOTHING, NOTHING, Uncertainty(), batched=batched))


def test_calls_that_lie_as_far_apart_as_the_reference_s_longer_ones_are_the_machine_s() -> None:
    with pytest.raises(InfrastructureError, match="too busy to time anything"):
        TimingGate().examine(trial(NOTHING, LONG, Uncertainty(), batched=True))


def test_calls_that_lie_further_apart_than_the_reference_s_are_the_candidate_s() -> None:
    finding = TimingGate().examine(trial(around(0.0, 50 * SPREAD_S), LONG, Uncertainty(), batched=True))
    assert finding.status is GateStatus.FAILED
    assert "no stable measurement" in finding.detail
