"""Greedy search as in CudaForge: one line of descent, always from the best accepted candidate."""

from __future__ import annotations

from agents.strategies.lineage import failed_line, open_failures, ranked
from agents.strategies.stop_rule import RuledStrategy, StopRule
from services.domain.chat import AttemptFact
from services.ports.search import SearchState


class Greedy(RuledStrategy):
    """Repairs the latest failure until something is accepted, then refines the best; stops at the roof or a plateau.

    With a beam it is beam search: the branches start from the best, the second best, and so on.
    """

    name = "greedy"

    def __init__(self, *, repairs: int = 3, patience: int = 5) -> None:
        """`repairs`: failures in one line of descent before a fresh draft. `patience` is `StopRule`'s."""
        self._repairs = repairs
        self._rule = StopRule(patience=patience)

    def start_point(self, state: SearchState) -> AttemptFact | None:
        """The best accepted attempt (the branch-th best in a beam); before there is one, a failure worth repairing."""
        accepted = ranked(state.attempts)[: state.width]
        if accepted:
            return accepted[state.branch % len(accepted)]
        return draft_start(state, self._repairs)


def draft_start(state: SearchState, repairs: int) -> AttemptFact | None:
    """The failure to repair while nothing is accepted: the latest of the lines that failed fewer than `repairs` times
    (the branch-th latest in a beam); None for a fresh draft."""
    if state.width == 1:
        latest = open_failures(state.attempts)[:1]
        return next((item for item in latest if failed_line(item, state.attempts) < repairs), None)
    lines = [item for item in open_failures(state.attempts) if failed_line(item, state.attempts) < repairs]
    return lines[state.branch] if state.branch < len(lines) else None
