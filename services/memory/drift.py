"""How much a trial still counts: less with age, and much less once rewards have fallen since.

Learning makes rewards rise. Where a family's successes fall, over more than one problem, what used to help no longer
does (a new compiler, other problems under the same family name), and old evidence would only hold the new one down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from services.memory.selection import RewardedStep

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Forgetting:
    """Weights of past trials."""

    half_life: float = 400.0
    """Trials of the family after which one counts half."""
    discount: float = 0.01
    """Factor for everything before a fall; 1 looks for none."""
    before: int = 30
    """Trials that a fall is measured against."""
    recent: int = 12
    """Trials that must be worse; they must come from at least two jobs (one hard problem is no drift)."""
    threshold: float = 7.0
    """Log likelihood ratio (nats) of "the rate fell" against "the rate stayed"; 7 is about 1 false alarm in 10,000."""

    def weights(self, trials: Sequence[RewardedStep]) -> Floats:
        """Weight of each trial, oldest first, shape (trials,)."""
        ages = len(trials) - 1 - np.arange(len(trials))
        weights: Floats = 0.5 ** (ages / self.half_life)
        for start in self.falls(trials):
            weights[:start] *= self.discount
        return weights

    def falls(self, trials: Sequence[RewardedStep]) -> list[int]:
        """Indices of the trials that a fall begins with."""
        length = self.before + self.recent
        if self.discount >= 1 or len(trials) < length:
            return []
        wins: Floats = np.cumsum([0.0] + [float(trial.succeeded) for trial in trials])
        ends = np.arange(length, len(trials) + 1)
        starts = ends - self.recent
        old, new = wins[starts] - wins[starts - self.before], wins[ends] - wins[starts]
        found: list[int] = []
        for index in np.flatnonzero(_fall(old, self.before, new, self.recent) >= self.threshold):
            start = int(starts[index])
            jobs = {trial.job_id for trial in trials[start : start + self.recent]}
            if len(jobs) > 1 and (not found or start - self.before >= found[-1]):
                found.append(start)
        return found


def _fall(old: Floats, before: int, new: Floats, recent: int) -> Floats:
    """Log likelihood ratio of two rates against one, 0 where the rate did not fall."""
    ratio = _entropy(old + new, before + recent) - _entropy(old, before) - _entropy(new, recent)
    fall: Floats = np.where(new / recent < old / before, ratio, 0.0)
    return fall


def _entropy(wins: Floats, count: int) -> Floats:
    """Negative log likelihood of a count under its own rate."""
    rate: Floats = np.clip(wins / count, 1e-9, 1 - 1e-9)
    entropy: Floats = -wins * np.log(rate) - (count - wins) * np.log(1 - rate)
    return entropy
