"""Timing of calls that are too short to be timed one by one: whole batches on the referee's clock.

The figure of a batch is its total time divided by its calls, so a call that works ahead for others, or one in so many
that pays for them, gains nothing. What the protocol costs, for the batch and for each of its calls (the copy of the
outputs among it), is that of batches of a model that computes nothing, in the process that we trust. How well that is
known bounds what can be distinguished: where calls cannot be distinguished from empty ones by then, rounds continue.

One call of every batch is judged, chosen when the batch has ended: what it handed over at once, and what it returned as
it is by then, since the runner holds all outputs of a batch. Each call has values of its own.
"""

from __future__ import annotations

import contextlib
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence

import torch

from workers.referee.boundary.slots import Slot
from workers.referee.comparison.call_outputs import Fetched
from workers.referee.comparison.error_scales import same_bytes
from workers.referee.inputs.fresh_values import FreshValues, Tensors
from workers.referee.timing.parameter_steps import UNCHANGED, ParameterSteps
from workers.referee.timing.single_calls import (
    LATER_CHECKS,
    NARROW,
    PATIENCE,
    Alone,
    Checked,
    Samples,
    SamplingBudget,
    Side,
)
from workers.referee.timing.statistics import Uncertainty, is_told, quantile, relative_width

MOST_CALLS = 24
"""Calls of a batch."""
MOST_BYTES = 64 << 20
"""Memory for the inputs of one side's batch, and for the outputs."""
FIRST_SLOT = 2_000_000
LEAST_ROUNDS, MOST_ROUNDS = 12, 40
IDLE = "idle"
SURE = 1.8
"""Ranges between quartiles, over the root of the count, within which a median is known with 95 % (for a normal
distribution: 1.96 times 1.25 standard deviations, of which a range is 1.35)."""


def fits(slot: Slot) -> bool:
    """Whether a batch of such calls can be held."""
    return MOST_CALLS * max(slot.inputs.raw.numel(), slot.outputs.raw.numel()) <= MOST_BYTES


def batched(
    candidate: Side,
    baseline: Side,
    values: FreshValues,
    budget: SamplingBudget,
    *,
    check: Callable[[Checked], None],
    steps: ParameterSteps = UNCHANGED,
) -> Samples:
    """Time two sides in turns by batches; the baseline's session must have the model `idle`. `steps` changes parameters
    before each call."""
    generator = random.SystemRandom()
    samples, idle = Samples(batched=True), list[float]()
    with _opened(candidate) as ours, _opened(baseline) as theirs:
        started, rounds = time.monotonic(), 0
        while rounds < LEAST_ROUNDS or not _enough((samples.candidate, samples.baseline), idle, budget, started):
            inputs = [values.separate() for _ in range(MOST_CALLS)]
            steps.now_and_then(lambda: [side.session.call(side.slot, side.model) for side in (candidate, baseline)])
            turns = [(candidate, ours, candidate.model), (baseline, theirs, baseline.model), (baseline, theirs, IDLE)]
            for side, opened, model in generator.sample(turns, len(turns)):
                slots = generator.sample(opened, MOST_CALLS)  # no order says which call comes next
                steps.take(slots)
                looks = _BatchLooks(check, generator, watch=rounds == 0) if opened is ours else None
                seconds = _seconds(side, slots, inputs, model, looks)
                (samples.candidate if opened is ours else idle if model == IDLE else samples.baseline).append(seconds)
            rounds += 1
    samples.candidate, samples.baseline = _without(idle, samples.candidate), _without(idle, samples.baseline)
    samples.off = _known(idle)
    return samples


