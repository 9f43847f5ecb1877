"""Value-driven search as in EvoKernel: the start point is chosen among all accepted candidates by what memory learned.

Drafting and the stop rules are those of the greedy strategy; only where to refine from differs (section 3.4).
"""

from __future__ import annotations

import math
from random import Random

from agents.strategies.greedy import Greedy
from agents.strategies.lineage import is_accepted, median_us
from services.domain.chat import AttemptFact
from services.domain.experiences import StartValues
from services.memory.selection import EpsilonSchedule
from services.ports.search import SearchState, Strategy

STEEPEST = 0.98
"""Values beyond it count as this: the inverse of tanh has no end."""


class ValueDriven(Strategy):
    """ε-greedy over what refining each accepted candidate should earn; without memory, greedy.

    Q₂ is the mean reward of refining a candidate, against the best latency *of that day*: an early easy gain would
    keep its start point on top for ever, and a candidate that nobody refined yet is worth the running mean however slow
    it is. So Q₂ is read as the gain that it stands for (r₂ = tanh of a log ratio), and that gain is counted from the
    candidate's own latency against the best one of today: tanh(atanh Q₂ + log b − log ℓ)."""

    name = "value_driven"

    def __init__(
        self,
        *,
        drafting: Strategy | None = None,
        exploration: EpsilonSchedule | None = None,
        rebased: bool = True,
        temperature: float = 0.25,
        margin: float = 0.2,
    ) -> None:
        """`drafting` repairs and redrafts until something is accepted, and says when to stop. `rebased`: whether Q₂ is
        counted against the best latency of today; without, the paper's rule. `temperature`: how far exploration leans
        to the better start points (a difference of this size is a factor of e); infinite takes all alike. `margin`: how
        much more than the fastest one a start point must promise: one failed attempt says little."""
        self._drafting = drafting or Greedy()
        self._exploration = exploration or EpsilonSchedule()
        self._rebased = rebased
        self._temperature = temperature
        self._margin = margin if rebased else 0.0

    def start_point(self, state: SearchState) -> AttemptFact | None:
        """One of the accepted attempts; before there is one, or without memory, the greedy choice."""
        points = [item for item in state.attempts if is_accepted(item)]
        known = state.start_values
        if not points or known is None or not known.values:
            return self._drafting.start_point(state)
        worth = self._worth(points, known)
        random = Random(f"{state.seed}/{len(state.attempts)}/start point")  # noqa: S311 - a search, not a secret
        if random.random() < self._exploration.epsilon(known.outcomes):
            leaning = [math.exp((value - max(worth)) / self._temperature) for value in worth]
            return random.choices(points, weights=leaning)[0]
        best = max(zip(worth, points, strict=True), key=lambda pair: (pair[0], -median_us(pair[1])))
        fastest = min(zip(worth, points, strict=True), key=lambda pair: median_us(pair[1]))
        return best[1] if best[0] > fastest[0] + self._margin else fastest[1]

    def stop(self, state: SearchState) -> str | None:
        """As the drafting strategy says."""
        return self._drafting.stop(state)

    def _worth(self, points: list[AttemptFact], known: StartValues) -> list[float]:
        """The expected reward of refining each point, on the reward's own scale."""
        values = [known.values.get(item.candidate_id or "", 0.0) for item in points]
        if not self._rebased:
            return values
        best = min(map(median_us, points))
        return [
            math.tanh(math.atanh(max(-STEEPEST, min(STEEPEST, value))) + math.log(best / median_us(item)))
            for value, item in zip(values, points, strict=True)
        ]
