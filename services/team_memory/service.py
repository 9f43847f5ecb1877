"""What people do with a team's memory: look, measure, take back, carry elsewhere, keep small. Takes ports."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from services.domain.errors import UserError
from services.domain.experiences import (
    Experience,
    ExperienceFilter,
    ExportedValue,
    MemoryAction,
    MemoryLine,
    MemoryShare,
    Provenance,
    RecalledExperience,
    StepUse,
)
from services.domain.jobs import Stage
from services.memory.effect import Effect, backends, estimate_effect, step_outcomes
from services.memory.exchange import (
    MAX_LINE_BYTES,
    MAX_LINES,
    Header,
    ImportRules,
    LineRefusal,
    export,
    read_import,
)
from services.memory.values import Change, history
from services.ports.memory import LearnedValues, Memory, MemoryRecords
from services.ports.runtime import Clock
from services.team_memory.maintenance import MemoryMaintenance, Tidied
from services.team_memory.notes import Note, practice_of
from services.team_memory.practice_review import PracticeReview, ReviewedPractice
from services.team_memory.provenance import trace_provenance

PAGE = 200
"""Experiences read at once where all are wanted."""
USES = 50


class ImportRefusedError(UserError):
    """A file with experiences has lines that cannot be imported; nothing of it was."""

    def __init__(self, refusals: Sequence[LineRefusal]) -> None:
        first = refusals[0]
        more = f" (and {len(refusals) - 1} more)" if len(refusals) > 1 else ""
        super().__init__(f"nothing was imported: line {first.line}: {first.reason}{more}")
        self.refusals = tuple(refusals)


@dataclass(frozen=True, kw_only=True)
class Worth:
    """What was learned about an experience at one stage, over all families and sites."""

    stage: Stage
    value: float
    """On the reward's own scale, -1 to 1."""
    visits: float
    """Rewards taken in; one that came by provenance counts with its weight."""


@dataclass(frozen=True, kw_only=True)
class ValuedExperience:
    """An experience with what was learned about it."""

    experience: Experience
    worth: tuple[Worth, ...]


@dataclass(frozen=True, kw_only=True)
class ValuedPage:
    """One page of a list."""

    items: tuple[ValuedExperience, ...]
    next_cursor: str | None


@dataclass(frozen=True, kw_only=True)
class ExperienceCard:
    """All that is known about one experience."""

    experience: Experience
    worth: tuple[Worth, ...]
    retracted: bool
    history: tuple[Change, ...]
    """Every change of its values, in the order of the log."""
    uses: tuple[StepUse, ...]
    """Steps that had it in their context, latest first."""


@dataclass(frozen=True, kw_only=True)
class VectorSpace:
    """The space that vectors are exported and imported in."""

    name: str
    dimensions: int


