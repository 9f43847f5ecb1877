"""The experience memory in a dictionary."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from services.domain.errors import NotFoundError
from services.domain.experiences import Experience, ExperienceKind, RecalledExperience, RecallQuery, StartValues
from services.ports.memory import Memory

if TYPE_CHECKING:
    from services.testing.database import InMemoryDatabase


_PRACTICE, _SHEET = ExperienceKind.BEST_PRACTICE, ExperienceKind.API_TEMPLATE


class InMemoryMemory(Memory):
    """A `Memory` whose similarity is the cosine between word counts."""

    def __init__(self, database: InMemoryDatabase) -> None:
        self._database = database
        self.trouble: str | None = None

    async def recall(self, query: RecallQuery) -> tuple[RecalledExperience, ...]:
        """The team's nearest experiences, best first."""
        near = self._nearest(query.team_id, query.text, len(self._database.experiences))
        wanted = [
            item
            for item in near
            if item.experience.id not in query.left_out
            and (not query.experts_only or item.experience.kind in (_PRACTICE, _SHEET))
            and not (query.experts_only and item.experience.is_learned_practice)
        ]
        return tuple(wanted[: query.limit])

    async def remember(self, experiences: Sequence[Experience]) -> int:
        """Store what is new by id and by content."""
        return self._database.remember(experiences)

    async def get(self, team_id: str, experience_id: str) -> Experience:
        """One experience. Raises `NotFoundError`."""
        found = self._database.experiences.get(experience_id)
        if found is None or found.team_id not in self._database.visible(team_id):
            raise NotFoundError(f"no experience {experience_id}")
        return found

    async def search(self, team_id: str, text: str, limit: int = 20) -> tuple[RecalledExperience, ...]:
        """The team's nearest experiences to a text."""
        return self._nearest(team_id, text, limit)

    def notice(self) -> str | None:
        """What a test says is wrong."""
        return self.trouble

    async def start_values(
        self,
        team_id: str,  # noqa: ARG002 -- the port names it
        family: str,  # noqa: ARG002
        site: str,  # noqa: ARG002
        candidates: Sequence[str],
    ) -> StartValues:
        """Zero for everyone: it learns no values."""
        return StartValues(values=dict.fromkeys(candidates, 0.0))

    def _nearest(self, team_id: str, text: str, limit: int) -> tuple[RecalledExperience, ...]:
        words = _words(text)
        recalled = [
            RecalledExperience(experience=item, similarity=_cosine(words, _words(f"{item.title} {item.text}")))
            for item in self._database.in_use()
            if item.team_id in self._database.visible(team_id) and not item.is_unproven
        ]
        recalled.sort(key=lambda item: (-item.similarity, item.experience.id))
        return tuple(recalled[:limit])


def _words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text.lower()))


def _cosine(left: Counter[str], right: Counter[str]) -> float:
    product = sum(count * right[word] for word, count in left.items())
    norms = math.sqrt(sum(n * n for n in left.values())) * math.sqrt(sum(n * n for n in right.values()))
    return product / norms if norms else 0.0
