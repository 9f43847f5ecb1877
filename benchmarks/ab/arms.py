"""The arms of an experiment: how many calls a round makes, and what of the team's memory the agents get."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from services.domain.experiences import Experience, RecalledExperience, RecallQuery, StartValues
from services.domain.jobs import AgentsMode
from services.ports.memory import Memory


class MemoryUse(StrEnum):
    """What an arm gets of memory."""

    OFF = "off"
    """Nothing, expert practices included; nothing is kept either."""
    PROSE = "prose"
    """Words: what was tried and what came of it, without any kernel."""
    CODE = "code"
    """All of it, as in the product."""


@dataclass(frozen=True, kw_only=True)
class Arm:
    """One way of solving the same problems."""

    name: str
    agents: AgentsMode
    memory: MemoryUse


ARMS = (
    Arm(name="lean-off", agents=AgentsMode.LEAN, memory=MemoryUse.OFF),
    Arm(name="lean-prose", agents=AgentsMode.LEAN, memory=MemoryUse.PROSE),
    Arm(name="lean-code", agents=AgentsMode.LEAN, memory=MemoryUse.CODE),
    Arm(name="full-code", agents=AgentsMode.FULL, memory=MemoryUse.CODE),
)


def limited(memory: Memory, use: MemoryUse) -> Memory:
    """The memory as an arm sees it."""
    return memory if use is MemoryUse.CODE else _LimitedMemory(memory, words=use is MemoryUse.PROSE)


class _LimitedMemory(Memory):
    """A memory of which nothing or only words are recalled."""

    def __init__(self, memory: Memory, *, words: bool) -> None:
        self._memory = memory
        self._words = words

    async def recall(self, query: RecallQuery) -> tuple[RecalledExperience, ...]:
        """Without code, or nothing."""
        return _wordy(await self._memory.recall(query)) if self._words else ()

    async def remember(self, experiences: Sequence[Experience]) -> int:
        """As the memory itself; nothing where it is off."""
        return await self._memory.remember(experiences) if self._words else 0

    async def get(self, team_id: str, experience_id: str) -> Experience:
        """Without its code. Raises `NotFoundError`."""
        return replace(await self._memory.get(team_id, experience_id), code=None)

    async def search(self, team_id: str, text: str, limit: int = 20) -> tuple[RecalledExperience, ...]:
        """Without code, or nothing: no kernel of another job is adopted."""
        return _wordy(await self._memory.search(team_id, text, limit)) if self._words else ()

    def notice(self) -> str | None:
        """The memory's own."""
        return self._memory.notice()

    async def start_values(self, team_id: str, family: str, site: str, candidates: Sequence[str]) -> StartValues:
        """The memory's own, or none."""
        if not self._words:
            return StartValues(values={})
        return await self._memory.start_values(team_id, family, site, candidates)


def _wordy(found: Sequence[RecalledExperience]) -> tuple[RecalledExperience, ...]:
    return tuple(replace(item, experience=replace(item.experience, code=None)) for item in found)


__all__ = ["ARMS", "Arm", "MemoryUse", "limited"]
