"""The first stage of recall over stored experiences: which fit by their keys, and are nearest."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from services.domain.experiences import Experience
from services.memory.ranking import Vectors
from services.memory.recall import NearestExperiences


class FirstStage(NearestExperiences, Protocol):
    """What one team may recall, in one vector space, up to date when it was opened."""

    @property
    def teams(self) -> Collection[str]:
        """Whose experiences they are."""

    @property
    def variants(self) -> dict[tuple[str, str], tuple[Experience, ...]]:
        """Fastest traces by family and backend; emptied when something changes."""

    async def nearest(self, vector: Vectors, count: int) -> dict[str, float]:
        """Similarities of the nearest experiences of every kind."""


class VectorIndex(Protocol):
    """Opens what teams may recall."""

    async def open(self, team_id: str, space: str, dimensions: int) -> FirstStage:
        """Everything the team may recall now. One call at a time for each team."""

    async def settled(self) -> None:
        """Wait for what goes on in the background."""

    async def close(self) -> None:
        """Stop what goes on in the background."""
