"""When a search has nothing left to win: the roof is reached, or a plateau. Budgets are the workflow's rule."""

from __future__ import annotations

from dataclasses import dataclass

from agents.strategies.lineage import pace, ranked
from services.domain.chat import AttemptFact
from services.domain.texts import percent
from services.ports.search import SearchState, Strategy

MOST_BELIEVED = 1.05
"""Fractions above it say that the roof is wrong, not that it is reached: nothing is ended by them."""


@dataclass(frozen=True, kw_only=True)
class StopRule:
    """Early stop by roofline fraction and by plateau."""

    roof_fraction: float = 0.95
    """Share of the roofline that is close enough to it."""
    patience: int = 5
    """Rounds without a gain that make a plateau; a round of a beam is as many steps as the beam is wide."""
    least_gain: float = 0.02
    """The smallest gain worth the name, as a share of the latency."""

    def reason(self, state: SearchState) -> str | None:
        """Why to stop, or None to go on. Before anything is accepted, only the budget ends a search."""
        best = next(iter(ranked(state.attempts)), None)
        if best is None or best.report is None:
            return None
        roofline = best.report.roofline if best.report.roofline_counts else None
        if roofline is not None and self.roof_fraction <= roofline.fraction <= MOST_BELIEVED:
            return f"stopped early: within {percent(1 - self.roof_fraction)} of the roofline"
        steps = self.patience * state.width
        if self.since_gain(state.attempts) >= steps:
            return f"no gain in the last {steps} steps"
        return None

    def since_gain(self, attempts: tuple[AttemptFact, ...]) -> int:
        """Steps since the best latency last fell by a gain worth the name."""
        best, since = float("inf"), 0
        for attempt in attempts:
            median = pace(attempt)
            since += 1
            if median < best * (1 - self.least_gain):
                best, since = median, 0
        return since


class RuledStrategy(Strategy):
    """A strategy whose search ends by a rule."""

    _rule: StopRule

    def stop(self, state: SearchState) -> str | None:
        """The roof is reached, or the last steps brought nothing."""
        return self._rule.reason(state)
