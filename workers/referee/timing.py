"""Timing on the referee's own clock: a call lasts from sending the request to the answer, less an empty request.

Candidate and baseline run the same protocol in processes of the same kind, take turns in random order, and get inputs
that differ on every call, so that neither the machine's mood nor a remembered result favours one.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

from workers.referee.draws import rescaled, rescaling
from workers.referee.runner_client import Fetched, RunnerSession, Slot, TimedCall
from workers.referee.statistics import relative_width

LEAST_S = 1e-7
LATER_CHECKS = 0.1
"""Share of the calls whose outcome is looked at, beside those chosen beforehand and the last."""
WIDE = 0.3
"""Width at which the time is stretched."""
PATIENCE = 2.5
NARROW = 0.02
"""Width of the median's interval over the median at which more samples are pointless."""


@dataclass(frozen=True, kw_only=True)
class SamplingBudget:
    """When to stop sampling."""

    seconds: float
    least: int = 10
    """Samples taken even when the time is over."""
    most: int = 60
    enough: int = 16
    """Samples from which a narrow interval ends the sampling."""


@dataclass(frozen=True, kw_only=True)
class Side:
    """One of two rivals."""

    session: RunnerSession
    slot: Slot
    model: str
    trusted: bool = False
    """Whether it may be timed on the same inputs again: the reference remembers nothing, and inputs cost time."""


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A timed call whose outcome was fetched: the inputs it had, what it returned."""

    inputs: list[torch.Tensor]
    pool_index: int
    fetched: Fetched
    slot: Slot | None = None
    """Where the inputs lay, where it was not the side's own slot."""


@dataclass(kw_only=True)
class Samples:
    """What a measurement collected; seconds, without the protocol's own cost."""

    candidate: list[float] = field(default_factory=list)
    baseline: list[float] = field(default_factory=list)
    claimed: list[float] = field(default_factory=list)
    """What the runner's own clock said; evidence only."""
    candidate_fetch: list[float] = field(default_factory=list)
    baseline_fetch: list[float] = field(default_factory=list)
    paired: bool = True
    """Whether the sides' samples were taken in pairs, one after the other."""
    hidden_s: float = 0.0
    """Seconds a call that the referee's clock saw and the runner's events did not, beyond those of the baseline."""


def solo(side: Side, tensors: Sequence[torch.Tensor], budget: SamplingBudget) -> list[float]:
    """Seconds of calls of one side alone, the protocol's cost included; for choosing the fastest baseline."""
    generator = random.Random()  # noqa: S311 - variety
    for _ in range(2):
        _one(side, tensors, [None] * len(tensors))
        side.session.drop()
    seconds: list[float] = []
    started = time.monotonic()
    while not _done(budget, started, [seconds]):
        seconds.append(_one(side, tensors, rescaling(tensors, generator)).wall_s)
        side.session.drop()
    return seconds


def interleaved(
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
    """Time two sides in turns. `check` is given the outcome of calls chosen at random, and may raise.

    Inputs come from the pool, rescaled; where nothing can be rescaled (masks, codes, whole numbers) from `fresh`.
    """
    generator = random.SystemRandom()
    samples = Samples()
    for side in (candidate, baseline) * 2:
        _one(side, pool[0], [None] * len(pool[0]))
        side.session.drop()
    chosen = set(generator.sample(range(budget.least), min(checks, budget.least)))
    started = time.monotonic()
    last = False
    while not last:
        last = _done(budget, started, [samples.candidate, samples.baseline])  # one more, and its outcome is looked at
        index = generator.randrange(len(pool))
        tensors, factors = pool[index], rescaling(pool[index], generator)
        if all(factor is None for factor in factors):
            tensors = fresh()
            factors = [None] * len(tensors)
        keep = last or len(samples.candidate) in chosen or generator.random() < LATER_CHECKS
        for side in generator.sample([candidate, baseline], 2):
            call = _one(side, tensors, factors)
            fetched = _finish(side, keep=keep)
            _record(samples, call, fetched, overhead_s, ours=side is candidate)
            if fetched is not None and side is candidate:
                spent = time.monotonic()
                inputs = rescaled(tensors, factors)
                check(Checked(inputs=inputs, pool_index=index, fetched=fetched))
                started += time.monotonic() - spent
    return samples


def timed_fetch(side: Side, tensors: Sequence[torch.Tensor]) -> float:
    """Seconds to read the outputs of one call."""
    _one(side, tensors, rescaling(tensors, random.SystemRandom()))
    return side.session.fetch(side.slot).wall_s


def _one(side: Side, tensors: Sequence[torch.Tensor], factors: Sequence[float | None]) -> TimedCall:
    side.slot.write(tensors, factors)
    return side.session.call(side.slot, side.model)


def _finish(side: Side, *, keep: bool) -> Fetched | None:
    if keep:
        return side.session.fetch(side.slot)
    side.session.drop()
    return None


def _record(samples: Samples, call: TimedCall, fetched: Fetched | None, overhead_s: float, *, ours: bool) -> None:
    net = max(LEAST_S, call.wall_s - overhead_s)
    (samples.candidate if ours else samples.baseline).append(net)
    if ours:
        samples.claimed.append(call.claimed_s)
    if fetched is not None:
        (samples.candidate_fetch if ours else samples.baseline_fetch).append(fetched.wall_s)


def _done(budget: SamplingBudget, started: float, series: Sequence[Sequence[float]]) -> bool:
    count = len(series[0])
    if count < budget.least:
        return False
    elapsed = time.monotonic() - started
    if elapsed > budget.seconds and max(relative_width(values) for values in series) > WIDE:
        return elapsed > PATIENCE * budget.seconds  # a busy machine: sample on, within reason
    if count >= budget.most or elapsed > budget.seconds:
        return True
    return count >= budget.enough and all(relative_width(values) < NARROW for values in series)
