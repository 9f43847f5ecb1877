"""The experience memory and its records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from services.domain.experiences import (
    Experience,
    ExperienceFilter,
    ExperiencePage,
    MemoryAction,
    MemoryLine,
    MemoryShare,
    RecalledExperience,
    RecallQuery,
    StartValues,
    StepUse,
)
from services.domain.jobs import Stage
from services.domain.practices import PracticeVersion, RewardedTrial
from services.domain.value_log import LogEntry


class LearnedValues(Protocol):
    """What a team's experiences are worth, as its value log says it."""

    def value(self, stage: Stage, experience_id: str, family: str, site: str = "*") -> float:
        """Learned value on the reward's own scale, for a family and site; `*` stands for all of them."""

    def visits(self, stage: Stage, experience_id: str) -> float:
        """How many rewards an experience has taken in."""

    def normalised(self, stage: Stage, experience_id: str, family: str, site: str = "*") -> float:
        """The value in deviations from its stage's and family's running mean: comparable across stages and families."""


class Memory(Protocol):
    """The team's experiences."""

    async def recall(self, query: RecallQuery) -> tuple[RecalledExperience, ...]:
        """At most `query.limit` experiences of the query's team, best first; deterministic for one memory and seed."""

    async def remember(self, experiences: Sequence[Experience]) -> int:
        """Store what is not yet known (by id and by content); returns how many were new."""

    async def get(self, team_id: str, experience_id: str) -> Experience:
        """One experience. Raises `NotFoundError`."""

    async def search(self, team_id: str, text: str, limit: int = 20) -> tuple[RecalledExperience, ...]:
        """The nearest experiences to a text; for people."""

    def notice(self) -> str | None:
        """Why recall is worse than it should be at the moment, for people; None while all is as configured."""

    async def start_values(self, team_id: str, family: str, site: str, candidates: Sequence[str]) -> StartValues:
        """Q₂ of accepted candidates as start points: that of each one's trace experience, for a family and site."""


class MemoryRecords(Protocol):
    """The records of a team's memory: what it holds, what it learned from, who changed it by hand."""

    async def page(
        self, team_id: str, wanted: ExperienceFilter, *, limit: int = 50, cursor: str | None = None
    ) -> ExperiencePage:
        """The team's own experiences in use, newest first. Raises `ConfigurationError` for a foreign cursor."""

    async def log(self, team_id: str) -> tuple[LogEntry, ...]:
        """The complete value log, from which every value can be computed."""

    async def values(self, team_id: str) -> LearnedValues:
        """The values that the log gives today; they go on being updated, so read them without awaiting."""

    async def uses(self, team_id: str, experience_id: str, limit: int = 50) -> tuple[StepUse, ...]:
        """The team's steps that had an experience in their context, latest first."""

    async def refined(self, team_id: str, experience: Experience, limit: int = 50) -> tuple[StepUse, ...]:
        """The team's steps that started from the kernel that a trace is about, latest first."""

    async def outlines(self, team_id: str, experience_ids: Sequence[str]) -> tuple[Experience, ...]:
        """Those of the team's own experiences, in use or not, without text and code; in the order asked for."""

    async def taught(self, team_id: str, candidate_ids: Sequence[str], limit: int = 50) -> tuple[Experience, ...]:
        """The team's experiences that some candidates gave, in use or not, without text and code, oldest first."""

    async def retract(self, team_id: str, subject: str, reason: str, actor: str) -> tuple[str, ...]:
        """Take an experience, or all that a candidate or an evaluation taught, out of memory; ids of the experiences.

        What the evaluation credited is undone from the start on. Again is harmless. Raises `NotFoundError`."""

    async def retracted(self, team_id: str) -> tuple[str, ...]:
        """Ids of the team's retracted experiences."""

    async def audit(self, team_id: str, limit: int = 50) -> tuple[MemoryAction, ...]:
        """What was changed by hand, latest first."""

    async def owners(self, experience_ids: Sequence[str]) -> Mapping[str, str]:
        """The teams that known experience ids belong to."""

    async def vectors(self, team_id: str, experience_ids: Sequence[str]) -> Mapping[str, tuple[float, ...]]:
        """Vectors in the current embedder's space, as far as there are any."""

    async def adopt(self, team_id: str, lines: Sequence[MemoryLine], source: str, actor: str) -> int:
        """Store imported experiences with vectors and values, all or none; how many were new."""

    async def forget(self, team_id: str, experience_ids: Sequence[str], reason: str, actor: str) -> int:
        """Take experiences out of recall for good, keeping what was learned from them; how many were in use."""

    async def outline(self, team_id: str) -> tuple[Experience, ...]:
        """The team's own experiences in use, oldest first, without text and code: for maintenance over all of them."""

    async def trials(self, team_id: str) -> tuple[RewardedTrial, ...]:
        """The steps that the values were learned from, the latest of each family and stage."""

    async def learned_practices(self, team_id: str) -> tuple[PracticeVersion, ...]:
        """The team's practices that agents drew from jobs, in use or not, oldest first."""

    async def merge(self, team_id: str, pairs: Sequence[tuple[str, str]], actor: str) -> int:
        """Make one of each (kept, absorbed) pair, with the value history of both; how many were absorbed."""

    async def untidied(self, team_id: str) -> int:
        """Experiences that came since `tidied` was called last."""

    async def tidied(self, team_id: str) -> None:
        """Maintenance has seen everything there is."""

    async def share(self, team_id: str, reader: str, actor: str, *, granted: bool = True) -> None:
        """Let another team recall this team's experiences, or no longer. Raises `NotFoundError` for an unknown team."""

    async def shares(self, team_id: str) -> tuple[MemoryShare, ...]:
        """The shares that a team has given or got."""
