"""How calls are timed: one by one on the host's clock, or on a GPU by events, in batches that this clock checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from workers.referee.inputs.fresh_values import FreshValues
from workers.referee.timing import cuda_events, single_calls
from workers.referee.timing.batches import batched, batched_alone, fits
from workers.referee.timing.output_checks import Beside
from workers.referee.timing.parameter_steps import UNCHANGED, ParameterSteps
from workers.referee.timing.single_calls import Alone, Checked, ProtocolCost, Samples, SamplingBudget, Side
from workers.referee.timing.statistics import is_told


def solo(
    side: Side,
    tensors: Sequence[torch.Tensor],
    budget: SamplingBudget,
    cost: ProtocolCost,
    *,
    has_idle: bool = False,
) -> Alone:
    """Calls of one side, for choosing the fastest baseline: seconds without the protocol's cost.

    `has_idle` says whether its session has the model that computes nothing: on the CPU, calls that single measurements
    cannot distinguish from empty ones are then timed by batches."""
    if side.session.place.is_gpu:
        return cuda_events.solo(side, tensors, budget)
    found = single_calls.solo(side, tensors, budget, cost)
    singly = cost.tells(found.seconds) and is_told(found.seconds, found.off)
    if singly or not has_idle or not fits(side.slot):
        return found
    return batched_alone(side, tensors, budget)


def interleaved(
    candidate: Side,
    baseline: Side,
    values: FreshValues,
    budget: SamplingBudget,
    *,
    cost: ProtocolCost,
    check: Callable[[Checked], None],
    checks: int = 3,
    beside: Beside | None = None,
    steps: ParameterSteps = UNCHANGED,
) -> Samples:
    """Seconds of two sides in turns, without the protocol's cost; `check` is given outcomes of calls chosen at random,
    and may raise; `steps` changes parameters between them. On the CPU, `beside` looks at all calls, and calls that
    cannot be distinguished from empty ones are timed by batches."""
    if candidate.session.place.is_gpu:
        return cuda_events.interleaved(candidate, baseline, values, budget, check=check, checks=checks, steps=steps)
    samples = single_calls.interleaved(
        candidate, baseline, values, budget, cost=cost, check=check, checks=checks, beside=beside, steps=steps
    )
    singly = all(
        cost.tells(seconds) and is_told(seconds, cost.off) for seconds in (samples.candidate, samples.baseline)
    )
    if singly or not fits(candidate.slot):
        return samples
    return batched(candidate, baseline, values, budget, check=check, steps=steps)
