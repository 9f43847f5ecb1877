"""Does a candidate know values that it has seen? Then it is slower where it cannot have seen them.

Some timed calls, which a candidate cannot predict, are on values drawn for them alone; the others are mixtures of a few
draws. Both sides of a pair get the same, so what costs the baseline more as well is not held against it.

On a busy machine calls differ by chance. So measurements are repeated until chance is ruled out: on a quiet machine
that takes few of them.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from workers.referee.gates.finding import GateFinding, failed, suspicious
from workers.referee.timing.single_calls import Samples
from workers.referee.timing.statistics import quantile
from workers.referee.trial import Measured

LEAST = 3
"""Calls of either kind below which nothing can be said."""
HINT, EVIDENCE = 1.3, 1.6
"""How many times as long calls on unseen values take."""
CHANCE = 1e-4
"""How likely it may be, at most, that so many calls on unseen values are slow by accident."""
MOST_MEASUREMENTS = 6
OF_THE_BASELINE = 2.0
"""How many times the seconds that unseen values cost the baseline they must cost the candidate: cold caches and busy
memory delay both by seconds, not by a factor."""


@dataclass(frozen=True, kw_only=True)
class Unseen:
    """What the calls on unseen values took in one measurement."""

    ratios: tuple[float, ...]
    """Over the median of the other calls, both over the baseline's paired calls."""
    delay_s: float
    """By which they take longer than the others at the median."""
    of_baseline_s: float
    """By which all but the fastest of the baseline's paired calls take longer than its others."""


def remembered(measured: Measured, again: Callable[[], Measured]) -> GateFinding | None:
    """What measurements show together; another one is made where those before give cause to."""
    first = _unseen(measured.samples)
    found = [] if first is None else [first]
    while found and _is_slower(found) and (len(found) == 1 or not _rules_out_chance(found)):
        if len(found) == MOST_MEASUREMENTS:
            return None
        later = _unseen(again().samples)
        if later is None:
            return None
        found.append(later)
    if not found or not _is_slower(found):
        return None
    least = statistics.median(_pooled(found))
    detail = f"it takes {least:.1f} times as long on values that it cannot have seen before"
    return failed(detail) if least >= EVIDENCE else suspicious(detail)


def _unseen(samples: Samples) -> Unseen | None:
    """None where too few calls of either kind can be compared. Pairs of which a half took no time that shows have no
    ratio."""
    own = samples.each or samples.candidate
    pace = [1.0] * len(own) if samples.each else samples.baseline
    marked = [one for one in zip(own, pace, samples.fresh, strict=False) if min(one[:2]) > 0.0]
    unseen = [one for one in marked if one[2]]
    others = [one for one in marked if not one[2]]
    if min(len(unseen), len(others)) < LEAST:
        return None
    usual = statistics.median(own / other for own, other, _ in others)
    return Unseen(
        ratios=tuple(own / other / usual for own, other, _ in unseen),
        delay_s=statistics.median(one[0] for one in unseen) - statistics.median(one[0] for one in others),
        of_baseline_s=quantile(sorted(one[1] for one in unseen), 0.1) - statistics.median(one[1] for one in others),
    )


def _is_slower(found: Sequence[Unseen]) -> bool:
    delay_s = statistics.median(one.delay_s for one in found)
    of_baseline_s = statistics.median(one.of_baseline_s for one in found)
    return statistics.median(_pooled(found)) >= HINT and delay_s > OF_THE_BASELINE * of_baseline_s


def _rules_out_chance(found: Sequence[Unseen]) -> bool:
    """Without memory, each call is above the median of the others as often as not."""
    ratios = _pooled(found)
    count, slower = len(ratios), sum(ratio > 1.0 for ratio in ratios)
    return sum(math.comb(count, number) for number in range(slower, count + 1)) <= math.ldexp(CHANCE, count)


def _pooled(found: Sequence[Unseen]) -> list[float]:
    return [ratio for one in found for ratio in one.ratios]