class ExperienceService:
    """The use cases of the memory for one installation."""

    def __init__(self, memory: Memory, records: MemoryRecords, space: VectorSpace, clock: Clock) -> None:
        self._memory = memory
        self._records = records
        self._space = space
        self._clock = clock

    async def page(
        self, team_id: str, wanted: ExperienceFilter, *, limit: int = 50, cursor: str | None = None
    ) -> ValuedPage:
        """The team's experiences, newest first."""
        page = await self._records.page(team_id, wanted, limit=limit, cursor=cursor)
        values = await self._records.values(team_id)
        items = tuple(ValuedExperience(experience=item, worth=_worth(values, item.id)) for item in page.experiences)
        return ValuedPage(items=items, next_cursor=page.next_cursor)

    async def search(self, team_id: str, text: str, limit: int = 20) -> tuple[RecalledExperience, ...]:
        """The nearest experiences to a text, shared ones included."""
        return await self._memory.search(team_id, text, limit)

    async def show(self, team_id: str, experience_id: str) -> ExperienceCard:
        """One experience with its value history and where it was used. Raises `NotFoundError`."""
        experience = await self._memory.get(team_id, experience_id)
        log = await self._records.log(team_id)
        uses = await self._records.uses(team_id, experience_id, USES)
        retracted = experience_id in await self._records.retracted(team_id)
        values = await self._records.values(team_id)
        return ExperienceCard(
            experience=experience,
            worth=_worth(values, experience_id),
            retracted=retracted,
            history=history(log, experience_id),
            uses=uses,
        )

    async def provenance(self, team_id: str, experience_id: str) -> Provenance:
        """What an experience came from and led to: a bounded graph. Raises `NotFoundError`."""
        return await trace_provenance(self._memory, self._records, team_id, experience_id)

    async def effect(self, team_id: str, backend: str | None = None) -> Effect:
        """What memory does: steps with it against those held out, with 95 % intervals; for one backend or all."""
        return estimate_effect(step_outcomes(await self._records.log(team_id), backend))

    async def effects(self, team_id: str) -> dict[str, Effect]:
        """What memory does for each backend that the team has used."""
        log = await self._records.log(team_id)
        return {backend: estimate_effect(step_outcomes(log, backend)) for backend in backends(log)}

    async def practices(self, team_id: str) -> tuple[ReviewedPractice, ...]:
        """Every version of what jobs taught the team, newest first, with what its uses say."""
        return await PracticeReview(self._records).all(team_id)

    async def add(self, team_id: str, note: Note) -> Experience:
        """Keep a note of the team's own as a practice: recalled and valued like those that come with the program.

        Raises `UserError` where the team has it already."""
        practice = practice_of(team_id, note, self._clock.now())
        if not await self._memory.remember([practice]):
            raise UserError(f"the memory holds this note already ({practice.id})")
        return practice

    async def retract(self, team_id: str, subject: str, reason: str, actor: str) -> tuple[str, ...]:
        """Take back an experience, or all that a candidate or evaluation taught. Raises `NotFoundError`."""
        if not reason.strip():
            raise UserError("say why it is retracted: the reason goes into the audit")
        return await self._records.retract(team_id, subject, reason.strip(), actor)

    async def audit(self, team_id: str, limit: int = 50) -> tuple[MemoryAction, ...]:
        """What was changed by hand, latest first."""
        return await self._records.audit(team_id, limit)

    async def export(self, team_id: str) -> Iterator[bytes]:
        """The memory as JSON lines, oldest first, without secrets, and without what only an older referee or the
        problem itself vouches for: the first line counts it."""
        everything = await self._all(team_id)
        proven = [item for item in everything if not item.is_unproven]
        lines = await self._lines(team_id, proven)
        header = Header(
            team_id=team_id,
            space=self._space.name,
            dimensions=self._space.dimensions,
            exported_at=self._clock.now(),
            left_out=len(everything) - len(proven),
        )
        return export(header, lines)

    async def import_(self, team_id: str, stream: BinaryIO, actor: str) -> int:
        """Take in a file (a seekable binary stream), all or nothing; how many experiences were new.

        Raises `ImportRefusedError` with a reason for every line that is refused."""
        start = stream.tell()
        owners = await self._records.owners(_ids(stream))
        stream.seek(start)
        rules = ImportRules(
            team_id=team_id, space=self._space.name, dimensions=self._space.dimensions, owner_of=owners.get
        )
        plan = read_import(stream, rules)
        if not plan.complete or plan.header is None:
            raise ImportRefusedError(plan.refusals)
        return await self._records.adopt(team_id, plan.lines, f"team {plan.header.team_id}", actor)

    async def tidy(self, team_id: str, cap: int, actor: str) -> Tidied:
        """Merge near-duplicates, and forget the least worthy experiences of each backend above `cap`."""
        return await MemoryMaintenance(self._records, cap=cap).tidy(team_id, actor)

    async def share(self, team_id: str, reader: str, actor: str) -> None:
        """Let another team recall this team's experiences. Raises `NotFoundError` for a team that does not exist."""
        if reader == team_id:
            raise UserError("a team recalls its own experiences already: name another team")
        await self._records.share(team_id, reader, actor)

    async def unshare(self, team_id: str, reader: str, actor: str) -> None:
        """Take that back; harmless where it was not granted."""
        await self._records.share(team_id, reader, actor, granted=False)

    async def shares(self, team_id: str) -> tuple[MemoryShare, ...]:
        """Which teams recall this team's experiences, and whose experiences this team recalls."""
        return await self._records.shares(team_id)

    async def _all(self, team_id: str) -> list[Experience]:
        found: list[Experience] = []
        cursor: str | None = None
        while True:
            page = await self._records.page(team_id, ExperienceFilter(), limit=PAGE, cursor=cursor)
            found += page.experiences
            cursor = page.next_cursor
            if cursor is None:
                return found

    async def _lines(self, team_id: str, chosen: Sequence[Experience]) -> list[MemoryLine]:
        ordered = sorted(chosen, key=lambda item: (item.created_at, item.id))
        vectors = await self._records.vectors(team_id, [item.id for item in ordered])
        values = await self._records.values(team_id)
        return [
            MemoryLine(
                experience=item,
                vector=vectors.get(item.id),
                values=tuple(
                    ExportedValue(stage=worth.stage, value=worth.value, visits=worth.visits)
                    for worth in _worth(values, item.id)
                ),
            )
            for item in ordered
        ]


def _worth(values: LearnedValues, experience_id: str) -> tuple[Worth, ...]:
    """What the widest estimates say, of the stages that rewarded it."""
    return tuple(
        Worth(stage=stage, value=values.value(stage, experience_id, "*"), visits=visits)
        for stage in Stage
        if (visits := values.visits(stage, experience_id)) > 0
    )


def _ids(stream: BinaryIO) -> list[str]:
    """Ids that a file mentions, as far as it can be read; what cannot is refused when it is read in earnest."""
    found: list[str] = []
    for _ in range(MAX_LINES):
        raw = stream.readline(MAX_LINE_BYTES)
        if not raw:
            break
        try:
            name = json.loads(raw)["experience"]["id"]
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
        if isinstance(name, str) and name.isprintable():
            found.append(name)
    return found
