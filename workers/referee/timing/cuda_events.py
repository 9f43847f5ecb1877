"""Timing on a GPU: events around every call, in batches whose length the referee's own clock checks.

A round trip to the runner costs more than many kernels take, so calls come in batches, each call on inputs of its own,
with a cold cache before and a device-wide wait after it. The figure of a batch is its total time divided by its calls,
so a call that works ahead for others, or one in so many that pays for them, gains nothing; the speedup is the median
over pairs of batches, one of each side in random order. On a busy host a call may be launched so late that its events
count the host's time; a pair in which that happens to a side that usually is in time is taken again, for both sides.

The events' figures are the runner's claims. The referee's clock sees batches of N and 2N calls; the slope between them,
less the events' figure, is what a call costs besides the kernel (flush, launch, wait), and that is the same for the
baseline: what is more, the events did not see.

Writing inputs takes as long as many kernels, and the baseline has nothing to gain from old ones: it keeps its inputs.
"""

from __future__ import annotations

import contextlib
import itertools
import math
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
LEAST, ENOUGH, MOST = 10, 12, 24
"""Pairs of batches: taken in any case, enough where the medians are well known, and at most."""
PATIENCE = 2.5
"""Budgets after which the samples must do."""
SLOPES = 6
"""Rounds with a short batch before the long one."""
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
MOST_REPEATS = 24
"""Pairs of batches, at most, that are taken again; later ones count as they are."""
USUALLY_LATE = 0.25
"""Share of the calls while a side warms up from which on it says nothing that calls are late: they wait for the host by
themselves."""
LIMIT_S = 60.0
SPREAD, SPREAD_S = 1e-3, 1e-7
"""Standard deviation of an honest ratio of 1 between two processes: a share of it, and seconds over those of a call
(`docs/results/calibration.md`: one H200, calls of 8 µs to 2.6 ms)."""
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


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What a batch took."""

    each: tuple[float, ...]
    """Seconds of each call by the events."""
    late: int
    """Calls that waited for the host."""
    wall_s: float
    """Seconds of all of it by our clock."""


@dataclass(kw_only=True)
class _Batches:
    """One side with a slot for every call of a batch, and what its batches took."""

    side: Side
    slots: list[Slot]
    calls: list[float] = field(default_factory=list)
    """Seconds of each call by the events."""
    means: list[float] = field(default_factory=list)
    """Seconds a call of each batch: its total by the events over its calls."""
    long_walls: list[float] = field(default_factory=list)
    pairs: list[tuple[float, float]] = field(default_factory=list)
    """What the short and the long batch of a round took."""
    is_late: bool = False
    """Whether its calls usually wait for the host."""

    def fill(self, values: FreshValues, plan: Sequence[Planned]) -> None:
        """Put inputs in, one set for each call; a trusted side has had its own since its side was made."""
        if self.side.trusted:
            return
        for slot, planned in zip(self.slots, plan, strict=False):
            planned.write(values, slot)

    def run(self, count: int) -> Ran:
        """The first `count` calls."""
        called = self.slots[:count]
        batch = TimeBatch(slots=tuple(slot.number for slot in called), model=self.side.model, states=states_of(called))
        timed, wall = self.side.session.ask(batch, BatchTimed, limit_s=LIMIT_S)
        if len(timed.each) != count:
            raise RunnerFault(FaultKind.FORGED, "a batch's times are not described")
        return Ran(each=timed.each, late=timed.late, wall_s=wall)

    def warm_up(self) -> None:
        """Call each slot once, to see whether such calls wait for the host."""
        self.is_late = self.run(len(self.slots)).late > USUALLY_LATE * len(self.slots)

    def take(self, batches: Sequence[Ran]) -> None:
        """Keep what a round's batches took: a long one, and where there is a short one, that before it."""
        for one in batches:
            self.calls += one.each
            self.means += [sum(one.each) / len(one.each)] if one.each else []
        self.long_walls.append(batches[-1].wall_s)
        self.pairs += [(short.wall_s, long.wall_s) for short, long in itertools.pairwise(batches)]

    def slopes(self) -> tuple[float, float]:
        """Our clock's seconds a call beyond the events', by the fastest batches and by what is typical of a round."""
        if not self.long_walls or not self.pairs:
            return 0.0, 0.0
        calls = len(self.slots) - len(self.slots) // 2
        fastest = min(self.long_walls) - min(short for short, _ in self.pairs)
        typical = statistics.median(long - short for short, long in self.pairs)
        events = statistics.median(self.means)
        return fastest / calls - events, typical / calls - events


def hidden_s(ours: _Batches, theirs: _Batches) -> float:
    """Seconds a call that our events did not see, beyond those of the baseline. What is hidden in every call shows by
    both accounts; a busy host seldom disturbs both."""
    return min(own - other for own, other in zip(ours.slopes(), theirs.slopes(), strict=True))


