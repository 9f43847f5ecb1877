"""The first stage of recall over rows that this process holds: exact search by numpy.

A team's tables hold keys and vectors of its own experiences and of those that other teams share with it. That serves
to some hundred thousand experiences; `storage.memory.pgvector_index` does the same inside the database.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import Connection, Row, bindparam, or_, select, union_all

from services.domain.errors import StorageError
from services.domain.experiences import Experience, ExperienceKind
from services.memory.keys import Keys
from services.memory.ranking import Vectors, nearest
from services.memory.recall import VectorTable
from services.runtime.blas import one_blas_thread
from storage.database import Database
from storage.db.background import Background
from storage.memory.embedding import BATCH, INLINE, Vectoriser
from storage.memory.rows import PROVEN, UNPROVEN
from storage.memory.snapshots import RANGE, PackedRange, keep_range, read_ranges
from storage.memory.vector_index import FirstStage
from storage.tables import embeddings, experiences, memory_shares, teams

log = logging.getLogger(__name__)

ACTIVE = "active"
ANY = "any"
"""Family and backend of knowledge that is good for every problem."""

_VISIBLE = select(teams.c.id, teams.c.memory_seq, teams.c.memory_epoch).where(
    or_(
        teams.c.id == bindparam("team"),
        teams.c.id.in_(select(memory_shares.c.team_id).where(memory_shares.c.reader_team_id == bindparam("team"))),
    )
)
_NEWER = (
    select(
        experiences.c.id,
        experiences.c.kind,
        experiences.c.family,
        experiences.c.backend,
        experiences.c.dtype,
        experiences.c.shape_class,
        experiences.c.bottleneck,
        embeddings.c.vector,
    )
    .outerjoin(
        embeddings, (embeddings.c.experience_id == experiences.c.id) & (embeddings.c.embedder == bindparam("space"))
    )
    .where(
        experiences.c.team_id == bindparam("team"),
        experiences.c.number > bindparam("after"),
        experiences.c.number <= bindparam("upto"),
        experiences.c.state == ACTIVE,
    )
    .order_by(experiences.c.number)
)
_RECALLED = _NEWER.where(PROVEN)
_OWN = select(experiences.c.id).where(experiences.c.team_id == bindparam("team"))
_GONE = union_all(
    _OWN.where(experiences.c.state != ACTIVE),
    _OWN.where(experiences.c.state == ACTIVE, UNPROVEN),
)


@dataclass(frozen=True, kw_only=True)
class MemorySize:
    """How far a team's memory has got."""

    number: int
    """Experiences so far."""
    epoch: int
    """Grows whenever experiences leave recall or come back."""


def read_marks(connection: Connection, team_id: str) -> dict[str, MemorySize]:
    """Marks of the teams whose experiences a team may recall; empty for a team that is not known."""
    rows = connection.execute(_VISIBLE, {"team": team_id})
    return {row.id: MemorySize(number=row.memory_seq, epoch=row.memory_epoch) for row in rows}


@dataclass(frozen=True, kw_only=True)
class MissingRows:
    """What the tables lack."""

    ranges: Sequence[PackedRange]
    rows: Sequence[Row[Any]]
    packed: Mapping[str, int]
    """How many ranges were read of each team that was read for the first time."""


