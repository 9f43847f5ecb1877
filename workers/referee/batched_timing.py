"""Timing of calls that are too short to be timed one by one: the slope of the referee's clock over batches of calls.

A round times a short and a long batch, whose sizes are drawn anew; the seconds between them, over the calls between
them, are a sample. What a batch costs as a whole drops out; what each of its calls costs beside the model (the copy of
its outputs among it) is the slope of a model that computes nothing, in the process that we trust.

One call of every batch, short or long, is judged, chosen when the batch has ended: what it handed over at once, and
what it returned as it is by then, since the runner holds all outputs of a batch. Values are drawn for each call.
"""

from __future__ import annotations

import contextlib
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence

from workers.referee.error_scales import same_bytes
from workers.referee.fetched import Fetched
from workers.referee.fresh_values import DRAWN_BYTES, FreshValues, Inputs
from workers.referee.slots import Slot
from workers.referee.statistics import quantile, relative_width
from workers.referee.timing import LATER_CHECKS, NARROW, Checked, Samples, SamplingBudget, Side

MOST_CALLS = 24
SHORTEST, LONGEST_SHORT = 3, 8
LEAST_BETWEEN = 10
"""Calls that a long batch has more than a short one."""
MOST_BYTES = 64 << 20
"""Memory for the outputs of one side's batch."""
FIRST_SLOT = 2_000_000
LEAST_ROUNDS, MOST_ROUNDS = 12, 40
IDLE = "idle"


def fits(slot: Slot) -> bool:
    """Whether a batch of such calls can be held."""
    return slot.inputs.raw.numel() <= DRAWN_BYTES and MOST_CALLS * slot.outputs.raw.numel() <= MOST_BYTES


def batched(
    candidate: Side,
    baseline: Side,
    values: FreshValues,
    budget: SamplingBudget,
    *,
    check: Callable[[Checked], None],
) -> Samples:
    """Time two sides in turns by batches; the baseline's session must have the model `idle`."""
    generator = random.SystemRandom()
    samples, idle = Samples(batched=True), list[float]()
    with _opened(candidate) as ours, _opened(baseline) as theirs:
        started, rounds = time.monotonic(), 0
        while rounds < LEAST_ROUNDS or not _enough(samples, budget, started, rounds):
            short = generator.randint(SHORTEST, LONGEST_SHORT)
            size = generator.randint(short + LEAST_BETWEEN, MOST_CALLS)
            inputs = [values.next() for _ in range(size)]
            turns = [(candidate, ours, candidate.model), (baseline, theirs, baseline.model), (baseline, theirs, IDLE)]
            for side, opened, model in generator.sample(turns, len(turns)):
                slots = generator.sample(opened, size)  # an order would tell which calls belong to a batch
                looks = _BatchLooks(check, generator, watch=rounds == 0) if opened is ours else None
                slope = _slope(side, slots, inputs, short, model, looks)
                (samples.candidate if opened is ours else idle if model == IDLE else samples.baseline).append(slope)
            rounds += 1
    return _without_idle(samples, idle)


def _slope(
    side: Side, slots: list[Slot], inputs: list[Inputs], short: int, model: str, looks: _BatchLooks | None
) -> float:
    """Seconds a call, between a short batch and the long one. Values are written before each."""
    _write(slots[:short], inputs[-short:])
    few = side.session.call_batch(slots[:short], model)
    if looks is not None:
        looks.at(side, slots[:short], inputs[-short:])
    _write(slots, inputs)
    many = side.session.call_batch(slots, model)
    if looks is not None:
        looks.at(side, slots, inputs, last=True)
    return (many - few) / (len(slots) - short)


def _write(slots: list[Slot], inputs: list[Inputs]) -> None:
    for slot, one in zip(slots, inputs, strict=True):
        slot.write(one.tensors)


class _BatchLooks:
    """Judges one call of each of the candidate's batches."""

    def __init__(self, check: Callable[[Checked], None], generator: random.Random, *, watch: bool) -> None:
        """With `watch`, or else now and then, other calls follow a long batch."""
        self._check = check
        self._generator = generator
        self._watch = watch

    def at(self, side: Side, slots: Sequence[Slot], inputs: Sequence[Inputs], *, last: bool = False) -> None:
        """Judge a call of the batch that has just ended."""
        chosen = self._generator.randrange(len(slots))
        slot = slots[chosen]
        at_once = side.session.fetch(slot, chosen)
        held = side.session.held_of_batch(slot, chosen)
        watch = last and (self._watch or self._generator.random() < LATER_CHECKS)
        given = inputs[chosen].tensors
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


def _without_idle(samples: Samples, idle: list[float]) -> Samples:
    usual = statistics.median(idle)
    ordered = sorted(idle)
    samples.candidate = [seconds - usual for seconds in samples.candidate]
    samples.baseline = [seconds - usual for seconds in samples.baseline]
    samples.resolution_s = (quantile(ordered, 0.75) - quantile(ordered, 0.25)) / len(idle) ** 0.5
    return samples


def _enough(samples: Samples, budget: SamplingBudget, started: float, rounds: int) -> bool:
    if rounds >= MOST_ROUNDS or time.monotonic() - started > budget.seconds:
        return True
    return all(relative_width(series) < NARROW for series in (samples.candidate, samples.baseline))


@contextlib.contextmanager
def _opened(side: Side) -> Iterator[list[Slot]]:
    """A slot for each call of a batch, with memory for outputs of its own."""
    slots = [
        side.session.open_sibling(side.slot, FIRST_SLOT + 100 * (side.slot.number + 5000) + index, own_outputs=True)
        for index in range(MOST_CALLS)
    ]
    try:
        yield slots
        side.session.forget(slots)
    finally:
        for slot in slots:
            slot.close()
