"""How learned practices evolve: alike ones become one, and what their uses refute is not recalled any more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from services.domain.experiences import Experience
from services.domain.jobs import Stage
from services.domain.practices import PracticeVersion
from services.domain.value_log import LogEntry, MergeEntry
from services.memory.hygiene import Holding, Pair, near_duplicates
from services.memory.standing import PracticeStanding, StandingVerdict, standings
from services.ports.memory import LearnedValues, MemoryRecords

ALIKE = 0.95
"""Cosine similarity of two practices of one family and backend from which on they say the same: they are short, and
words that turn one into its opposite leave them less alike than this only where they are many."""
ACTIVE = "active"
RETIRED = "forgotten"
"""The state of what is not recalled any more; one that nobody used went for want of room."""


@dataclass(frozen=True, kw_only=True)
class ReviewedPractice:
    """A learned practice with what became of it."""

    practice: Experience
    state: str
    """`active`, `merged`, `forgotten` or `retracted`."""
    standing: PracticeStanding
    """Its worth; of a merged one that of the practice it became part of."""
    verdict: StandingVerdict
    """What its worth says; of a retired one what it said when it was retired."""
    merged_into: str | None
    """The practice that it is a version of since."""


class PracticeReview:
    """Looks at a team's learned practices, after a job and for people."""

    def __init__(self, records: MemoryRecords) -> None:
        self._records = records

    async def all(self, team_id: str) -> tuple[ReviewedPractice, ...]:
        """Every version of every learned practice, newest first, with what its uses say."""
        versions = await self._records.learned_practices(team_id)
        if not versions:
            return ()
        into = _merged_into(await self._records.log(team_id))
        heirs = {version.practice.id: _heir(version.practice.id, into) for version in versions}
        worth = standings(await self._records.trials(team_id), set(heirs.values()))
        return tuple(
            _reviewed(version, worth[heirs[version.practice.id]], into.get(version.practice.id))
            for version in reversed(versions)
        )

    async def review(self, team_id: str, actor: str) -> tuple[int, int]:
        """Merge what is alike, retire what is refuted; how many of each."""
        active = [one.practice for one in await self._records.learned_practices(team_id) if one.state == ACTIVE]
        absorbed = await self._merge(team_id, active, actor)
        left = [item for item in active if item.id not in absorbed]
        return len(absorbed), await self._retire(team_id, left, actor)

    async def _merge(self, team_id: str, active: Sequence[Experience], actor: str) -> set[str]:
        if len(active) < 2:
            return set()
        values = await self._records.values(team_id)
        if pairs := await alike(self._records, values, team_id, active, ALIKE):
            await self._records.merge(team_id, pairs, actor)
        return {absorbed for _, absorbed in pairs}

    async def _retire(self, team_id: str, active: Sequence[Experience], actor: str) -> int:
        if not active:
            return 0
        worth = standings(await self._records.trials(team_id), [item.id for item in active])
        refuted = [name for name, found in worth.items() if found.verdict is StandingVerdict.REFUTED]
        reason = "refuted: it surely made the steps worse that had it"
        return await self._records.forget(team_id, refuted, reason, actor) if refuted else 0


async def alike(
    records: MemoryRecords, values: LearnedValues, team_id: str, items: Sequence[Experience], threshold: float
) -> list[Pair]:
    """Near-duplicates among some experiences of a team; one without a vector is like no other."""
    vectors = await records.vectors(team_id, [item.id for item in items])
    known = [item for item in items if item.id in vectors]
    if len(known) < 2:
        return []
    matrix = np.array([vectors[item.id] for item in known], dtype=np.float32)
    return near_duplicates([holding_of(values, item) for item in known], matrix, threshold=threshold)


def holding_of(values: LearnedValues, item: Experience) -> Holding:
    """An experience with what was learned about it."""
    visits = {stage: values.visits(stage, item.id) for stage in Stage}
    learned = [values.normalised(at, item.id, item.family) for at, seen in visits.items() if seen]
    return Holding(experience=item, value=max(learned, default=0.0), visits=sum(visits.values()))


def _merged_into(log: Sequence[LogEntry]) -> dict[str, str]:
    return {entry.absorbed: entry.kept for entry in log if isinstance(entry, MergeEntry)}


def _reviewed(version: PracticeVersion, worth: PracticeStanding, merged_into: str | None) -> ReviewedPractice:
    retired = version.state == RETIRED and worth.uses > 0
    return ReviewedPractice(
        practice=version.practice,
        state=version.state,
        standing=worth,
        verdict=StandingVerdict.REFUTED if retired else worth.verdict,
        merged_into=merged_into,
    )


def _heir(name: str, into: Mapping[str, str]) -> str:
    """The practice that a version is part of today, by the log's merges."""
    while name in into:
        name = into[name]
    return name
