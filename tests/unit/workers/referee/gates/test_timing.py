"""Figures, or whose doing it is that there are none: the candidate's, or the machine's."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from services.domain.errors import InfrastructureError
from services.domain.evaluations import ObjectiveKind
from services.domain.gates import GateStatus
from services.domain.measurements import Baselines
from services.domain.objectives import Objective
from tests.doubles.builders import a_latency
from tests.unit.workers.referee.trials import a_trial
from workers.referee.gates import timing
from workers.referee.timing.single_calls import Samples
from workers.referee.timing.statistics import Uncertainty
from workers.referee.trial import Measured

STEADY = [1e-3, 1.01e-3, 0.99e-3] * 4
UNSTEADY = [1e-5, 2e-2, 1.1e-5, 1.9e-2] * 3
SPREAD_S = 5e-6


def around(seconds: float, spread_s: float = SPREAD_S, count: int = 40) -> list[float]:
    """Samples of a call from whose walls the protocol's usual time was taken off."""
    generator = random.Random(7)
    return [seconds + generator.gauss(0.0, spread_s) for _ in range(count)]


NOTHING = around(0.0)
LONG = around(100 * SPREAD_S)


def a_timed(
    candidate: Sequence[float], baseline: Sequence[float], off: Uncertainty | None = None, *, batched: bool = False
) -> Any:
    """A trial whose first input set was measured so."""
    samples = Samples(candidate=list(candidate), baseline=list(baseline), off=off or Uncertainty(), batched=batched)
    bench = SimpleNamespace(known=lambda _number: Baselines(eager=a_latency(1.0)), untold={})
    return a_trial(
        Measured(number=0, baseline="eager", samples=samples, shapes=()),
        state=SimpleNamespace(bench=bench),
        problem=SimpleNamespace(set_names=["set 0"], objective=Objective()),
        baselines=("eager", "compile"),
    )


def test_a_candidate_alone_unsteady_fails() -> None:
    finding = timing.examine(a_timed(UNSTEADY, STEADY))

    assert finding.status is GateStatus.FAILED
    assert "no stable measurement" in finding.detail


def test_where_the_reference_is_unsteady_too_the_machine_is_blamed() -> None:
    with pytest.raises(InfrastructureError, match="too busy to time anything: calls of eager"):
        timing.examine(a_timed(UNSTEADY, UNSTEADY))


def test_where_a_baseline_has_no_figure_no_speedup_is_told() -> None:
    """It might have been the fastest."""
    one = a_timed(LONG, LONG, Uncertainty(), batched=False)
    one.state.bench.untold["compile", 1] = "on another set"
    timing._check_rivals(one)
    one.state.bench.untold["compile", 0] = "calls of compile cannot be told"
    with pytest.raises(InfrastructureError, match="too busy: calls of compile cannot be told"):
        timing.examine(one)


def test_one_of_many_sets_may_be_left_out_of_their_mean() -> None:
    one = a_timed(LONG, LONG, Uncertainty(), batched=False)
    one.runner = SimpleNamespace(session=SimpleNamespace(is_stopped_between_calls=True))
    one.state.bench.notes, one.state.bench.baselines = {}, one.state.bench.known(0)
    problem = SimpleNamespace(is_step=False, set_names=[f"set {number}" for number in range(9)], objective=Objective())
    one.state.problem, one.state.is_one_of_many = problem, True
    one.state.place = SimpleNamespace(is_gpu=True)  # where nothing is compared with the reference's operators
    steady = one.measured[0]
    untold = replace(
        steady, number=3, samples=Samples(candidate=NOTHING, baseline=NOTHING, off=Uncertainty(shorter_s=1.0))
    )
    one.measured = [replace(steady, number=number) if number != 3 else untold for number in range(9)]
    assert "left out: set 3, whose calls cannot be distinguished" in timing.examine(one).detail
    assert len(one.shapes) == 8
    problem.objective = Objective(kind=ObjectiveKind.WORST)
    with pytest.raises(InfrastructureError, match="too busy to time calls this short"):
        timing.examine(one)


STEADY_NOTHING = around(0.0, 1e-7)
"""Of a kernel whose calls cannot be told from none."""


@pytest.mark.parametrize("batched", [True, False])
def test_too_fast_is_who_cannot_be_told_from_nothing_where_that_is_known_well(batched: bool) -> None:
    off = Uncertainty(shorter_s=0.5e-6)
    finding = timing.examine(a_timed([1e-7] * 40, LONG, off, batched=batched))
    assert finding.status is GateStatus.FAILED
    assert "too fast to be measured" in finding.detail


@pytest.mark.parametrize("batched", [True, False])
def test_where_nothing_is_known_badly_the_machine_is_blamed(batched: bool) -> None:
    off = Uncertainty(shorter_s=1.1 * timing.widest(Samples(batched=batched)))
    with pytest.raises(InfrastructureError, match="too busy to time calls this short"):
        timing.examine(a_timed([1e-7] * 40, LONG, off, batched=batched))


@pytest.mark.parametrize("batched", [True, False])
def test_where_the_reference_has_no_figure_either_the_machine_is_blamed(batched: bool) -> None:
    with pytest.raises(InfrastructureError, match="too busy to time calls this short"):
        timing.examine(a_timed(STEADY_NOTHING, NOTHING, Uncertainty(), batched=batched))


def test_calls_that_lie_as_far_apart_as_the_reference_s_longer_ones_are_the_machine_s() -> None:
    with pytest.raises(InfrastructureError, match="too busy to time anything"):
        timing.examine(a_timed(NOTHING, LONG, Uncertainty(), batched=True))


def test_calls_that_lie_further_apart_than_the_reference_s_are_the_candidate_s() -> None:
    finding = timing.examine(a_timed(around(0.0, 50 * SPREAD_S), LONG, Uncertainty(), batched=True))
    assert finding.status is GateStatus.FAILED
    assert "no stable measurement" in finding.detail
