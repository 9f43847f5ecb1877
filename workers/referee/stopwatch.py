"""How calls are timed: one by one on the host's clock, or on a GPU by events, in batches that this clock checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import torch

from workers.ipc.placement import TensorDevice
from workers.referee import timing
from workers.referee.timing import Checked, Samples, SamplingBudget, Side


class Stopwatch(Protocol):
    """Times one side alone, or two in turns; see `workers.referee.timing`."""

    def solo(self, side: Side, tensors: Sequence[torch.Tensor], budget: SamplingBudget) -> list[float]:
        """Seconds of calls of one side, for choosing the fastest baseline."""

    def interleaved(
        self,
        candidate: Side,
        baseline: Side,
        pool: Sequence[Sequence[torch.Tensor]],
        fresh: Callable[[], Sequence[torch.Tensor]],
        budget: SamplingBudget,
        *,
        overhead_s: float,
        check: Callable[[Checked], None],
        checks: int = 3,
    ) -> Samples:
        """Seconds of two sides in turns; `check` is given outcomes of calls chosen at random, and may raise."""


class HostStopwatch:
    """The host's clock around every call."""

    def solo(self, side: Side, tensors: Sequence[torch.Tensor], budget: SamplingBudget) -> list[float]:
        """Seconds of calls, the protocol's cost included."""
        return timing.solo(side, tensors, budget)

    def interleaved(
        self,
        candidate: Side,
        baseline: Side,
        pool: Sequence[Sequence[torch.Tensor]],
        fresh: Callable[[], Sequence[torch.Tensor]],
        budget: SamplingBudget,
        *,
        overhead_s: float,
        check: Callable[[Checked], None],
        checks: int = 3,
    ) -> Samples:
        """Seconds without the protocol's cost."""
        return timing.interleaved(
            candidate, baseline, pool, fresh, budget, overhead_s=overhead_s, check=check, checks=checks
        )


def stopwatch_for(place: TensorDevice) -> Stopwatch:
    """The one for a place."""
    if not place.is_gpu:
        return HostStopwatch()
    from workers.referee.cuda_timing import DeviceStopwatch

    return DeviceStopwatch()
