"""The second stage of recall: which experiences of the similarity pool go into the context.

Every rule is deterministic for one request and one seed. `joint.py` holds the default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from services.domain.jobs import Stage


@dataclass(frozen=True, kw_only=True)
class PoolItem:
    """An experience that similarity put forward."""

    experience_id: str
    similarity: float
    """Cosine similarity to the query, -1 to 1."""
    value: float
    """Learned value at the stage, for the problem's family and site."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RewardedStep:
    """One rewarded step of a family and stage, as rules learn from it."""

    items: tuple[str, ...]
    similarities: tuple[float, ...]
    """Beside `items`."""
    reward: float
    """Draft: r₁, +1 or -1. Refine: r₂ in deviations from the family's running mean."""
    job_id: str = ""
    earned: float = 0.0
    """The reward itself, -1 to 1: unlike deviations from a mean that moved since, those of different times compare."""

    @property
    def succeeded(self) -> bool:
        """Accepted (draft), or better than the family's average (refine)."""
        return self.reward > 0


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What a family's trials say, in a form that other families can use and later draws can start from."""

    levels: tuple[tuple[float, ...], ...] = ()
    """Rows: trials, summed reward, summed squared reward; columns: number of helpful items in the context."""
    bins: tuple[tuple[float, ...], ...] = ()
    """Rows: helpful items, items; columns: bands of similarity."""
    helpful: Mapping[str, float] = field(default_factory=dict)
    """Probability that an item helps, for the family's own items that have been tried."""


NO_EVIDENCE = Evidence()


@dataclass(frozen=True, kw_only=True)
class SelectionRequest:
    """What a rule chooses from and what it may know."""

    stage: Stage
    pool: Sequence[PoolItem]
    """Most similar first."""
    count: int
    """N: how many to choose."""
    step: int
    """Outcomes the team's memory has learned from so far, for schedules."""
    trials: Sequence[RewardedStep] = ()
    """Recent trials of the query's family and stage, oldest first."""
    own: Evidence = NO_EVIDENCE
    """The family's evidence as last digested."""
    others: Sequence[Evidence] = ()
    """The evidence of the other families at this stage."""


class SelectionRule(Protocol):
    """Chooses experiences from a pool."""

    @property
    def name(self) -> str:
        """As settings name it."""

    def choose(self, request: SelectionRequest, rng: np.random.Generator) -> tuple[str, ...]:
        """At most `request.count` different experiences of the pool, best first."""

    def digest(self, request: SelectionRequest, rng: np.random.Generator) -> Evidence:
        """What `request.trials` say, for later calls (the pool may be empty)."""


@dataclass(frozen=True, kw_only=True)
class PoolSchedule:
    """K = λN, with λ growing linearly from the first step on and then constant."""

    start: float = 4.0
    end: float = 12.0
    ramp_steps: int = 500
    """Outcomes after which λ has its final value."""

    def size(self, step: int, count: int) -> int:
        """K for the given number of outcomes so far."""
        share = 1.0 if self.ramp_steps <= 0 else min(1.0, step / self.ramp_steps)
        return int((self.start + (self.end - self.start) * share) * count)


@dataclass(frozen=True, kw_only=True)
class EpsilonSchedule:
    """Exploration that falls linearly to a tenth of its start."""

    start: float = 0.3
    decay_steps: int = 1000
    """Outcomes after which it would reach zero, were it not for the floor."""

    def epsilon(self, step: int) -> float:
        """Probability of a random choice after the given number of outcomes."""
        share = 1.0 if self.decay_steps <= 0 else step / self.decay_steps
        return self.start * max(0.1, 1.0 - share)