def process_spread(call_s: float) -> float:
    """Standard deviation of the logarithm of the ratio of such calls between two processes that run the same: each
    finds other memory, and keeps it for its life."""
    return math.hypot(SPREAD, SPREAD_S / max(call_s, SPREAD_S))


def solo(side: Side, tensors: Sequence[torch.Tensor], budget: SamplingBudget) -> Alone:
    """Calls by the events, on the same few inputs again and again: for a side that is trusted, or when cheats are not
    looked for."""
    with _opened(side) as batches:
        started = time.monotonic()
        for slot in dict.fromkeys(batches.slots):  # a trusted side has one
            slot.write(tensors)
        batches.warm_up()
        while not batches.calls or (len(batches.calls) < budget.most and time.monotonic() - started < budget.seconds):
            batches.take([batches.run(len(batches.slots))])
        side.session.drop()
        return Alone(seconds=batches.means)


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
            batches.warm_up()
        started, rounds, over, repeats = time.monotonic(), 0, False, MOST_REPEATS
        while not over:
            plan = _plan(values, size, generator, fresh=FRESH_CALLS if rounds < FRESH_ROUNDS else 0)
            looks = _Looks(values=values, generator=generator, check=check)
            counts = _round(
                ours, theirs, values, plan, generator, short=rounds < SLOPES, looks=looks, may_repeat=repeats > 0
            )
            started += looks.spent_s
            if not counts:
                repeats -= 1
                continue
            samples.fresh += _marks(plan, short=rounds < SLOPES)
            rounds += 1
            over = _done(budget, time.monotonic() - started, ours, theirs)
            if over or rounds < checks or generator.random() < LATER_CHECKS:  # once a round: others follow it
                spent = time.monotonic()
                _check(ours, theirs, values, plan, generator, samples, check)
                started += time.monotonic() - spent
        while hidden_s(ours, theirs) > _doubtful_s(ours) and rounds < MOST_ROUNDS:  # noise, or not?
            plan = _plan(values, size, generator)
            _round(ours, theirs, values, plan, generator)
            samples.fresh += _marks(plan, short=True)
            rounds += 1
        for batches in (ours, theirs):
            batches.side.session.drop()
    samples.candidate, samples.baseline, samples.each = ours.means, theirs.means, ours.calls
    samples.claimed = list(ours.means)
    samples.spread = process_spread(statistics.median(theirs.means))
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
    return max(DOUBT_S, DOUBT_SHARE * statistics.median(batches.means))


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
    """Which calls of a round are on values drawn for them alone."""
    return [planned.mixture is None for planned in [*(_first(plan) if short else []), *plan]]


def _first(plan: Sequence[Planned]) -> list[Planned]:
    """The values of a short batch's calls: others in each slot than the long one has."""
    return list(reversed(plan))[: len(plan) // 2]


def _round(
    ours: _Batches,
    theirs: _Batches,
    values: FreshValues,
    plan: Sequence[Planned],
    generator: random.Random,
    *,
    short: bool = True,
    looks: _Looks | None = None,
    may_repeat: bool = False,
) -> bool:
    """A batch of each side in random order, and a short one before it; whether they count, as they do not where the
    host was busy and they may be repeated. Of each of ours, some calls are looked at."""
    found = dict[bool, list[Ran]]()
    for batches in generator.sample([ours, theirs], 2):
        ran = found[batches is ours] = []
        for given in [_first(plan), plan] if short else [plan]:
            batches.fill(values, given)
            ran.append(batches.run(len(given)))
            if looks is not None and batches is ours and given:
                looks.at(batches, given)
    both = [(ours, found[True]), (theirs, found[False])]
    if may_repeat and any(one.late and not batches.is_late for batches, ran in both for one in ran):
        return False
    for batches, ran in both:
        batches.take(ran)
    return True


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
    ours: _Batches,
    theirs: _Batches,
    values: FreshValues,
    plan: Sequence[Planned],
    generator: random.Random,
    samples: Samples,
    check: Callable[[Checked], None],
) -> None:
    """Fetch and judge one call of our last batch, chosen after the fact; fetch the rival's too."""
    chosen = generator.randrange(len(plan))
    samples.baseline_fetch.append(_fetch_s(theirs, chosen, ours.slots[chosen]))
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
    count = len(ours.means)
    if count < LEAST:
        return elapsed_s > 10 * budget.seconds
    if count >= MOST or elapsed_s > PATIENCE * budget.seconds:
        return True
    return count >= ENOUGH and all(relative_width(batches.means) < NARROW for batches in (ours, theirs))
