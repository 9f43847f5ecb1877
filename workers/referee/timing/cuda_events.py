"""Timing on a GPU: events around every call, in batches whose length the referee's own clock checks.

A round trip to the runner costs more than many kernels take, so calls come in batches, each call on inputs of its own,
with a cold cache before and a device-wide wait after it. The events' figures are the runner's claims. The referee's
clock sees batches of N and 2N calls; the slope between them, less the events' figure, is what a call costs besides the
kernel (flush, launch, wait), and that is the same for the baseline: what is more, the events did not see.

Writing inputs takes as long as many kernels, and the baseline has nothing to gain from old ones: it keeps its inputs,
and takes a turn less often once the first rounds have shown what is hidden.
"""

from __future__ import annotations

import contextlib
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import torch

from workers.referee.boundary.runner_client import states_of
from workers.referee.boundary.slots import Slot
from workers.referee.errors import FaultKind, RunnerFault
from workers.referee.inputs.fresh_values import FreshValues, Mixture
from workers.referee.timing.parameter_steps import UNCHANGED, ParameterSteps
from workers.referee.timing.single_calls import NARROW, Alone, Checked, Samples, SamplingBudget, Side
from workers.referee.timing.statistics import relative_width
from workers.runner.answers import BatchTimed
from workers.runner.protocol import TimeBatch

MOST_CALLS = 20
"""Calls of a long batch."""
BATCH_BYTES = 8 << 30
"""Device memory for the inputs, and again for the outputs, of one side's batch."""
FIRST_SIBLING = 1_000_000
LEAST, ENOUGH, MOST = 30, 100, 150
"""Samples: taken in any case, enough where the median is well known, and at most."""
PATIENCE = 2.5
"""Budgets after which the samples must do."""
SLOPES = 6
"""Rounds with a short batch next to the long one."""
SELDOM = 5
"""A trusted side's turn comes in every fifth of the later rounds, ..."""
LEAST_TRUSTED = 30
"""... as long as it has so many samples, whose median is well known."""
LOOKS = 2
"""Calls of each batch of a candidate's that are looked at."""
SINGLE_LOOKS = 1 / 3
"""Share of batches of one call that are: looking costs ten times as much as such a call."""
LATER_CHECKS = 0.05
"""Share of the rounds after which other values come and a handing over is timed, besides the first and the last."""
DOUBT_S, DOUBT_SHARE = 8e-6, 0.02
"""Seconds a call hidden from the events at which more batches are measured, and as a share of a long call: a tenth of
what is evidence."""
MOST_ROUNDS = 40
LIMIT_S = 60.0
FRESH_CALLS = 2
"""Calls of a batch, at places chosen at random, whose values are drawn for them alone."""
FRESH_ROUNDS = 6
"""Rounds with such calls; later ones have them where drawing is quick."""


@dataclass(frozen=True, kw_only=True)
class Planned:
    """The values of one call of a batch."""

    mixture: Mixture | None = None
    drawn: list[torch.Tensor] | None = None
    """Values drawn for it alone, where there is no mixture."""

    def write(self, values: FreshValues, slot: Slot) -> None:
        """Put the values in."""
        if self.mixture is None:
            slot.write(self.drawn or [])
        else:
            values.fill(self.mixture, slot.inputs.tensors)
            slot.place.synchronize()

    def tensors(self, values: FreshValues) -> list[torch.Tensor]:
        """The values, in memory of their own."""
        return values.tensors(self.mixture) if self.mixture is not None else self.drawn or []


@dataclass(kw_only=True)
class _Batches:
    """One side with a slot for every call of a batch, and what its batches took."""

    side: Side
    slots: list[Slot]
    seconds: list[float] = field(default_factory=list)
    long_walls: list[float] = field(default_factory=list)
    pairs: list[tuple[float, float]] = field(default_factory=list)
    """What the short and the long batch of a round took."""

    def fill(self, values: FreshValues, plan: Sequence[Planned]) -> None:
        """Put inputs in, one set for each call; a trusted side has had its own since its side was made."""
        if self.side.trusted:
            return
        for slot, planned in zip(self.slots, plan, strict=False):
            planned.write(values, slot)

    def run(self, count: int) -> tuple[list[float], float]:
        """The first `count` calls: seconds by the events, and by our clock for all of them."""
        called = self.slots[:count]
        batch = TimeBatch(slots=tuple(slot.number for slot in called), model=self.side.model, states=states_of(called))
        timed, wall = self.side.session.ask(batch, BatchTimed, limit_s=LIMIT_S)
        if len(timed.each) != count:
            raise RunnerFault(FaultKind.FORGED, "a batch's times are not described")
        return list(timed.each), wall

    def slopes(self) -> tuple[float, float]:
        """Our clock's seconds a call beyond the events', by the fastest batches and by what is typical of a round."""
        if not self.long_walls or not self.pairs:
            return 0.0, 0.0
        calls = len(self.slots) - len(self.slots) // 2
        fastest = min(self.long_walls) - min(short for short, _ in self.pairs)
        typical = statistics.median(long - short for short, long in self.pairs)
        events = statistics.median(self.seconds)
        return fastest / calls - events, typical / calls - events


