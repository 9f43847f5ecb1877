"""How calls are timed: one by one on the host's clock, or on a GPU by events, in batches that this clock checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import torch

from workers.ipc.placement import TensorDevice
from workers.referee.inputs.fresh_values import FreshValues
from workers.referee.timing import single_calls
from workers.referee.timing.baseline_outputs import Beside
from workers.referee.timing.batches import batched, batched_alone, fits
from workers.referee.timing.single_calls import Alone, Checked, ProtocolCost, Samples, SamplingBudget, Side
from workers.referee.timing.statistics import is_told


class Stopwatch(Protocol):
    """Times one side alone, or two in turns; see `workers.referee.timing.single_calls`."""

    def solo(
        self,
        side: Side,
        tensors: Sequence[torch.Tensor],
        budget: SamplingBudget,
        cost: ProtocolCost,
        *,
        has_idle: bool = False,
    ) -> Alone:
        """Calls of one side, for choosing the fastest baseline. `has_idle` says whether its session has the model that
        computes nothing, by which calls can be timed that are too short to be timed one by one."""

    def interleaved(
        self,
        candidate: Side,
        baseline: Side,
        values: FreshValues,
        budget: SamplingBudget,
        *,
        cost: ProtocolCost,
        check: Callable[[Checked], None],
        checks: int = 3,
        beside: Beside | None = None,
    ) -> Samples:
        """Seconds of two sides in turns; `check` is given outcomes of calls chosen at random, and may raise. On the
        CPU, `beside` looks at all calls."""


class HostStopwatch:
    """The host's clock around every call."""

    def solo(
        self,
        side: Side,
        tensors: Sequence[torch.Tensor],
        budget: SamplingBudget,
        cost: ProtocolCost,
        *,
        has_idle: bool = False,
    ) -> Alone:
        """Seconds without the protocol's cost; by batches where single calls cannot be told from none."""
        found = single_calls.solo(side, tensors, budget, cost)
        singly = cost.tells(found.seconds) and is_told(found.seconds, found.off)
        if singly or not has_idle or not fits(side.slot):
            return found
        return batched_alone(side, tensors, budget)

    def interleaved(
        self,
        candidate: Side,
        baseline: Side,
        values: FreshValues,
        budget: SamplingBudget,
        *,
        cost: ProtocolCost,
        check: Callable[[Checked], None],
        checks: int = 3,
        beside: Beside | None = None,
    ) -> Samples:
        """Seconds without the protocol's cost; by batches where single calls cannot be told from none."""
        samples = single_calls.interleaved(
            candidate, baseline, values, budget, cost=cost, check=check, checks=checks, beside=beside
        )
        singly = all(
            cost.tells(seconds) and is_told(seconds, cost.off) for seconds in (samples.candidate, samples.baseline)
        )
        if singly or not fits(candidate.slot):
            return samples
        return batched(candidate, baseline, values, budget, check=check)


def stopwatch_for(place: TensorDevice) -> Stopwatch:
    """The one for a place."""
    if not place.is_gpu:
        return HostStopwatch()
    from workers.referee.timing.cuda_events import DeviceStopwatch

    return DeviceStopwatch()
