"""Ways to have the work of some calls counted for others, in virtual time: none of them gains anything.

A scheme says when work is done that every call needs `WORK_S` for. The figures are those of the real stopwatch.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from workers.ipc.placement import TensorDevice
from workers.ipc.tensors import TensorMeta
from workers.referee.boundary.slots import Slot
from workers.referee.comparison.call_outputs import Fetched, Output
from workers.referee.gates.checks.deferred_work import hides
from workers.referee.inputs.fresh_values import FreshValues
from workers.referee.timing import batches, cuda_events
from workers.referee.timing.single_calls import Samples, SamplingBudget, Side
from workers.referee.timing.statistics import paired_ratio
from workers.runner.answers import BatchTimed
from workers.runner.protocol import TimeBatch

WORK_S = 1e-4
PROTOCOL_S = 2e-5
"""Of each call, in addition to the work."""
BATCH_S = 3e-4
"""Of each batch."""
ROOM = 32
"""Calls that a scheme may work ahead for: it need not know how many there will be."""
Scheme = Callable[[int, int], tuple[float, float]]
"""From a call's number in its batch, and among all calls, seconds within its events and outside of them."""


def honest(_index: int, _number: int) -> tuple[float, float]:
    return WORK_S, 0.0


def ahead(index: int, _number: int) -> tuple[float, float]:
    """The first call works for all that may follow."""
    return (ROOM * WORK_S if index == 0 else 0.0), 0.0


def ahead_for_those_that_come(index: int, _number: int) -> tuple[float, float]:
    """Every fifth works for four more."""
    return (5 * WORK_S if index % 5 == 0 else 0.0), 0.0


def every_third(_index: int, number: int) -> tuple[float, float]:
    return (3 * WORK_S if number % 3 == 0 else 0.0), 0.0


def behind(_index: int, _number: int) -> tuple[float, float]:
    """The work is done after the call."""
    return 0.0, WORK_S


def half_behind(_index: int, _number: int) -> tuple[float, float]:
    return WORK_S / 2, WORK_S / 2


def the_last_pays(index: int, _number: int) -> tuple[float, float]:
    return (20 * WORK_S if index == 19 else 0.0 if index != 9 else 10 * WORK_S), 0.0


class Machine:
    """A session, of either kind, whose calls take what a scheme says."""

    def __init__(self, scheme: Scheme) -> None:
        self._scheme = scheme
        self._number = 0

    def _calls(self, count: int) -> list[tuple[float, float]]:
        found = [self._scheme(index, self._number + index) for index in range(count)]
        self._number += count
        return found

    def ask(self, batch: TimeBatch, _expected: type[BatchTimed], *, limit_s: float) -> tuple[BatchTimed, float]:
        assert limit_s > 0
        calls = self._calls(len(batch.slots))
        wall = BATCH_S + sum(within + outside + PROTOCOL_S for within, outside in calls)
        return BatchTimed(each=tuple(within for within, _ in calls)), wall

    def call_batch(self, slots: Sequence[Slot], model: str) -> float:
        calls = [(0.0, 0.0)] * len(slots) if model == batches.IDLE else self._calls(len(slots))
        return BATCH_S + sum(within + outside + PROTOCOL_S for within, outside in calls)

    def open_sibling(self, slot: Slot, number: int, *, own_outputs: bool = False) -> Slot:
        return slot.sibling(number, own_outputs=own_outputs)

    def fetch(self, slot: Slot, _index: int) -> Fetched:
        value = slot.inputs.tensors[0]
        output = Output(kind="tensor", meta=TensorMeta.of(value), alias=None, value=value)
        return Fetched(outputs=(output,), structure=None, wall_s=1e-5)

    held_of_batch = fetch

    def forget(self, slots: Sequence[Slot]) -> None:
        """Nothing is kept."""

    def drop(self) -> None:
        """Nothing is held."""


def measured(scheme: Scheme, how: Callable[..., Samples]) -> Samples:
    """An A/A measurement, but for the candidate's scheme."""
    value = torch.randn(8)

    def side(one: Scheme) -> Side:
        slot = Slot(0, [value.clone()], [TensorMeta.of(value)], TensorDevice())
        session: Any = Machine(one)
        return Side(session=session, slot=slot, model="plain")

    values = FreshValues([[value]], lambda: [torch.randn(8)])
    budget = SamplingBudget(seconds=0.01)
    return how(side(scheme), side(honest), values, budget, check=lambda _checked: None)


IN_EVENTS = [ahead, ahead_for_those_that_come, every_third, the_last_pays]


@pytest.mark.parametrize("scheme", IN_EVENTS)
def test_work_for_other_calls_gains_nothing_on_a_gpu(scheme: Scheme) -> None:
    samples = measured(scheme, cuda_events.interleaved)
    assert paired_ratio(samples.baseline, samples.candidate).ci95[0] <= 1.0 + 1e-9
    assert statistics.fmean(samples.candidate) >= 0.95 * WORK_S


@pytest.mark.parametrize("scheme", [behind, half_behind])
def test_work_outside_of_the_events_shows_on_the_referees_clock(scheme: Scheme) -> None:
    samples = measured(scheme, cuda_events.interleaved)
    assert hides(samples)
    assert samples.hidden_s == pytest.approx(sum(scheme(0, 0)) - statistics.median(samples.candidate), rel=1e-6)


@pytest.mark.parametrize("scheme", [*IN_EVENTS, behind, half_behind])
def test_work_for_other_calls_gains_nothing_in_batches_on_a_cpu(scheme: Scheme) -> None:
    samples = measured(scheme, batches.batched)
    assert paired_ratio(samples.baseline, samples.candidate, samples.off).ci95[0] <= 1.0 + 1e-9
    assert statistics.median(samples.candidate) >= 0.8 * WORK_S


@pytest.mark.parametrize("how", [cuda_events.interleaved, batches.batched])
def test_a_kernel_without_a_scheme_is_as_fast_as_itself(how: Callable[..., Samples]) -> None:
    samples = measured(honest, how)
    assert not hides(samples)
    ratio = paired_ratio(samples.baseline, samples.candidate, samples.off)
    assert ratio.value == pytest.approx(1.0)
    assert list(ratio.ci95) == pytest.approx([1.0, 1.0])
    assert statistics.median(samples.candidate) == pytest.approx(WORK_S)