def batched_alone(side: Side, tensors: Sequence[torch.Tensor], budget: SamplingBudget) -> Alone:
    """Time a side by batches on the same values again and again: one that is trusted, whose session has the model
    `idle`."""
    generator, seconds, idle = random.SystemRandom(), list[float](), list[float]()
    given = [list(tensors)] * MOST_CALLS
    with _opened(side) as slots:
        started = time.monotonic()
        while len(idle) < LEAST_ROUNDS or not _enough((seconds,), idle, budget, started):
            for model, found in generator.sample([(side.model, seconds), (IDLE, idle)], 2):
                found.append(_seconds(side, slots, given, model, None))
    return Alone(seconds=_without(idle, seconds), off=_known(idle))


def _seconds(side: Side, slots: list[Slot], inputs: list[Tensors], model: str, looks: _BatchLooks | None) -> float:
    """Seconds a call of a batch, the protocol's among them. Values are written before it."""
    for slot, tensors in zip(slots, inputs, strict=True):
        slot.write(tensors)
    seconds = side.session.call_batch(slots, model)
    if looks is not None:
        looks.at(side, slots, inputs)
    return seconds / len(slots)


class _BatchLooks:
    """Judges one call of each of the candidate's batches."""

    def __init__(self, check: Callable[[Checked], None], generator: random.Random, *, watch: bool) -> None:
        """With `watch`, or else now and then, other calls follow."""
        self._check = check
        self._generator = generator
        self._watch = watch

    def at(self, side: Side, slots: Sequence[Slot], inputs: Sequence[Tensors]) -> None:
        """Judge a call of the batch that has just ended."""
        chosen = self._generator.randrange(len(slots))
        slot = slots[chosen]
        at_once = side.session.fetch(slot, chosen)
        held = side.session.held_of_batch(slot, chosen)
        watch = self._watch or self._generator.random() < LATER_CHECKS
        given = inputs[chosen]
        if not _same(at_once, held):
            self._check(Checked(inputs=given, fetched=held, slot=slot, others=slots, brief=True))
        self._check(Checked(inputs=given, fetched=at_once, slot=slot, others=slots, brief=not watch))


def _same(one: Fetched, other: Fetched) -> bool:
    """Whether outputs are the same to the last bit."""
    pairs = list(zip(one.outputs, other.outputs, strict=False))
    return len(one.outputs) == len(other.outputs) and all(
        a.meta == b.meta and a.value is not None and b.value is not None and same_bytes(a.value, b.value)
        for a, b in pairs
    )


def _without(idle: Sequence[float], calls: Sequence[float]) -> list[float]:
    """Seconds a call without what one costs that computes nothing."""
    usual = statistics.median(idle)
    return [seconds - usual for seconds in calls]


def _known(idle: Sequence[float]) -> Uncertainty:
    """How well that is known."""
    ordered = sorted(idle)
    reach = SURE * (quantile(ordered, 0.75) - quantile(ordered, 0.25)) / len(idle) ** 0.5
    return Uncertainty(shorter_s=reach, longer_s=reach, by_chance=True)


def _enough(series: Sequence[list[float]], idle: Sequence[float], budget: SamplingBudget, started: float) -> bool:
    """Whether nothing is gained by another round, or the time is over: later where calls cannot be distinguished from
    empty ones."""
    elapsed = time.monotonic() - started
    if elapsed > PATIENCE * budget.seconds or len(idle) >= PATIENCE * MOST_ROUNDS:
        return True
    if elapsed > budget.seconds or len(idle) >= MOST_ROUNDS:
        return all(is_told(_without(idle, calls), _known(idle)) for calls in series)
    return all(relative_width(_without(idle, calls)) < NARROW for calls in series)


@contextlib.contextmanager
def _opened(side: Side) -> Iterator[list[Slot]]:
    """A slot for each call of a batch, with memory for outputs of its own."""
    first, slots = FIRST_SLOT + 100 * (side.slot.number + 5000), list[Slot]()
    try:
        for index in range(MOST_CALLS):
            slots.append(side.session.open_sibling(side.slot, first + index, own_outputs=True))
        yield slots
        side.session.forget(slots)
    finally:
        for slot in slots:
            slot.close()
