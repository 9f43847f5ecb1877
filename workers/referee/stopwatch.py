"""How calls are timed: one by one on the host's clock, or on a GPU by events, in batches that this clock checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import torch

from workers.ipc.placement import TensorDevice
from workers.referee import timing
from workers.referee.batched_timing import batched, fits
from workers.referee.beside import Beside
from workers.referee.fresh_values import FreshValues
from workers.referee.timing import Checked, ProtocolCost, Samples, SamplingBudget, Side

TELLING = 4.0
"""Spreads of the protocol's own time from which on a single call can be told from none."""


class Stopwatch(Protocol):
    """Times one side alone, or two in turns; see `workers.referee.timing`."""

    def solo(
        self, side: Side, tensors: Sequence[torch.Tensor], budget: SamplingBudget, cost: ProtocolCost
    ) -> list[float]:
        """Seconds of calls of one side, for choosing the fastest baseline."""

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
        self, side: Side, tensors: Sequence[torch.Tensor], budget: SamplingBudget, cost: ProtocolCost
    ) -> list[float]:
        """Seconds without the protocol's cost."""
        return timing.solo(side, tensors, budget, cost)

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
        samples = timing.interleaved(
            candidate, baseline, values, budget, cost=cost, check=check, checks=checks, beside=beside
        )
        shortest = min(timing.typical(samples.candidate), timing.typical(samples.baseline))
        if shortest > TELLING * cost.spread_s or not fits(candidate.slot):
            return samples
        return batched(candidate, baseline, values, budget, check=check)


def stopwatch_for(place: TensorDevice) -> Stopwatch:
    """The one for a place."""
    if not place.is_gpu:
        return HostStopwatch()
    from workers.referee.cuda_timing import DeviceStopwatch

    return DeviceStopwatch()
