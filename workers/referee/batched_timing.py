"""Timing of calls that are too short to be timed one by one: the slope of the referee's clock over batches of calls.

A round times a short and a long batch, whose sizes are drawn anew; the seconds between them, over the calls between
them, are a sample. What a batch costs as a whole drops out; what each of its calls costs beside the model (the copy of
its outputs among it) is the slope of a model that computes nothing, in the process that we trust.
"""

from __future__ import annotations

import contextlib
import random
import statistics
import time
from collections.abc import Callable, Iterator

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
                slope = _slope(side, slots, inputs, short, model)
                (samples.candidate if opened is ours else idle if model == IDLE else samples.baseline).append(slope)
                if opened is ours and (rounds == 0 or generator.random() < LATER_CHECKS):
                    _check_one(side, slots, inputs, generator, check)
            rounds += 1
    return _without_idle(samples, idle)


def _slope(side: Side, slots: list[Slot], inputs: list[Inputs], short: int, model: str) -> float:
    """Seconds a call, between a short batch and the long one. Values are written before each."""
    _write(slots[:short], inputs[-short:])
    few = side.session.call_batch(slots[:short], model)
    _write(slots, inputs)
    return (side.session.call_batch(slots, model) - few) / (len(slots) - short)


def _write(slots: list[Slot], inputs: list[Inputs]) -> None:
    for slot, one in zip(slots, inputs, strict=True):
        slot.write(one.tensors)


def _check_one(
    side: Side, slots: list[Slot], inputs: list[Inputs], generator: random.Random, check: Callable[[Checked], None]
) -> None:
    """Judge one call of the batch, chosen after the fact."""
    chosen = generator.randrange(len(slots))
    fetched = side.session.fetch(slots[chosen], chosen)
    check(Checked(inputs=inputs[chosen].tensors, fetched=fetched, slot=slots[chosen], others=slots))


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
