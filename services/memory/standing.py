"""What the uses of a practice say of it so far: surely good, surely of no use, or still open.

A step's reward is nobody's alone: a practice that stands beside a harmful one looks harmful too. So all experiences of
the latest steps are judged together, by Bayesian linear regression of the rewards (in deviations from their
stage's mean) on what was in the context: every experience's effect is N(0, 1) beforehand, one reward's noise has
deviation 1. In the form of a Gaussian process (Rasmussen and Williams, section 2.1.2) it costs a solve over the steps,
however many experiences there are. Drafts and refinements are judged together: what a practice is worth differs less
between them than its uses are few.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from services.domain.jobs import Stage
from services.domain.practices import RewardedTrial

Z95 = 1.959964
PRIOR = 1.0
"""Deviation of what an experience may be worth before it was used: as wide as one reward's."""
NOISE = 1.0
"""Deviation of one reward that no experience explains: rewards come in these units."""
_LEAST_DEVIATION = 0.1
"""Of rewards that are nearly equal: differences of a few percent are not blown up."""
FEWEST = 3
"""Uses before anything is said to be sure: the interval counts on the rewards' deviation being known."""
LATEST = 512
"""Steps that are looked at, the latest ones."""


class StandingVerdict(StrEnum):
    """What is known of a practice's worth."""

    OPEN = "open"
    """Its interval holds zero: what an average step is worth."""
    HELPS = "helps"
    """Surely above zero."""
    REFUTED = "refuted"
    """Surely below zero: it made steps worse."""


@dataclass(frozen=True, kw_only=True)
class PracticeStanding:
    """The worth of an experience, in deviations of a reward, with a 95 % interval."""

    value: float
    low: float
    high: float
    uses: int
    """Rewarded steps that had it."""

    @property
    def verdict(self) -> StandingVerdict:
        """Whether the interval leaves zero out, once there are uses enough."""
        if self.uses < FEWEST or self.low <= 0.0 <= self.high:
            return StandingVerdict.OPEN
        return StandingVerdict.HELPS if self.low > 0.0 else StandingVerdict.REFUTED


UNUSED = PracticeStanding(value=0.0, low=-Z95 * PRIOR, high=Z95 * PRIOR, uses=0)
"""An experience that nobody has used: anything is possible."""


def standings(trials: Sequence[RewardedTrial], names: Collection[str]) -> dict[str, PracticeStanding]:
    """The worth of each named experience by the latest steps."""
    steps = [trial for stage in Stage for trial in _standard([one for one in trials if one.stage is stage][-LATEST:])]
    used = [name for name in names if any(name in trial.items for trial in steps)]
    return {**dict.fromkeys(names, UNUSED), **_regressed(steps, used)}


def _regressed(steps: Sequence[RewardedTrial], names: Sequence[str]) -> dict[str, PracticeStanding]:
    if not names:
        return {}
    columns = {item: number for number, item in enumerate(sorted({item for step in steps for item in step.items}))}
    design = np.zeros((len(steps), len(columns)))
    for row, step in enumerate(steps):
        design[row, [columns[item] for item in step.items]] = 1.0
    # the 1 is an effect that all steps share: the mean of a few rewards is not exactly zero
    covariance = PRIOR**2 * (design @ design.T + 1.0) + NOISE**2 * np.eye(len(steps))
    rewards = np.array([step.reward for step in steps])
    asked = PRIOR**2 * design[:, [columns[name] for name in names]]
    solved = np.linalg.solve(covariance, np.column_stack([rewards, asked]))
    values = asked.T @ solved[:, 0]
    variances = PRIOR**2 - np.einsum("ij,ij->j", asked, solved[:, 1:])
    half = Z95 * np.sqrt(np.maximum(variances, 0.0))
    uses = design[:, [columns[name] for name in names]].sum(axis=0)
    return {
        name: PracticeStanding(
            value=float(values[at]),
            low=float(values[at] - half[at]),
            high=float(values[at] + half[at]),
            uses=int(uses[at]),
        )
        for at, name in enumerate(names)
    }


def _standard(steps: Sequence[RewardedTrial]) -> list[RewardedTrial]:
    """Steps of one stage, their rewards with mean 0 and deviation 1."""
    if not steps:
        return []
    rewards = np.array([step.reward for step in steps])
    rewards = (rewards - rewards.mean()) / max(float(rewards.std()), _LEAST_DEVIATION)
    return [replace(step, reward=float(reward)) for step, reward in zip(steps, rewards, strict=True)]