def hidden_s(ours: _Batches, theirs: _Batches) -> float:
    """Seconds a call that our events did not see, beyond those of the baseline. What is hidden in every call shows by
    both accounts; a busy host seldom disturbs both."""
    return min(own - other for own, other in zip(ours.slopes(), theirs.slopes(), strict=True))


def solo(side: Side, tensors: Sequence[torch.Tensor], budget: SamplingBudget) -> Alone:
    """Calls by the events, on the same few inputs again and again: for a side that is trusted, or when cheats are not
    looked for."""
    with _opened(side) as batches:
        started = time.monotonic()
        for slot in dict.fromkeys(batches.slots):  # a trusted side has one
            slot.write(tensors)
        for turn in range(100):
            seconds, _ = batches.run(len(batches.slots))
            if turn:  # the first one warms up
                batches.seconds += seconds
            if len(batches.seconds) >= budget.most or (turn and time.monotonic() - started > budget.seconds):
                break
        side.session.drop()
        return Alone(seconds=batches.seconds)


def interleaved(
    candidate: Side,
    baseline: Side,
    values: FreshValues,
    budget: SamplingBudget,
    *,
    check: Callable[[Checked], None],
    checks: int = 3,
    steps: ParameterSteps = UNCHANGED,
) -> Samples:
    """Seconds of two sides by their events, in turns, on the same inputs."""
    generator = random.SystemRandom()
    samples = Samples()
    with _opened(candidate) as ours, _opened(baseline) as theirs:
        size = len(ours.slots)
        for batches in (ours, theirs):
            steps.take(batches.slots)
        for batches in (ours, theirs) * 2:  # warms up, and has torch keep memory for the outputs
            batches.fill(values, _plan(values, size, generator))
            batches.run(size)
        started, rounds, over = time.monotonic(), 0, False
        while not over:
            plan = _plan(values, size, generator, fresh=FRESH_CALLS if rounds < FRESH_ROUNDS else 0)
            sides = [ours, theirs] if _has_turn(theirs, rounds) else [ours]
            looks = _Looks(values=values, generator=generator, check=check)
            _round(sides, values, plan, generator, short=rounds < SLOPES, looks=looks)
            started += looks.spent_s
            samples.fresh += _marks(plan, short=rounds < SLOPES)
            rounds += 1
            over = _done(budget, time.monotonic() - started, ours, theirs)
            if over or rounds < checks or generator.random() < LATER_CHECKS:  # once a round: others follow it
                spent = time.monotonic()
                _check(sides, values, plan, generator, samples, check)
                started += time.monotonic() - spent
        while hidden_s(ours, theirs) > _doubtful_s(ours) and rounds < MOST_ROUNDS:  # noise, or not?
            plan = _plan(values, size, generator)
            _round([ours, theirs], values, plan, generator)
            samples.fresh += _marks(plan, short=True)
            rounds += 1
        for batches in (ours, theirs):
            batches.side.session.drop()
    samples.candidate, samples.baseline = ours.seconds, theirs.seconds
    samples.claimed, samples.paired = list(ours.seconds), False
    samples.hidden_s = hidden_s(ours, theirs)
    samples.overclaimed_s = max(0.0, -max(ours.slopes()))
    return samples


@contextlib.contextmanager
def _opened(side: Side) -> Iterator[_Batches]:
    """A side with a slot for each call of a batch; one that is trusted has one for all."""
    size = _batch_size(side.slot)
    first, siblings = FIRST_SIBLING + 1000 * (side.slot.number + 5000), list[Slot]()
    try:
        for index in range(0 if side.trusted else size - 1):
            siblings.append(side.session.open_sibling(side.slot, first + index))
        yield _Batches(side=side, slots=[side.slot] * size if side.trusted else [side.slot, *siblings])
        if siblings:
            side.session.forget(siblings)
    finally:
        for slot in siblings:
            slot.inputs.close()


def _doubtful_s(batches: _Batches) -> float:
    return max(DOUBT_S, DOUBT_SHARE * statistics.median(batches.seconds))


