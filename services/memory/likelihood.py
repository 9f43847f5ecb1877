"""How a reward depends on the number of helpful experiences in the context: base + uplift per helpful item.

Base and uplift lie on a small grid, shared by all families of a team and stage. Draft outcomes are successes with that
probability; refine rewards are normal around it, in deviations from the family's running mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from services.domain.jobs import Stage

Floats = NDArray[np.float64]

LEVELS = 9
"""Columns of a level table: 0, 1, …, 8 or more helpful items in the context."""
HIGHEST_CHANCE = 0.95
"""Success probability at which further helpful items add nothing."""
LARGEST_DEVIATION = 3.0
"""Normalised rewards beyond it are cut: one outlier must not decide."""


class Likelihood(Protocol):
    """Log likelihoods over the points of the grid."""

    def of_table(self, table: Floats) -> Floats:
        """Log likelihood of every point, shape (points,).

        `table` has shape (3, LEVELS): trials, summed rewards and summed squared rewards by number of helpful items.
        """

    def of_rewards(self, rewards: Floats, point: int) -> Floats:
        """Log likelihood (up to a constant) of each reward at each level, shape (rewards, LEVELS)."""


class SuccessLikelihood:
    """Draft: rewards are +1 or -1, the chance of success is base + uplift · helpful."""

    def __init__(self) -> None:
        lines = _lines((0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6), (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5))
        chance = np.minimum(HIGHEST_CHANCE, lines)
        self._success = np.log(chance)
        self._failure = np.log1p(-chance)

    def of_table(self, table: Floats) -> Floats:
        """Binomial in each level."""
        wins = (table[0] + table[1]) / 2
        likelihood: Floats = self._success @ wins + self._failure @ (table[0] - wins)
        return likelihood

    def of_rewards(self, rewards: Floats, point: int) -> Floats:
        """Bernoulli."""
        likelihood: Floats = np.where(rewards[:, None] > 0, self._success[point], self._failure[point])
        return likelihood


class GainLikelihood:
    """Refine: rewards are normal with mean base + uplift · helpful, all in deviations of the family's rewards."""

    def __init__(self) -> None:
        lines = _lines((-1.0, -0.7, -0.5, -0.3, -0.15, 0.0), (0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5))
        deviations = (0.5, 0.75, 1.0)
        self._mean = np.tile(lines, (len(deviations), 1))
        self._deviation = np.repeat(np.array(deviations), len(lines))[:, None]

    def of_table(self, table: Floats) -> Floats:
        """Normal in each level, from count, sum and sum of squares."""
        squares = table[2] - 2 * self._mean * table[1] + self._mean**2 * table[0]
        terms = -squares / (2 * self._deviation**2) - table[0] * np.log(self._deviation)
        likelihood: Floats = terms.sum(axis=1)
        return likelihood

    def of_rewards(self, rewards: Floats, point: int) -> Floats:
        """Normal, without the terms that are the same for every level."""
        residuals = rewards[:, None] - self._mean[point]
        likelihood: Floats = -(residuals**2) / (2 * self._deviation[point] ** 2)
        return likelihood


def _lines(bases: Sequence[float], uplifts: Sequence[float]) -> Floats:
    base, uplift = np.meshgrid(np.array(bases), np.array(uplifts), indexing="ij")
    lines: Floats = base.reshape(-1, 1) + uplift.reshape(-1, 1) * np.arange(LEVELS)
    return lines


_BY_STAGE: dict[Stage, Likelihood] = {Stage.DRAFT: SuccessLikelihood(), Stage.REFINE: GainLikelihood()}


def likelihood_of(stage: Stage) -> Likelihood:
    """The likelihood of a stage's rewards."""
    return _BY_STAGE[stage]
