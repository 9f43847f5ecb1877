"""Keeping a team's memory small by itself: near-duplicates become one, and what never helped goes above the cap."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from services.domain.errors import InfrastructureError
from services.domain.experiences import Experience, ExperienceKind
from services.memory.hygiene import Pair, identity, is_protected, to_forget
from services.ports.memory import MemoryRecords
from services.team_memory.practice_review import PracticeReview, alike, holding_of

log = logging.getLogger(__name__)

ACTOR = "housekeeping"
SAME_SIMILARITY = 0.98
"""Cosine similarity from which on two experiences that agree in their keys, verdict and moves are one."""
LARGEST_GROUP = 4096
"""Experiences of one kind that are compared with each other; of more only the newest are."""


@dataclass(frozen=True, kw_only=True)
class Tidied:
    """What maintenance did."""

    merged: int = 0
    """Experiences that became part of another one."""
    forgotten: int = 0
    retired: int = 0
    """Learned practices that their uses refuted."""


class MemoryMaintenance:
    """Merges and forgets, now and then after a job."""

    def __init__(self, records: MemoryRecords, *, cap: int, every: int = 1000) -> None:
        """`cap`: experiences that a team keeps of one backend. `every`: new experiences after which it is looked at,
        less where the cap is small; a merge makes readers fold the value log anew, so not after each job."""
        self._records = records
        self._cap = cap
        self._every = max(1, min(every, cap // 10))
        self._practices = PracticeReview(records)
        self._tidying: set[str] = set()

    async def after_job(self, team_id: str) -> Tidied:
        """Review the learned practices, and tidy where enough is new. What fails is left for the next time: the job has
        ended well. Jobs that end while a team's memory is being tidied leave it alone: it would be the same work
        again."""
        if team_id in self._tidying:
            return Tidied()
        self._tidying.add(team_id)
        try:
            if await self._records.untidied(team_id) >= self._every:
                return await self.tidy(team_id, ACTOR)
            merged, retired = await self._practices.review(team_id, ACTOR)
            return Tidied(merged=merged, retired=retired)
        except InfrastructureError as error:
            log.warning("the memory of team %s was not tidied: %s", team_id, error)
            return Tidied()
        finally:
            self._tidying.discard(team_id)

    async def tidy(self, team_id: str, actor: str) -> Tidied:
        """Review the learned practices, merge what is nearly the same among what is new, then forget above the cap."""
        alike, retired = await self._practices.review(team_id, actor)
        grown = await self._records.untidied(team_id)
        merged = alike + await self._merge(team_id, grown, actor)
        forgotten = await self._forget(team_id, actor)
        await self._records.tidied(team_id)
        return Tidied(merged=merged, forgotten=forgotten, retired=retired)

    async def _merge(self, team_id: str, grown: int, actor: str) -> int:
        outline = await self._records.outline(team_id)
        values = await self._records.values(team_id)
        pairs: list[Pair] = []
        for group in _groups(outline, grown):
            pairs += await alike(self._records, values, team_id, group, SAME_SIMILARITY)
        return await self._records.merge(team_id, pairs, actor) if pairs else 0

    async def _forget(self, team_id: str, actor: str) -> int:
        outline = await self._records.outline(team_id)
        values = await self._records.values(team_id)
        going: list[str] = []
        for backend in sorted({item.backend for item in outline}):
            going += to_forget([holding_of(values, item) for item in outline if item.backend == backend], self._cap)
        reason = f"more than {self._cap} experiences of a backend"
        return await self._records.forget(team_id, going, reason, actor) if going else 0


def _groups(outline: Sequence[Experience], grown: int) -> Iterator[list[Experience]]:
    """Experiences that may be the same, with a new one among them. `outline` is oldest first, its end is new.

    Traces are left alone: each is its own candidate's start point, with code that no words tell apart."""
    groups: dict[tuple[object, ...], list[Experience]] = {}
    for item in outline:
        if not is_protected(item) and item.kind is not ExperienceKind.TRACE:
            groups.setdefault(identity(item), []).append(item)
    new = {item.id for item in outline[max(0, len(outline) - grown) :]}
    for group in groups.values():
        if len(group) > 1 and any(item.id in new for item in group):
            yield group[-LARGEST_GROUP:]