@dataclass(kw_only=True)
class TeamVectors:
    """What one team may recall, in one vector space."""

    space: str
    dimensions: int
    marks: dict[str, MemorySize] = field(default_factory=dict)
    bare: dict[str, int] = field(default_factory=dict)
    """Experiences that have no vector yet, with their rows: similar to nothing until they have one."""

    packed: dict[str, int] = field(default_factory=dict)
    """Packed ranges of each team."""

    def __post_init__(self) -> None:
        self.table = VectorTable(self.dimensions)
        """Everything that is chosen by value."""
        self.sheet_table = VectorTable(self.dimensions)
        """API sheets, which are not."""
        self.variants: dict[tuple[str, str], tuple[Experience, ...]] = {}
        """Fastest traces by family and backend, until something is added."""
        self.rows: dict[str, int] = {}
        """Row of each experience in its table."""

    def still_true(self, marks: Mapping[str, MemorySize]) -> bool:
        """Whether what is held was only added to since: the same teams, and nothing left recall."""
        if not self.marks:
            return True
        return {team: mark.epoch for team, mark in marks.items()} == {
            team: mark.epoch for team, mark in self.marks.items()
        }

    def read(self, connection: Connection, marks: Mapping[str, MemorySize]) -> MissingRows:
        """What is new since the last marks: packed ranges where a team is read for the first time, and rows."""
        ranges: dict[str, list[PackedRange]] = {}
        rows: list[Any] = []
        for team, mark in sorted(marks.items()):
            after = self.marks[team].number if team in self.marks else 0
            if after == 0:
                found = read_ranges(connection, team, self.space, mark.number)
                usable = all(one.vectors.shape[1] == self.dimensions for one in found)
                ranges[team] = _in_use(connection, team, found) if usable else []
                after = RANGE * len(ranges[team])
            if after < mark.number:
                given = {"space": self.space, "team": team, "after": after, "upto": mark.number}
                rows += connection.execute(_RECALLED, given).all()
        packed = {team: len(found) for team, found in ranges.items()}
        return MissingRows(ranges=[one for some in ranges.values() for one in some], rows=rows, packed=packed)

    def add(self, reading: MissingRows, marks: Mapping[str, MemorySize]) -> None:
        """Take in what was read, which belongs to these marks."""
        if reading.ranges:  # much at once; what comes later, some after each step, finds room that doubles
            self.table.reserve(len(self.table.ids) + sum(len(one.ids) for one in reading.ranges) + len(reading.rows))
        for table, sheets in ((self.table, False), (self.sheet_table, True)):
            for one in reading.ranges:
                self._append_range(table, one.part(one.sheet == sheets))
            own = [row for row in reading.rows if (row.kind == ExperienceKind.API_TEMPLATE) is sheets]
            if own:
                self._append(table, own)
        self.packed |= reading.packed
        self.marks = dict(marks)
        self.variants.clear()

    def to_pack(self) -> list[tuple[str, int]]:
        """Ranges that are full and, as far as this process knows, not packed yet: (team, part)."""
        return [
            (team, part)
            for team, mark in self.marks.items()
            for part in range(self.packed.get(team, 0), mark.number // RANGE)
        ]

    def put_vectors(self, vectors: Mapping[str, Vectors]) -> None:
        """Give bare experiences their vectors."""
        for name, vector in vectors.items():
            row = self.bare.pop(name, None)
            if row is not None:
                table = self.table if self._on(self.table, row, name) else self.sheet_table
                table.vectors[row] = vector

    @property
    def teams(self) -> Collection[str]:
        """Whose experiences they are."""
        return self.marks.keys()

    async def pool(self, keys: Keys, vector: Vectors, count: int, at_least: int) -> dict[str, float]:
        """The nearest that fit, exactly."""

        def work() -> dict[str, float]:
            return _near(self.table, vector, self.table.keys.fitting(keys, at_least=at_least), count)

        return await asyncio.to_thread(work) if self.table.ids else {}

    async def sheets(self, backend: str, vector: Vectors, count: int) -> dict[str, float]:
        """The nearest API sheets of a backend."""
        table = self.sheet_table
        return _near(table, vector, table.keys.fitting(Keys(backend=backend)), count) if table.ids else {}

    async def nearest(self, vector: Vectors, count: int) -> dict[str, float]:
        """The nearest of both tables."""

        def work() -> dict[str, float]:
            return _near(self.table, vector, None, count) | _near(self.sheet_table, vector, None, count)

        found = await asyncio.to_thread(work)
        best = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
        return dict(best[:count])

    async def similarities(self, names: Collection[str], vector: Vectors) -> dict[str, float]:
        """Of those in the main table."""
        rows = {name: row for name in names if (row := self.rows.get(name)) is not None}
        return {
            name: round(float(self.table.vectors[row] @ vector), 6)
            for name, row in rows.items()
            if self._on(self.table, row, name)
        }

    def _append(self, table: VectorTable, rows: Sequence[Row[Any]]) -> None:
        first = len(table.ids)
        vectors = np.zeros((len(rows), self.dimensions), dtype=np.float32)
        for offset, row in enumerate(rows):
            self.rows[row.id] = first + offset
            if row.vector is None or len(row.vector) != 4 * self.dimensions:
                self.bare[row.id] = first + offset
            else:
                vectors[offset] = np.frombuffer(row.vector, dtype="<f4")
        table.append([row.id for row in rows], [_keys(row) for row in rows], vectors)

    def _append_range(self, table: VectorTable, packed: PackedRange) -> None:
        if packed.ids:
            first = len(table.ids)
            table.append_columns(packed.ids, packed.keys, packed.known, packed.vectors)
            self.rows.update(zip(packed.ids, range(first, len(table.ids)), strict=True))

    @staticmethod
    def _on(table: VectorTable, row: int, name: str) -> bool:
        return row < len(table.ids) and table.ids[row] == name


def _keys(row: Row[Any]) -> Keys:
    return Keys(
        family=None if row.family == ANY else row.family,
        backend=None if row.backend == ANY else row.backend,
        dtype=row.dtype,
        shape_class=row.shape_class,
        bottleneck=row.bottleneck,
    )


def _in_use(connection: Connection, team: str, ranges: list[PackedRange]) -> list[PackedRange]:
    """Ranges without the experiences that left recall after they were packed, or that an older referee accepted."""
    if not ranges:
        return ranges
    gone = set(connection.execute(_GONE, {"team": team}).scalars())
    if not gone:
        return ranges
    return [one.part(np.array([name not in gone for name in one.ids], dtype=bool)) for one in ranges]


def pack(connection: Connection, team: str, space: str, dimensions: int, part: int) -> bool:
    """Pack a full range of a team's experiences; False while one of them has no vector."""
    given = {"space": space, "team": team, "after": part * RANGE, "upto": (part + 1) * RANGE}
    rows: list[Any] = list(connection.execute(_NEWER, given))
    packed = PackedRange.of(rows, [_keys(row) for row in rows], dimensions)
    if packed is not None:
        keep_range(connection, team, space, part, packed)
    return packed is not None


def _near(table: VectorTable, vector: Vectors, mask: np.ndarray | None, count: int) -> dict[str, float]:
    one_blas_thread()
    rows, similarities = nearest(table.vectors, vector, mask, count)
    return {table.ids[row]: float(at) for row, at in zip(rows, similarities, strict=True)}


class NumpyVectorIndex:
    """Vectors in this process's memory: what is new since the last time is read before each use."""

    def __init__(self, database: Database, vectoriser: Vectoriser) -> None:
        self._database = database
        self._vectoriser = vectoriser
        self._indexes: dict[str, TeamVectors] = {}
        self._working = Background()

    async def open(self, team_id: str, space: str, dimensions: int) -> FirstStage:
        """The team's tables with everything it may recall."""
        marks = await self._database.read(lambda connection: read_marks(connection, team_id))
        index = self._indexes.get(team_id)
        if index is None or index.space != space or not index.still_true(marks):
            index = self._indexes[team_id] = TeamVectors(space=space, dimensions=dimensions)
        if index.marks != marks:
            held = index
            reading = await self._database.read(lambda connection: held.read(connection, marks))
            await asyncio.to_thread(index.add, reading, marks)
            if waiting := index.to_pack():
                self._working.start(f"{team_id} pack", self._pack(index, waiting))
        if index.bare:
            await self._fill(team_id, index)
        return index

    async def settled(self) -> None:
        """Wait for what is being embedded and packed."""
        await self._working.settled()

    async def close(self) -> None:
        """Stop what goes on in the background."""
        await self._working.close()

    async def _fill(self, team_id: str, index: TeamVectors) -> None:
        """Embed what has no vector: now where it is little, else in the background while recall goes on without."""
        if len(index.bare) <= INLINE:
            await self._embed(index, list(index.bare))
        else:
            self._working.start(team_id, self._embed_all(index))

    async def _pack(self, index: TeamVectors, waiting: Sequence[tuple[str, int]]) -> None:
        for team, part in waiting:
            try:
                done = await self._database.write(
                    lambda connection, of=team, at=part: pack(connection, of, index.space, index.dimensions, at)  # type: ignore[misc]
                )
            except (StorageError, RuntimeError) as error:  # a closed database's threads raise RuntimeError
                log.warning("packing experiences stopped, a later recall goes on with it: %s", error)
                return
            if not done:
                return
            index.packed[team] = part + 1

    async def _embed_all(self, index: TeamVectors) -> None:
        log.info("embedding %d experiences as %s", len(index.bare), index.space)
        waiting = list(index.bare)
        try:
            for start in range(0, len(waiting), BATCH):
                if not await self._embed(index, waiting[start : start + BATCH]):
                    return
        except (StorageError, RuntimeError) as error:  # a closed database's threads raise RuntimeError
            log.warning("embedding stopped, the next recall goes on with it: %s", error)

    async def _embed(self, index: TeamVectors, names: Sequence[str]) -> bool:
        vectors = await self._vectoriser.embed_experiences(index.space, index.dimensions, names)
        if vectors is not None:
            index.put_vectors(vectors)
        return vectors is not None
