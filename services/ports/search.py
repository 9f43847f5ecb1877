"""Search strategies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from services.domain.chat import AttemptFact, SearchBrief
from services.domain.experiences import StartValues
from services.domain.measurements import Baselines


@dataclass(frozen=True, kw_only=True)
class SearchState:
    """What a strategy decides from."""

    attempts: tuple[AttemptFact, ...]
    """All steps so far, oldest first."""
    best_candidate_id: str | None
    baselines: Baselines
    floor_us: float
    seed: int
    start_values: StartValues | None = None
    """What memory thinks of the accepted attempts as start points; None in a step without memory."""
    branch: int = 0
    """Which of the round's candidates is decided about, from 0."""
    width: int = 1
    """How many candidates a round makes at the same time."""

    @property
    def step(self) -> int:
        """Index of the step that is decided about."""
        return len(self.attempts) + self.branch


class Strategy(Protocol):
    """Search strategy: pure decisions, no side effects."""

    @property
    def name(self) -> str:
        """As settings name it."""

    def start_point(self, state: SearchState) -> AttemptFact | None:
        """The attempt to start the next step from; None for a fresh draft."""

    def stop(self, state: SearchState) -> str | None:
        """Why to stop early (roofline reached, plateau), or None to go on."""

    def brief(self, state: SearchState, start: AttemptFact | None) -> SearchBrief:  # noqa: ARG002 -- for others
        """What to tell the agents about the search, given its start point; nothing unless overridden."""
        return SearchBrief()
