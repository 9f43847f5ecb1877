"""The measured effect of the memory: steps with it against steps that left it out on purpose (holdout).

Which steps are held out is decided by a hash of job and step, so the decision survives a resume and does not depend
on anything that memory learned. Intervals: Newcombe's for the difference of two success rates (Wilson's for each), a
bootstrap over whole jobs for the rest, since the steps of one job are not independent.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from services.domain.jobs import Stage
from services.domain.value_log import LogEntry, OutcomeEntry
from services.memory.log import amendments
from services.memory.values import Values

Z95 = 1.959963984540054
DRAFT_CAP = 10
"""Rounds at which the count to the first accepted candidate is cut."""
FEWEST_JOBS = 5
"""Jobs needed on each side before a bootstrap says anything."""


@dataclass(frozen=True, kw_only=True)
class StepOutcome:
    """One evaluated step."""

    job_id: str
    draft_round: int | None
    """1, 2, … while drafting, None when refining."""
    with_memory: bool
    accepted: bool
    speedup: float | None
    """Against the best baseline, for accepted candidates."""


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A number with its 95 % interval; None where the data do not permit one."""

    estimate: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class Effect:
    """What memory does, and on how much data the statement rests."""

    steps_with: int
    steps_without: int
    success_with: Interval
    """Share of drafting steps that were accepted."""
    success_without: Interval
    success_difference: Interval
    """With minus without."""
    rounds_with: Interval
    """Expected rounds to the first accepted candidate, at most `DRAFT_CAP`, if every step were like these."""
    rounds_without: Interval
    rounds_saved: Interval
    """Without minus with."""
    speedup_ratio: Interval
    """Geometric mean speedup of accepted candidates with memory, divided by that without."""


def backends(log: Iterable[LogEntry]) -> tuple[str, ...]:
    """The backends that outcomes of a log were made with."""
    return tuple(sorted({entry.backend for entry in log if isinstance(entry, OutcomeEntry) and entry.backend}))


def is_holdout(job_id: str, step: int, share: float) -> bool:
    """Whether a step runs without memory, for a `share` of all steps (0 to 1)."""
    digest = hashlib.sha256(f"holdout/{job_id}/{step}".encode()).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64


def step_outcomes(log: Iterable[LogEntry], backend: str | None = None) -> tuple[StepOutcome, ...]:
    """The steps of a complete log, without retracted evaluations; of one backend's jobs where it is named."""
    entries = tuple(log)
    values = Values(amendments=amendments(entries))
    rounds: dict[str, int] = {}
    outcomes = []
    for entry in entries:
        if not isinstance(entry, OutcomeEntry) or (applied := values.apply(entry)) is None:
            continue
        if not entry.searched or backend not in (None, entry.backend):
            continue
        drafting = applied.stage is Stage.DRAFT
        rounds[entry.job_id] = rounds.get(entry.job_id, 0) + int(drafting)
        outcomes.append(
            StepOutcome(
                job_id=entry.job_id,
                draft_round=rounds[entry.job_id] if drafting else None,
                with_memory=not entry.holdout,
                accepted=entry.accepted,
                speedup=entry.speedup if entry.accepted else None,
            )
        )
    return tuple(outcomes)


def estimate_effect(outcomes: Sequence[StepOutcome], *, draws: int = 1000) -> Effect:
    """The effect on success, rounds to the first accepted candidate, and speedup."""
    counts = {arm: _draft_counts(outcomes, with_memory=arm) for arm in (True, False)}
    jobs = _by_job(outcomes)

    def bootstrap(statistic: Callable[[Sequence[StepOutcome]], float | None]) -> Interval:
        return _bootstrap(jobs, statistic, np.random.default_rng(0), draws)

    return Effect(
        steps_with=sum(one.with_memory for one in outcomes),
        steps_without=sum(not one.with_memory for one in outcomes),
        success_with=wilson(*counts[True]),
        success_without=wilson(*counts[False]),
        success_difference=newcombe(*counts[True], *counts[False]),
        rounds_with=bootstrap(lambda some: expected_rounds(some, with_memory=True)),
        rounds_without=bootstrap(lambda some: expected_rounds(some, with_memory=False)),
        rounds_saved=bootstrap(_rounds_saved),
        speedup_ratio=bootstrap(_speedup_ratio),
    )


