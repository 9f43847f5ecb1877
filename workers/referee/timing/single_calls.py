"""Timing on the referee's own clock: a call lasts from sending the request to the word that the model has returned.

Candidate and baseline run the same protocol in processes of the same kind, take turns in random order, and get new
values. Both are stopped unless they are asked, so the clock runs whenever a candidate does: copying the outputs,
answering and being stopped (the *tail*) are taken off as far as the baseline's paired tails go, and what is longer
counts as part of the call. Work put off until the answer gains nothing.

The protocol's own time is that of calls which compute nothing, made by the process that we trust.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

from workers.referee.boundary.runner_client import RunnerSession, TimedCall
from workers.referee.boundary.slots import Slot
from workers.referee.comparison.call_outputs import Fetched
from workers.referee.inputs.fresh_values import FreshValues, Inputs
from workers.referee.timing.output_checks import Beside
from workers.referee.timing.parameter_steps import UNCHANGED, ParameterSteps
from workers.referee.timing.statistics import EXACT, Uncertainty, quantile, relative_width

LATER_CHECKS = 0.1
"""Share of the calls whose outcome is judged, besides those chosen beforehand, the fresh ones, and the last."""
CHECKED_FRESH = 3
"""Calls on wholly fresh values of which every outcome is looked at; of later ones as of all others."""
LEAST_FRESH = 3
WIDE = 0.3
"""Width at which the time is stretched."""
PATIENCE = 2.5
NARROW = 0.02
"""Width of the median's interval over the median at which more samples are pointless."""
LONGEST_PAUSE_S = 0.6e-3
"""Before a call, at random: a rhythm would show a candidate when it is called next."""
LOW = 0.15
TELLING = 4.0
"""Spreads of the protocol's own time from which on a single call can be distinguished from an empty one."""
WIDEST_SPREAD_S = 30e-6
"""Of the protocol's own time, on a machine that is not too busy to time calls by it."""
USUAL_TAIL = 0.9
"""Quantile of the baseline's tails up to which a candidate's is the protocol's own."""


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
class ProtocolCost:
    """What a call takes that computes nothing."""

    call_s: float = 0.0
    """Seconds to the word that the model has returned: a low quantile, because what is taken off every call must not
    exceed what a call costs on a busy machine."""
    spread_s: float = 0.0
    """How far such calls lie apart: shorter calls cannot be distinguished from empty ones."""

    @classmethod
    def of(cls, walls: Sequence[float]) -> ProtocolCost:
        """The cost that some calls show."""
        ordered = sorted(walls)
        low = quantile(ordered, LOW)
        return cls(call_s=low, spread_s=quantile(ordered, 0.5) - low)

    @property
    def off(self) -> Uncertainty:
        """How far off figures may be by it: calls take the low quantile at least, and usually more."""
        return Uncertainty(shorter_s=self.spread_s)

    def tells(self, seconds: Sequence[float]) -> bool:
        """Whether calls that take so long are timed one by one. A spread above `WIDEST_SPREAD_S` is the machine's, and
        says nothing about what can be distinguished on a quiet one."""
        return statistics.median(seconds) > TELLING * min(WIDEST_SPREAD_S, self.spread_s)


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
    fetched: Fetched
    slot: Slot | None = None
    """Where the inputs lay, where it was not the side's own slot."""
    others: Sequence[Slot] = ()
    """Where those of other calls lie, where each has a slot of its own."""
    brief: bool = False
    """Whether nothing but this outcome is judged: no further calls follow."""


@dataclass(kw_only=True)
class Samples:
    """What a measurement collected; seconds, without the protocol's own cost."""

    candidate: list[float] = field(default_factory=list)
    baseline: list[float] = field(default_factory=list)
    claimed: list[float] = field(default_factory=list)
    """What the runner's own clock said; evidence only."""
    fresh: list[bool] = field(default_factory=list)
    """Of the candidate's calls, those on values drawn for them alone."""
    each: list[float] = field(default_factory=list)
    """What each of these took, where a sample is the mean of a batch."""
    candidate_fetch: list[float] = field(default_factory=list)
    """What handing the outputs over took: on the CPU of every call, on a GPU of those that were fetched."""
    baseline_fetch: list[float] = field(default_factory=list)
    hidden_s: float = 0.0
    """Seconds a call that the referee's clock saw and the runner's events did not, beyond those of the baseline."""
    overclaimed_s: float = 0.0
    """Seconds a call that the runner's events claim and the referee's clock did not see."""
    batched: bool = False
    """Whether single calls were too short to be distinguished from the protocol, and batches were timed instead."""
    off: Uncertainty = EXACT
    """How far off they may be by the protocol's own cost."""
    spread: float = 0.0
    """Standard deviation of the logarithm of an honest ratio of 1 between two processes on the device."""