def _batch_size(slot: Slot) -> int:
    """Calls of a long batch: an even number, as many as memory permits; one where there is room for no more."""
    size = max(slot.inputs.raw.numel(), slot.outputs.raw.numel(), 1)
    return max(1, min(MOST_CALLS, BATCH_BYTES // size) // 2 * 2)


def _plan(values: FreshValues, count: int, generator: random.Random, fresh: int = 0) -> list[Planned]:
    """The values of each call: never the same twice."""
    if values.always_drawn:
        return [Planned(drawn=values.drawn().tensors) for _ in range(count)]
    chosen = set(generator.sample(range(count), min(fresh, count)))
    return [
        Planned(drawn=values.drawn().tensors) if index in chosen else Planned(mixture=values.mixture())
        for index in range(count)
    ]


def _marks(plan: Sequence[Planned], *, short: bool) -> list[bool]:
    """Which of a round's samples are of calls on values drawn for them alone."""
    marks = [planned.mixture is None for planned in plan]
    return [*(list(reversed(marks))[: len(marks) // 2] if short else []), *marks]


def _has_turn(theirs: _Batches, rounds: int) -> bool:
    """Whether the baseline is timed in this round too."""
    if not theirs.side.trusted or rounds < SLOPES or rounds % SELDOM == 0:
        return True
    return len(theirs.seconds) < LEAST_TRUSTED or relative_width(theirs.seconds) >= NARROW


def _round(
    sides: Sequence[_Batches],
    values: FreshValues,
    plan: Sequence[Planned],
    generator: random.Random,
    *,
    short: bool = True,
    looks: _Looks | None = None,
) -> None:
    """A batch of each side in random order, and a short one before it. Of each of the first side's, some calls are
    looked at."""
    size = len(plan)
    for batches in generator.sample(list(sides), len(sides)):
        few = 0.0
        if short:
            first = list(reversed(plan))[: size // 2]
            batches.fill(values, first)
            some, few = batches.run(size // 2)
            batches.seconds += some
            if looks is not None and batches is sides[0]:
                looks.at(batches, first)
        batches.fill(values, plan)
        others, wall = batches.run(size)
        batches.seconds += others
        batches.long_walls.append(wall)
        if looks is not None and batches is sides[0]:
            looks.at(batches, plan)
        if short:
            batches.pairs.append((few, wall))


@dataclass(kw_only=True)
class _Looks:
    """Judges some calls of a batch, chosen after the fact."""

    values: FreshValues
    generator: random.Random
    check: Callable[[Checked], None]
    spent_s: float = 0.0

    def at(self, batches: _Batches, plan: Sequence[Planned]) -> None:
        """Look at some calls of the batch that ran last, whose values `plan` lists."""
        started = time.monotonic()
        if len(plan) == 1 and self.generator.random() > SINGLE_LOOKS:
            return
        for chosen in self.generator.sample(range(len(plan)), min(LOOKS, len(plan))):
            fetched = batches.side.session.fetch(batches.slots[chosen], chosen)
            inputs = plan[chosen].tensors(self.values)
            self.check(Checked(inputs=inputs, fetched=fetched, slot=batches.slots[chosen]))
        self.spent_s += time.monotonic() - started


def _check(
    sides: Sequence[_Batches],
    values: FreshValues,
    plan: Sequence[Planned],
    generator: random.Random,
    samples: Samples,
    check: Callable[[Checked], None],
) -> None:
    """Fetch and judge one call of the last long batch of ours, chosen after the fact; fetch the rival's too, if any."""
    ours, *rivals = sides
    chosen = generator.randrange(len(plan))
    samples.baseline_fetch += [_fetch_s(each, chosen, ours.slots[chosen]) for each in rivals]
    check(_fetched(ours, chosen, plan, values, samples))  # nothing here holds on to tensors that may be large


def _fetched(batches: _Batches, chosen: int, plan: Sequence[Planned], values: FreshValues, samples: Samples) -> Checked:
    fetched = batches.side.session.fetch(batches.slots[chosen], chosen)
    samples.candidate_fetch.append(fetched.wall_s)
    inputs = plan[chosen].tensors(values)
    return Checked(inputs=inputs, fetched=fetched, slot=batches.slots[chosen], others=batches.slots)


def _fetch_s(rival: _Batches, chosen: int, slot: Slot) -> float:
    """Seconds that reading a rival's outputs takes; where it has no memory for them, as long as filling the
    candidate's twice: a copy reads and writes."""
    if rival.slots[chosen].takes_outputs:
        return rival.side.session.fetch(rival.slots[chosen], chosen).wall_s
    started = time.perf_counter()
    slot.outputs.poison()
    return 2 * (time.perf_counter() - started)


def _done(budget: SamplingBudget, elapsed_s: float, ours: _Batches, theirs: _Batches) -> bool:
    if min(len(ours.seconds), len(theirs.seconds)) < LEAST:
        return bool(ours.seconds) and elapsed_s > 10 * budget.seconds
    count = len(ours.seconds)
    if count >= MOST or elapsed_s > PATIENCE * budget.seconds:
        return True
    return count >= ENOUGH and all(relative_width(batches.seconds) < NARROW for batches in (ours, theirs))