def wilson(wins: int, count: int) -> Interval:
    """Wilson's score interval of a rate."""
    if count == 0:
        return Interval()
    low, high = _wilson_bounds(wins / count, count)
    return Interval(estimate=wins / count, low=low, high=high)


def newcombe(wins: int, count: int, other_wins: int, other_count: int) -> Interval:
    """Newcombe's hybrid score interval of the difference of two independent rates (first minus other)."""
    if not count or not other_count:
        return Interval()
    rate, other = wins / count, other_wins / other_count
    low, high = _wilson_bounds(rate, count)
    other_low, other_high = _wilson_bounds(other, other_count)
    below, above = math.hypot(rate - low, other_high - other), math.hypot(high - rate, other - other_low)
    return Interval(estimate=rate - other, low=rate - other - below, high=rate - other + above)


def _wilson_bounds(rate: float, count: int) -> tuple[float, float]:
    square = Z95**2 / count
    centre = (rate + square / 2) / (1 + square)
    half = Z95 * math.sqrt(rate * (1 - rate) / count + square / (4 * count)) / (1 + square)
    return max(0.0, centre - half), min(1.0, centre + half)


def expected_rounds(outcomes: Iterable[StepOutcome], *, with_memory: bool) -> float | None:
    """Mean rounds to the first accepted candidate, cut at `DRAFT_CAP`, from the chance of success in each round.

    Steps, not jobs, are held out, so no job is all of one kind; the chances by round put such a job together. A round
    nobody reached has the chance of the last one that was. None without any drafting step of the kind.
    """
    wins, tries = np.zeros(DRAFT_CAP), np.zeros(DRAFT_CAP)
    for one in outcomes:
        if one.with_memory is with_memory and one.draft_round is not None and one.draft_round <= DRAFT_CAP:
            tries[one.draft_round - 1] += 1
            wins[one.draft_round - 1] += one.accepted
    if not tries.any():
        return None
    expected, going_on, chance = 0.0, 1.0, float(wins.sum() / tries.sum())
    for index in range(DRAFT_CAP):
        chance = float(wins[index] / tries[index]) if tries[index] else chance
        expected += going_on
        going_on *= 1.0 - chance
    return expected


def _rounds_saved(outcomes: Sequence[StepOutcome]) -> float | None:
    used = expected_rounds(outcomes, with_memory=True)
    needed = expected_rounds(outcomes, with_memory=False)
    return None if used is None or needed is None else needed - used


def _speedup_ratio(outcomes: Sequence[StepOutcome]) -> float | None:
    logs: dict[bool, list[float]] = {True: [], False: []}
    for one in outcomes:
        if one.speedup is not None and one.speedup > 0:
            logs[one.with_memory].append(math.log(one.speedup))
    if not logs[True] or not logs[False]:
        return None
    return math.exp(float(np.mean(logs[True]) - np.mean(logs[False])))


def _draft_counts(outcomes: Iterable[StepOutcome], *, with_memory: bool) -> tuple[int, int]:
    """Accepted and all drafting steps."""
    some = [one for one in outcomes if one.with_memory is with_memory and one.draft_round is not None]
    return sum(one.accepted for one in some), len(some)


def _by_job(outcomes: Iterable[StepOutcome]) -> list[list[StepOutcome]]:
    jobs: dict[str, list[StepOutcome]] = {}
    for one in outcomes:
        jobs.setdefault(one.job_id, []).append(one)
    return list(jobs.values())


def _bootstrap(
    jobs: Sequence[Sequence[StepOutcome]],
    statistic: Callable[[Sequence[StepOutcome]], float | None],
    rng: np.random.Generator,
    draws: int,
) -> Interval:
    """Percentile bootstrap over jobs; the estimate alone where there are too few of them."""
    estimate = statistic([one for job in jobs for one in job])
    if estimate is None or len(jobs) < FEWEST_JOBS:
        return Interval(estimate=estimate)
    drawn = []
    for _ in range(draws):
        value = statistic([one for index in rng.integers(len(jobs), size=len(jobs)) for one in jobs[index]])
        if value is not None:
            drawn.append(value)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Interval(estimate=estimate, low=float(low), high=float(high))
