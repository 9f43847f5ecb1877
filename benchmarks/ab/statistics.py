"""Paired comparisons of two arms: bootstrap over problems, and what the experiment could have seen.

Problems, not jobs, are drawn: seeds of one problem are alike. Power is that of a paired two-sided test at 5 % in the
normal approximation (Cohen 1988, section 2.3): with n problems whose differences have the deviation s, an effect of
(1.96 + 0.84) · s/√n is found four times in five.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

DRAWS = 5000
FEWEST = 3
"""Problems below which there is no interval."""
_Z = 1.959964 + 0.841621


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One figure of two arms: a difference, or a ratio where it is compared by its logarithm."""

    estimate: float
    low: float | None
    high: float | None
    """95 %, percentile bootstrap over problems; None with too few of them."""
    problems: int
    detectable: float | None
    """The smallest difference (or ratio) that an experiment of this size finds in four of five cases."""


def compare(
    one: Mapping[str, Sequence[float | None]],
    other: Mapping[str, Sequence[float | None]],
    *,
    logarithmic: bool,
    seed: int = 0,
) -> Comparison | None:
    """`one` against `other`, by problem with a value for each seed, in the same order of seeds.

    Pairs in which one has no value are left out; None where nothing is left."""
    differences = [
        found for name in sorted(one) if (found := _difference(one[name], other.get(name, ()), logarithmic)) is not None
    ]
    if not differences:
        return None
    back = math.exp if logarithmic else float
    estimate, low, high, detectable = statistics.mean(differences), None, None, None
    if len(differences) >= FEWEST:
        rng = np.random.default_rng(seed)
        drawn = rng.choice(np.array(differences), size=(DRAWS, len(differences))).mean(axis=1)
        low, high = (back(float(one)) for one in np.quantile(drawn, [0.025, 0.975]))
        detectable = back(_Z * statistics.stdev(differences) / math.sqrt(len(differences)))
    return Comparison(estimate=back(estimate), low=low, high=high, problems=len(differences), detectable=detectable)


def _difference(one: Sequence[float | None], other: Sequence[float | None], logarithmic: bool) -> float | None:
    """Mean over the seeds that both have."""
    pairs = [(a, b) for a, b in zip(one, other, strict=False) if a is not None and b is not None]
    if logarithmic:
        pairs = [(math.log(a), math.log(b)) for a, b in pairs if a > 0 and b > 0]
    return statistics.mean(a - b for a, b in pairs) if pairs else None


__all__ = ["Comparison", "compare"]