@dataclass(kw_only=True)
class Alone:
    """Seconds of one side's calls, without the protocol's own cost."""

    seconds: list[float] = field(default_factory=list)
    off: Uncertainty = EXACT
    """How far off they may be by that cost."""

    def add(self, other: Alone) -> None:
        """Take in what a later measurement of the same side found."""
        self.off = self.off.pooled(len(self.seconds), other.off, len(other.seconds))
        self.seconds += other.seconds


def solo(side: Side, tensors: Sequence[torch.Tensor], budget: SamplingBudget, cost: ProtocolCost) -> Alone:
    """Calls of one side alone on the same values: for a side that is trusted, or where cheats are not looked for."""
    for _ in range(2):
        _one(side, tensors)
    seconds: list[float] = []
    started = time.monotonic()
    while not _done(budget, started, [seconds]):
        seconds.append(_one(side, tensors).wall_s - cost.call_s)
    return Alone(seconds=seconds, off=cost.off)


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
    """Time two sides in turns. `check` is given the outcome of calls chosen at random, and may raise. With `beside`,
    every call is looked at, and those that differ from the baseline's are given to `check` too. `steps` changes
    parameters before each pair."""
    generator = random.SystemRandom()
    samples = Samples(off=cost.off)
    for side in (candidate, baseline) * 2:
        _one(side, values.pool[0])
    chosen = set(generator.sample(range(budget.least), min(checks, budget.least)))
    drawn = set(generator.sample(range(budget.least), min(LEAST_FRESH, budget.least)))
    started = time.monotonic()
    last = False
    while not last:
        last = _done(budget, started, [samples.candidate, samples.baseline])  # one more, and its outcome is looked at
        count = len(samples.candidate)
        inputs = values.next(fresh=True if count in drawn else None)
        new = inputs.fresh and not values.always_drawn and sum(samples.fresh) < CHECKED_FRESH
        keep = last or new or count in chosen or generator.random() < LATER_CHECKS
        steps.step((candidate.slot, baseline.slot))
        steps.now_and_then(lambda: [_one(side, values.pool[0]) for side in (candidate, baseline)])
        fetched = _pair(candidate, baseline, inputs, samples, cost, generator, keep=keep)
        spent = time.monotonic()
        if fetched is not None:
            check(Checked(inputs=inputs.tensors, fetched=fetched))
        elif beside is not None and not beside.agrees(_seen(candidate), _seen(baseline)):
            fetched = candidate.session.fetch(candidate.slot)
            check(Checked(inputs=inputs.tensors, fetched=fetched, brief=True))
            beside.was_right()
        started += time.monotonic() - spent
    _count_tails(samples)
    return samples


def _pair(
    candidate: Side,
    baseline: Side,
    inputs: Inputs,
    samples: Samples,
    cost: ProtocolCost,
    generator: random.Random,
    *,
    keep: bool,
) -> Fetched | None:
    """One call of each side on the same values, in random order; the candidate's outcome where it is to be kept."""
    fetched = None
    for side in generator.sample([candidate, baseline], 2):
        time.sleep(LONGEST_PAUSE_S * generator.random())
        call = _one(side, inputs.tensors)
        ours = side is candidate
        (samples.candidate if ours else samples.baseline).append(call.wall_s - cost.call_s)
        (samples.candidate_fetch if ours else samples.baseline_fetch).append(call.tail_s)
        if ours:
            samples.claimed.append(call.claimed_s)
            samples.fresh.append(inputs.fresh)
            fetched = side.session.fetch(side.slot) if keep else None
    return fetched


def _seen(side: Side) -> Fetched:
    """What the last call returned, where it lies: nothing is written there until the next."""
    return side.session.fetch(side.slot, copy=False)


def _count_tails(samples: Samples) -> None:
    """Count what a tail is longer than the baseline's usual ones as part of the call, on both sides."""
    usual = quantile(sorted(samples.baseline_fetch), USUAL_TAIL)
    for seconds, tails in ((samples.candidate, samples.candidate_fetch), (samples.baseline, samples.baseline_fetch)):
        seconds[:] = [own + max(0.0, tail - usual) for own, tail in zip(seconds, tails, strict=True)]


def timed_fetch(side: Side, tensors: Sequence[torch.Tensor]) -> float:
    """Seconds to hand over the outputs of one call."""
    call = _one(side, tensors)
    return side.session.fetch(side.slot).wall_s if side.session.place.is_gpu else call.tail_s


def _one(side: Side, tensors: Sequence[torch.Tensor]) -> TimedCall:
    side.slot.write(tensors)
    return side.session.call(side.slot, side.model)


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
