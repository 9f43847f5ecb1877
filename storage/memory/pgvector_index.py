"""The first stage of recall inside PostgreSQL, by pgvector: for memories too large for one process.

`vector_index` is derived from `experiences` and `embeddings`: it holds the vectors again, beside the keys that filter,
so that one statement filters and ranks. Rows belong to a group (team, space, sheets or not, backend, family), because a
recall nearly always asks for one of these; a group above some size gets an HNSW index of its own, built in the
background, and is searched exactly until then. Filters that leave little are searched exactly too: an HNSW scan drops
what does not fit only after it looked (pgvector before 0.8 has no iterative scan).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection, exists, select, text

from services.domain.errors import StorageError
from services.domain.evaluations import Verdict
from services.domain.experiences import Experience
from services.domain.referees import CURRENT
from services.memory.keys import RELAXING, Keys
from services.memory.ranking import Vectors
from storage.database import Database
from storage.db.background import Background
from storage.db.pgvector_schema import build_index, index_vectors, installed, literal
from storage.memory.embedding import BATCH, INLINE, Vectoriser
from storage.memory.numpy_index import ACTIVE, ANY, MemorySize, read_marks
from storage.memory.rows import UNPROVEN
from storage.memory.vector_index import FirstStage
from storage.tables import experiences

log = logging.getLogger(__name__)

COLUMNS = ("dtype", "shape_class", "bottleneck")
"""Keys that are columns; family and backend are the group's."""
MOST_DIMENSIONS = 2000
"""What an HNSW index takes; longer vectors are searched exactly."""
LARGEST_EF = 1000
"""pgvector's limit of `hnsw.ef_search`."""

_MISSING = text(
    """SELECT e.id FROM experiences e
    WHERE e.team_id = :team AND e.number > :after AND e.number <= :upto AND e.state = 'active'
    AND NOT EXISTS (SELECT 1 FROM vector_index i WHERE i.experience_id = e.id AND i.space = :space)
    ORDER BY e.number"""
)
_GROUPS = text(
    """SELECT id, sheet, backend, family, size, indexed FROM vector_groups
    WHERE team_id = ANY(:teams) AND space = :space AND size > 0 ORDER BY id"""
)
_WAITING = """SELECT e.id FROM experiences e
    WHERE e.team_id = ANY(:teams) AND e.state = 'active'{where}
    AND NOT EXISTS (SELECT 1 FROM vector_index i WHERE i.experience_id = e.id AND i.space = :space)
    ORDER BY e.number DESC LIMIT :count"""
_SIMILARITIES = """SELECT experience_id, v <#> CAST(:query AS vector) AS distance
    FROM vector_index JOIN vector_groups g ON g.id = group_id
    WHERE experience_id = ANY(:names) AND vector_index.space = :space AND vector_index.team_id = ANY(:teams)
    AND NOT g.sheet"""
_PROVEN = f""" AND NOT EXISTS (SELECT 1 FROM experiences p WHERE p.id = {{name}} AND p.verdict = '{Verdict.ACCEPTED}'
    AND (p.referee IS NULL OR p.referee < {CURRENT}))"""  # noqa: S608
"""`storage.memory.rows.PROVEN`, where something is unproven."""


async def has_pgvector(database: Database) -> bool:
    """Whether the first stage can run inside this database."""
    return await database.read(installed) is not None


@dataclass(frozen=True, kw_only=True)
class SearchRules:
    """When an HNSW index is built and used."""

    index_from: int = 10_000
    """Rows of a group from which on it gets an index."""
    exact_upto: int = 4_000
    """Fitting rows that are compared one by one."""
    counted: int = 20_000
    """Fitting rows from which on their number is kept: how far an HNSW scan looks depends on their share, not on the
    last row."""
    stale: float = 0.1
    """Change of the groups' size, relative, after which a kept number is counted again."""
    breadth: float = 1.6
    """How many times the wanted number an HNSW scan looks at, before filters."""
    least_ef: int = 100
    compared: float = 14.0
    """Rows that comparing one by one takes as long as an HNSW scan takes for each one that it looks at (5,208 of 62,500
    fitting: 154 ms against 427 ms for 1,000 looked at)."""


@dataclass(frozen=True, kw_only=True)
class _Group:
    """Rows that are searched together."""

    id: int
    sheet: bool
    backend: str
    family: str
    size: int
    indexed: bool


