"""Does a candidate know values that it has seen? Then it is slower where it cannot have seen them.

Some timed calls, which nobody can tell beforehand, are on values drawn for them alone; the others are mixtures of a few
draws. Both sides of a pair get the same, so what costs the baseline more as well accuses nobody.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable

from workers.referee.timing.single_calls import Samples
from workers.referee.timing.statistics import quantile
from workers.referee.trial import GateFinding, Measured, failed, suspicious

LEAST = 3
"""Calls of either kind below which nothing can be said."""
HINT, EVIDENCE = 1.3, 1.6
"""How many times as long calls on unseen values take."""


def slower_on_unseen(samples: Samples) -> float:
    """How many times as long the candidate takes on values drawn for a call alone; 1 where that is not clear.

    Clear is what every such call shows against the typical other one. Pairs of which a half took no time that shows
    have no ratio."""
    pace = [1.0] * len(samples.candidate)
    if samples.paired and len(samples.baseline) == len(samples.candidate):
        pace = samples.baseline
    marked = [one for one in zip(samples.candidate, pace, samples.fresh, strict=False) if min(one[:2]) > 0.0]
    unseen = [own / other for own, other, fresh in marked if fresh]
    others = [own / other for own, other, fresh in marked if not fresh]
    if min(len(unseen), len(others)) < LEAST:
        return 1.0
    usual = statistics.median(others)
    if quantile(sorted(unseen), 0.1) <= usual:  # never below the fastest, however far apart they lie
        return 1.0
    return statistics.median(unseen) / usual


def remembered(measured: Measured, again: Callable[[], Measured]) -> GateFinding | None:
    """What two measurements show; the second is made where the first gives cause to."""
    first = slower_on_unseen(measured.samples)
    if first < HINT:
        return None
    least = min(first, slower_on_unseen(again().samples))
    if least < HINT:
        return None
    detail = f"it takes {least:.1f} times as long on values that it cannot have seen before"
    return failed(detail) if least >= EVIDENCE else suspicious(detail)
