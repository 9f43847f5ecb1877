"""Selection rules that the default is measured against: recall without values, and each item for itself."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from services.memory.selection import NO_EVIDENCE, EpsilonSchedule, Evidence, SelectionRequest


@dataclass(frozen=True, kw_only=True)
class BySimilarity:
    """The pool's most similar items: recall without values."""

    name: str = "similarity"

    def choose(self, request: SelectionRequest, rng: np.random.Generator) -> tuple[str, ...]:
        """The first `count` of the pool."""
        del rng
        return tuple(item.experience_id for item in request.pool[: request.count])

    def digest(self, request: SelectionRequest, rng: np.random.Generator) -> Evidence:
        """Nothing is learned."""
        del request, rng
        return NO_EVIDENCE


@dataclass(frozen=True, kw_only=True)
class EpsilonGreedy:
    """The paper's rule (EvoKernel section 3.2): each place goes to the highest Q left, or with probability ε to a
    random item of the pool."""

    name: str = "epsilon_greedy"
    schedule: EpsilonSchedule = field(default_factory=EpsilonSchedule)

    def choose(self, request: SelectionRequest, rng: np.random.Generator) -> tuple[str, ...]:
        """Ties are broken at random, so that untried items share the places."""
        epsilon = self.schedule.epsilon(request.step)
        worth = np.array([item.value for item in request.pool]) + 1e-6 * rng.random(len(request.pool))
        left = [request.pool[index].experience_id for index in np.argsort(-worth)]
        return tuple(
            left.pop(int(rng.integers(len(left))) if rng.random() < epsilon else 0)
            for _ in range(min(request.count, len(left)))
        )

    def digest(self, request: SelectionRequest, rng: np.random.Generator) -> Evidence:
        """The values hold everything it knows."""
        del request, rng
        return NO_EVIDENCE


@dataclass(frozen=True, kw_only=True)
class ThompsonBeta:
    """Posterior sampling, each item for itself: the highest draws of a Beta over its success rate."""

    name: str = "thompson_beta"
    prior_success: float = 1.0
    prior_failure: float = 4.0

    def choose(self, request: SelectionRequest, rng: np.random.Generator) -> tuple[str, ...]:
        """Counts are those of the family's trials."""
        wins, losses = self._counts(request)
        draws = rng.beta(self.prior_success + wins, self.prior_failure + losses)
        order = np.argsort(-draws, kind="stable")[: request.count]
        return tuple(request.pool[index].experience_id for index in order)

    def digest(self, request: SelectionRequest, rng: np.random.Generator) -> Evidence:
        """The trials hold everything it knows."""
        del request, rng
        return NO_EVIDENCE

    def _counts(self, request: SelectionRequest) -> tuple[np.ndarray, np.ndarray]:
        place = {item.experience_id: index for index, item in enumerate(request.pool)}
        counts = np.zeros((2, len(place)))
        for trial in request.trials:
            row = 0 if trial.succeeded else 1
            for name in trial.items:
                if name in place:
                    counts[row, place[name]] += 1
        return counts[0], counts[1]