@dataclass(kw_only=True)
class PgStage:
    """What one team may recall, in one vector space."""

    database: Database
    space: str
    dimensions: int
    rules: SearchRules
    iterative: bool
    """Whether an HNSW scan goes on until enough rows fit (pgvector 0.8)."""
    marks: dict[str, MemorySize] = field(default_factory=dict)
    bare: set[str] = field(default_factory=set)
    """Experiences that are not in the index yet: similar to nothing until they are."""
    variants: dict[tuple[str, str], tuple[Experience, ...]] = field(default_factory=dict)
    unproven: bool = False
    """Whether an older referee accepted something that the team would recall: only then it is filtered out."""
    kept: dict[tuple[object, ...], tuple[int, int]] = field(default_factory=dict)
    """Large numbers of fitting rows, by groups and filters, each with the groups' size when it was counted."""

    @property
    def teams(self) -> Collection[str]:
        """Whose experiences they are."""
        return self.marks.keys()

    async def pool(self, keys: Keys, vector: Vectors, count: int, at_least: int) -> dict[str, float]:
        """The nearest that fit: exactly where few do, else by HNSW."""

        def work(connection: Connection) -> dict[str, float]:
            groups = [one for one in self._groups(connection) if not one.sheet and _fits(one.backend, keys.backend)]
            for given_up in range(len(RELAXING) + 1):
                left = RELAXING[given_up:]
                some = [one for one in groups if "family" not in left or _fits(one.family, keys.family)]
                wanted = {name: str(value) for name in COLUMNS if name in left and (value := getattr(keys, name))}
                fitting = self._count(connection, some, wanted)
                if fitting >= at_least:
                    break
            found = self._nearest(connection, some, wanted, fitting, vector, count)
            return found | self._waiting(connection, keys.backend, keys.family, count - len(found))

        return await self.database.read_in_transaction(work)

    async def sheets(self, backend: str, vector: Vectors, count: int) -> dict[str, float]:
        """The nearest API sheets of a backend."""

        def work(connection: Connection) -> dict[str, float]:
            own = [one for one in self._groups(connection) if one.sheet and one.backend in (backend, ANY)]
            found = self._nearest(connection, own, {}, 0, vector, count)
            return found | self._waiting(connection, backend, None, count - len(found), sheets=True)

        return await self.database.read_in_transaction(work)

    async def nearest(self, vector: Vectors, count: int) -> dict[str, float]:
        """The nearest of everything."""

        def work(connection: Connection) -> dict[str, float]:
            groups = self._groups(connection)
            return self._nearest(connection, groups, {}, sum(one.size for one in groups), vector, count)

        return await self.database.read_in_transaction(work)

    async def similarities(self, names: Collection[str], vector: Vectors) -> dict[str, float]:
        """Of those that are no API sheets."""
        given = {"names": list(names), "space": self.space, "teams": list(self.teams), "query": literal(vector)}
        statement = text(_SIMILARITIES + self._proven("vector_index.experience_id"))
        rows = await self.database.read(lambda connection: connection.execute(statement, given).all())
        return {row.experience_id: round(-row.distance, 6) for row in rows}

    def _note_unproven(self, connection: Connection, marks: Mapping[str, MemorySize]) -> None:
        """Find out whether there is something to leave out."""
        old = select(experiences.c.id).where(experiences.c.team_id.in_(marks), experiences.c.state == ACTIVE, UNPROVEN)
        unproven = bool(connection.execute(select(exists(old))).scalar_one())
        epochs = {team: mark.epoch for team, mark in marks.items()}
        if unproven != self.unproven or epochs != {team: mark.epoch for team, mark in self.marks.items()}:
            self.kept.clear()
        self.unproven = unproven

    def missing(self, connection: Connection, marks: Mapping[str, MemorySize]) -> set[str]:
        """What came since the last marks and is not in the index; finds out too whether something is unproven."""
        self._note_unproven(connection, marks)
        found: set[str] = set()
        for team, mark in marks.items():
            after = self.marks[team].number if team in self.marks else 0
            if after < mark.number:
                given = {"team": team, "after": after, "upto": mark.number, "space": self.space}
                found.update(connection.execute(_MISSING, given).scalars())
        return found

    def to_index(self, connection: Connection) -> list[int]:
        """Groups that are large enough for an index and have none."""
        if self.dimensions > MOST_DIMENSIONS:
            return []
        return [one.id for one in self._groups(connection) if not one.indexed and one.size >= self.rules.index_from]

    def _waiting(
        self, connection: Connection, backend: str | None, family: str | None, count: int, *, sheets: bool = False
    ) -> dict[str, float]:
        """The newest of those that wait for their vectors, similar to nothing: recall goes on while they do."""
        if not self.bare or count <= 0:
            return {}
        given = {"teams": list(self.teams), "space": self.space, "count": count}
        where = "" if backend is None else " AND e.backend IN (:backend, :any)"
        where += "" if family is None else " AND e.family IN (:family, :any)"
        where += f" AND e.kind {'=' if sheets else '<>'} 'api_template'" + self._proven("e.id")
        keys = {"backend": backend, "family": family, "any": ANY}
        given |= {name: value for name, value in keys.items() if f":{name}" in where}
        rows = connection.execute(text(_WAITING.format(where=where)), given)
        return {row.id: 0.0 for row in rows}

    def _groups(self, connection: Connection) -> list[_Group]:
        rows = connection.execute(_GROUPS, {"teams": list(self.teams), "space": self.space})
        return [_Group(**row._mapping) for row in rows]

    def _count(self, connection: Connection, groups: Sequence[_Group], wanted: Mapping[str, str]) -> int:
        """How many rows fit; exact where they are few, else as last counted."""
        size = sum(group.size for group in groups)
        if not groups or not (wanted or self.unproven):
            return size
        key = (*(group.id for group in groups), *sorted(wanted.items()))
        fitting, then = self.kept.get(key, (0, 0))
        if fitting and abs(size - then) <= self.rules.stale * then:
            return fitting
        statement = f"SELECT count(*) FROM vector_index WHERE group_id = ANY(:groups){self._where(wanted)}"  # noqa: S608
        given = {"groups": [group.id for group in groups], **wanted}
        fitting = int(connection.execute(text(statement), given).scalar_one())
        if fitting >= self.rules.counted:
            self.kept[key] = (fitting, size)
        return fitting

    def _nearest(
        self,
        connection: Connection,
        groups: Sequence[_Group],
        wanted: Mapping[str, str],
        fitting: int,
        vector: Vectors,
        count: int,
    ) -> dict[str, float]:
        if not groups or count <= 0:
            return {}
        share = min(1.0, fitting / max(1, sum(group.size for group in groups)))
        ef = math.ceil(self.rules.breadth * count / max(share, 1e-9))
        few = max(self.rules.exact_upto, self.rules.compared * ef)
        by_index = [group for group in groups if group.indexed and fitting > few]
        found = self._search(connection, groups, by_index, wanted, ef, vector, count)
        if by_index and len(found) < min(count, fitting):  # the filters left less than the scan looked at
            found = self._search(connection, groups, [], wanted, ef, vector, count)
        return found

    def _search(
        self,
        connection: Connection,
        groups: Sequence[_Group],
        by_index: Sequence[_Group],
        wanted: Mapping[str, str],
        ef: int,
        vector: Vectors,
        count: int,
    ) -> dict[str, float]:
        """One statement over all groups; those of `by_index` approximately."""
        one_by_one = [group.id for group in groups if group not in by_index]
        parts = [self._indexed(group, wanted, count) for group in by_index]
        if one_by_one:
            parts.append(self._exact(wanted, count))
        self._prepare(connection, min(LARGEST_EF, max(self.rules.least_ef, ef)))
        given = {"query": literal(vector), "groups": one_by_one, **wanted}
        rows = connection.execute(text(" UNION ALL ".join(f"({part})" for part in parts)), given).all()
        best = sorted((round(row.distance, 6), row.team_id, row.number, row.experience_id) for row in rows)[:count]
        return {name: -distance for distance, _, _, name in best}

    def _indexed(self, group: _Group, wanted: Mapping[str, str], count: int) -> str:
        """The group's number is written out: the planner must see that the index's condition holds."""
        distance = f"CAST(v AS vector({self.dimensions})) <#> CAST(:query AS vector({self.dimensions}))"
        return (
            f"SELECT experience_id, team_id, number, {distance} AS distance FROM vector_index "  # noqa: S608
            f"WHERE group_id = {group.id}{self._where(wanted)} ORDER BY {distance} LIMIT {count}"
        )

    def _exact(self, wanted: Mapping[str, str], count: int) -> str:
        return (
            "SELECT experience_id, team_id, number, v <#> CAST(:query AS vector) AS distance FROM vector_index "  # noqa: S608
            f"WHERE group_id = ANY(:groups){self._where(wanted)} ORDER BY distance, team_id, number LIMIT {count}"
        )

    def _where(self, wanted: Mapping[str, str]) -> str:
        """An empty key fits every query."""
        fitting = "".join(f" AND {name} IN ('', :{name})" for name in wanted)
        return fitting + self._proven("vector_index.experience_id")

    def _proven(self, name: str) -> str:
        return _PROVEN.format(name=name) if self.unproven else ""

    def _prepare(self, connection: Connection, ef: int) -> None:
        """Settings of this transaction: how far an HNSW scan looks, and plans made for these very values."""
        settings: dict[str, str] = {
            "hnsw.ef_search": str(ef),
            "plan_cache_mode": "force_custom_plan",
            "enable_seqscan": "off",
        }
        if self.iterative:
            settings["hnsw.iterative_scan"] = "strict_order"
        calls = ", ".join(f"set_config('{name}', '{value}', true)" for name, value in settings.items())
        connection.execute(text(f"SELECT {calls}"))


