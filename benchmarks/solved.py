"""What jobs showed, and how many evaluations one run of problems needed less than another.

A search sees every kernel through one noisy measurement. Scored by those, the lowest of many is luck, and "within 3 %
of the best" counts who was lucky when. So a kernel may have a *settled* figure, the median of several measurements
taken in turns, and a job is then scored by its kernels' settled figures: which one it tried first that is truly as good
as its best.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.latency_table import kernel_hash

WITHIN = 1.03
RESAMPLED = 2000
"""Draws of problems for an interval."""


@dataclass(frozen=True, kw_only=True)
class Try:
    """One evaluation of a job."""

    source: str
    """The candidate's module."""
    median_us: float | None
    """None where it was not accepted."""

    @property
    def kernel(self) -> str:
        """Hash of its C++, which other candidates may share."""
        return kernel_hash(self.source)


@dataclass(frozen=True, kw_only=True)
class Solved:
    """What one job showed."""

    problem: str
    tries: tuple[Try, ...]
    """In order. Second measurements of a leader are left out."""

    @property
    def best_us(self) -> float:
        """The lowest latency."""
        return min((one.median_us for one in self.tries if one.median_us is not None), default=math.inf)

    def until(self, target_us: float) -> int:
        """Evaluations until a latency within 3 % of a target; one more than there were where none was."""
        reached = (
            number
            for number, one in enumerate(self.tries, start=1)
            if one.median_us is not None and one.median_us <= WITHIN * target_us
        )
        return next(reached, len(self.tries) + 1)

    def settled(self, figures: Mapping[tuple[str, str], float]) -> Solved:
        """The same job scored by the settled figures of its kernels, where they have one."""
        scored = tuple(
            one
            if one.median_us is None
            else replace(one, median_us=figures.get((self.problem, one.kernel), one.median_us))
            for one in self.tries
        )
        return replace(self, tries=scored)


def contenders(runs: Sequence[Sequence[Solved]], within: float) -> dict[str, list[str]]:
    """By problem, a source of each kernel of any run that a noisy measurement put this close to the lowest one."""
    figures: dict[str, dict[str, tuple[float, str]]] = {}
    for solved in (one for run in runs for one in run):
        known = figures.setdefault(solved.problem, {})
        for one in solved.tries:
            if one.median_us is not None:
                known[one.kernel] = min((one.median_us, one.source), known.get(one.kernel, (math.inf, "")))
    return {
        problem: [source for figure, source in sorted(known.values()) if figure <= within * min(known.values())[0]]
        for problem, known in figures.items()
        if known
    }


@dataclass(frozen=True, kw_only=True)
class Saving:
    """How two runs of the same problems compare."""

    own: tuple[int, int]
    """Evaluations to within 3 % of each job's own best, before and after."""
    common: tuple[int, int]
    """The same to within 3 % of the better of both jobs' bests."""
    interval: tuple[float, float]
    """95 % of the share saved to the own best, over draws of problems."""
    faster: float
    """Best latency before over after, geometric mean."""

    @property
    def saved(self) -> float:
        """Share of the evaluations to the own best that the second run needs less."""
        return 1 - self.own[1] / self.own[0]

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"to within 3 % of its own best {self.own[0]} -> {self.own[1]} evaluations ({self.saved:+.0%} saved,"
            f" 95 % interval {low:+.0%} to {high:+.0%}); to within 3 % of the better of both"
            f" {self.common[0]} -> {self.common[1]} ({1 - self.common[1] / self.common[0]:+.0%} saved);"
            f" best latency {self.faster:.3f} times as fast (geometric mean)"
        )


def compare(before: Sequence[Solved], after: Sequence[Solved]) -> Saving:
    """What the second run saved; both hold the same problems in the same order."""
    pairs = list(zip(before, after, strict=True))
    targets = [min(one.best_us, other.best_us) for one, other in pairs]
    own = np.array([(one.until(one.best_us), other.until(other.best_us)) for one, other in pairs])
    common = [(one.until(goal), other.until(goal)) for (one, other), goal in zip(pairs, targets, strict=True)]
    drawn = np.random.default_rng(0).integers(len(pairs), size=(RESAMPLED, len(pairs)))
    sums = own[drawn].sum(axis=1)
    low, high = np.quantile(1 - sums[:, 1] / sums[:, 0], [0.025, 0.975])
    ratios = [math.log(one.best_us / other.best_us) for one, other in pairs]
    return Saving(
        own=_total(own.tolist()),
        common=_total(common),
        interval=(float(low), float(high)),
        faster=math.exp(sum(ratios) / len(ratios)),
    )


def _total(counts: Sequence[Sequence[int]]) -> tuple[int, int]:
    return sum(one[0] for one in counts), sum(one[1] for one in counts)