def _fits(key: str, wanted: str | None) -> bool:
    return wanted is None or key in (wanted, ANY)


class PgVectorIndex:
    """First stages inside the database; what they lack is embedded, entered and indexed by whoever opens them."""

    def __init__(self, database: Database, vectoriser: Vectoriser, rules: SearchRules | None = None) -> None:
        self._database = database
        self._vectoriser = vectoriser
        self._rules = rules or SearchRules()
        self._iterative: bool | None = None
        self._stages: dict[tuple[str, str], PgStage] = {}
        self._working = Background()

    async def open(self, team_id: str, space: str, dimensions: int) -> FirstStage:
        """Everything the team may recall."""
        marks = await self._database.read(lambda connection: read_marks(connection, team_id))
        stage = self._stages.get((team_id, space))
        if stage is None:
            stage = self._stages[team_id, space] = await self._new(space, dimensions)
        if stage.marks != marks:
            held = stage
            missing = await self._database.read(lambda connection: held.missing(connection, marks))
            stage.bare |= missing
            stage.marks = marks
            stage.variants.clear()
            await self._fill(team_id, stage)
        elif stage.bare:
            await self._fill(team_id, stage)
        return stage

    async def settled(self) -> None:
        """Wait until everything is embedded and indexed."""
        await self._working.settled()

    async def close(self) -> None:
        """Stop what goes on in the background."""
        await self._working.close()

    async def _new(self, space: str, dimensions: int) -> PgStage:
        if self._iterative is None:
            version = await self._database.read(installed) or "0"
            self._iterative = tuple(int(part) for part in version.split(".")[:2]) >= (0, 8)
        return PgStage(
            database=self._database, space=space, dimensions=dimensions, rules=self._rules, iterative=self._iterative
        )

    async def _fill(self, team_id: str, stage: PgStage) -> None:
        """Enter what is missing: now where it is little, else in the background while recall goes on without."""
        if stage.bare and len(stage.bare) <= INLINE:
            await self._enter(stage, sorted(stage.bare))
        if self._working.is_at(team_id):
            return
        large = await self._database.read(stage.to_index)
        if stage.bare or large:
            self._working.start(team_id, self._catch_up(stage))

    async def _catch_up(self, stage: PgStage) -> None:
        waiting = sorted(stage.bare)
        try:
            for start in range(0, len(waiting), BATCH):
                if not await self._enter(stage, waiting[start : start + BATCH]):
                    return
            large = await self._database.read(stage.to_index)
            for group in large:
                await self._index(group, stage.dimensions)
        except (StorageError, RuntimeError) as error:  # a closed database
            log.warning("indexing vectors stopped, a later recall goes on with it: %s", error)

    async def _index(self, group: int, dimensions: int) -> None:
        log.info("building the HNSW index of group %d", group)
        await self._database.outside(lambda connection: build_index(connection, group, dimensions))

    async def _enter(self, stage: PgStage, names: Sequence[str]) -> bool:
        vectors = await self._vectoriser.embed_experiences(stage.space, stage.dimensions, names, index_vectors)
        if vectors is None:
            return False
        stage.bare -= set(names)
        return True
