"""The `Memory` port over the database: two-stage recall of a team's experiences, with values from the value log.

Vectors, keys and the fold of the value log are held in this process and brought up to date before each recall, so what
other processes remember and learn is seen at the next one.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import Connection, Select, select

from services.domain.errors import NotFoundError
from services.domain.experiences import (
    Experience,
    ExperienceKind,
    RecalledExperience,
    RecallQuery,
    StartValues,
    experience_id,
)
from services.domain.jobs import Stage
from services.memory.context import Part, Sheet, complementary, compose, distinct, select_sheets
from services.memory.keys import Keys
from services.memory.learner import Learner
from services.memory.log import LogEntry
from services.memory.ranking import Vectors
from services.memory.recall import Recall, Recalled
from services.memory.selection import PoolSchedule
from services.memory.snapshot import SnapshotError, dump, fingerprint, load
from services.ports.models import Embedder
from storage.database import Database
from storage.memory.embedding import Vectoriser
from storage.memory.numpy_index import ACTIVE, NumpyVectorIndex, read_marks
from storage.memory.pgvector_index import PgVectorIndex, has_pgvector
from storage.memory.rows import experiences_from_rows, insert_experiences
from storage.memory.snapshots import keep_learner, read_learner
from storage.memory.value_log import read_log
from storage.memory.vector_index import FirstStage, VectorIndex
from storage.tables import experiences

log = logging.getLogger(__name__)

KEPT = 4096
"""Experiences of a team kept in memory with their texts."""
KEEP_EVERY = 500
"""Log entries after which the fold is kept again, so that a starting process reads no more than these."""
ANY = "any"
"""Family or backend of what holds for all."""
SPARE = 3
"""Experiences chosen beyond those asked for: the start point and near-duplicates may be among them."""
VARIANTS = 20
"""Fast variants that complementary ones are picked from."""


@dataclass(frozen=True, kw_only=True)
class RecallRules:
    """How a context is put together."""

    schedule: PoolSchedule = field(default_factory=PoolSchedule)
    filtered: bool = True
    """Whether structured keys filter before vectors rank; without, only the backend does."""
    sheets: int = 1
    """Places for API sheets."""
    children: int = 1
    """Places for what was derived from the start point before, when refining."""
    variants: int = 1
    """Places for fast variants made by other moves, when refining."""
    fewest: int = 4
    """Contexts smaller than this hold value-selected experiences only."""


@dataclass(frozen=True, kw_only=True)
class _Choice:
    """What the two stages gave for a query."""

    chosen: tuple[Recalled, ...]
    children: tuple[str, ...]
    sheets: Mapping[str, float]
    """API sheets with their similarities, the nearest first."""
    start_trace: str | None


class SqlMemory:
    """Experiences in the database; one fold of the value log and one set of shelves a team in this process."""

    def __init__(
        self,
        database: Database,
        embedder: Embedder,
        *,
        rules: RecallRules | None = None,
        learner: Callable[[], Learner] = Learner,
        shelving: Callable[[Database, Vectoriser], VectorIndex] | None = None,
        seeds: Callable[[str], Sequence[Experience]] | None = None,
    ) -> None:
        """`learner` makes an empty fold, with the selection rule in it. `seeds` gives what every team
        has from its first recall on. `shelving` does the first stage; by default pgvector does where the database has
        it, else this process."""
        self._database = database
        self._vectors = Vectoriser(database, embedder)
        self._rules = rules or RecallRules()
        self._new_learner = learner
        self._shelving = shelving(database, self._vectors) if shelving is not None else None
        self._seeds = seeds
        self._seeded: set[str] = set()
        self._learners: dict[str, Learner] = {}
        self._kept_at: dict[str, int] = {}
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._kept: dict[str, dict[str, Experience]] = defaultdict(dict)

    async def recall(self, query: RecallQuery) -> tuple[RecalledExperience, ...]:
        """At most `query.limit` experiences, best first: chosen by value, then what has places of its own."""
        await self._seed(query.team_id)
        embedded = await self._vectors.embed([query.text])
        vector = np.asarray(embedded.vectors[0], dtype=np.float32)
        async with self._locks[query.team_id]:
            shelves = await self._shelves()
            near, learner = await asyncio.gather(
                shelves.open(query.team_id, embedded.space, len(vector)), self._current_learner(query.team_id)
            )
            practices = await self._practices(query, near)
            choice = await self._choose(query, vector, near, learner, practices)
            variants = () if query.experts_only else await self._variants(query, choice, near)
            beside = [*choice.children, *(variant.id for variant in variants)]
            similarity = await near.similarities(beside, vector) if beside else {}
            similarity |= {item.experience_id: item.similarity for item in choice.chosen} | dict(choice.sheets)
            known = await self._held(query.team_id, list(similarity), near.teams)
            context = self._compose(query, choice, known, variants)
            values = {name: _value(learner, query, name) for name in context}
        return tuple(
            RecalledExperience(experience=known[name], similarity=similarity[name], value=values[name])
            for name in context
        )

    async def remember(self, new: Sequence[Experience]) -> int:
        """Store what is not known yet, by id and by content; how many were new."""
        if not new:
            return 0
        return len(await self._database.write(lambda connection: insert_experiences(connection, new)))

    async def _seed(self, team_id: str) -> None:
        """Give a team what every team starts with, once in this process; what it has had stays as it is."""
        if self._seeds is None or team_id in self._seeded:
            return
        await self.remember(self._seeds(team_id))
        self._seeded.add(team_id)

    async def get(self, team_id: str, experience_id: str) -> Experience:
        """One experience of the team or of one that shares with it. Raises `NotFoundError`."""
        found = await self._read(team_id, [experience_id], every_state=True)
        if experience_id not in found:
            raise NotFoundError(f"no experience {experience_id}")
        return found[experience_id]

    async def search(self, team_id: str, text: str, limit: int = 20) -> tuple[RecalledExperience, ...]:
        """The nearest experiences to a text, of every kind, family and backend."""
        embedded = await self._vectors.embed([text])
        vector = np.asarray(embedded.vectors[0], dtype=np.float32)
        async with self._locks[team_id]:
            near = await (await self._shelves()).open(team_id, embedded.space, len(vector))
            best = await near.nearest(vector, limit)
        known = await self._read(team_id, list(best))
        return tuple(
            RecalledExperience(experience=known[name], similarity=similarity)
            for name, similarity in best.items()
            if name in known
        )

    def notice(self) -> str | None:
        """Which embedder is in use instead of the configured one, and why."""
        return self._vectors.note

    async def start_values(self, team_id: str, family: str, site: str, candidates: Sequence[str]) -> StartValues:
        """Q₂ of candidates as start points; one without visits is worth the running mean."""
        async with self._locks[team_id]:
            learner = await self._current_learner(team_id)
            values = {
                name: learner.values.value(Stage.REFINE, experience_id(name, ExperienceKind.TRACE), family, site)
                for name in candidates
            }
            return StartValues(values=values, outcomes=learner.outcomes)

    async def settled(self) -> None:
        """Wait until everything that goes on in the background is done."""
        await (await self._shelves()).settled()

    async def close(self) -> None:
        """Stop what goes on in the background; the next process goes on with it."""
        if self._shelving is not None:
            await self._shelving.close()

    async def learner(self, team_id: str) -> Learner:
        """The fold of a team's log as it is now; it goes on being extended, so read it without awaiting."""
        async with self._locks[team_id]:
            return await self._current_learner(team_id)

    async def _choose(
        self,
        query: RecallQuery,
        vector: Vectors,
        near: FirstStage,
        learner: Learner,
        practices: Sequence[Experience],
    ) -> _Choice:
        wanted = self._wanted(query)
        trace = experience_id(query.start_point, ExperienceKind.TRACE) if query.start_point else None
        size = wanted.pool_size(learner) + len(query.left_out)
        found, sheets, experts = await asyncio.gather(
            near.pool(wanted.fitting, vector, size, query.limit + 1 + len(query.left_out)),
            near.sheets(query.backend, vector, VARIANTS),
            near.similarities([item.id for item in practices], vector),
        )
        pool = _candidates({} if query.experts_only else found, experts, query.left_out)
        chosen = await asyncio.to_thread(wanted.pick, pool, learner)
        observable = query.stage is Stage.REFINE and not query.experts_only
        children = learner.children(trace) if observable and trace else ()
        return _Choice(
            chosen=tuple(item for item in chosen if item.experience_id != trace),
            children=tuple(reversed(children))[:VARIANTS],
            sheets=sheets,
            start_trace=trace,
        )

    def _wanted(self, query: RecallQuery) -> Recall:
        keys = Keys(
            family=query.family,
            backend=query.backend,
            dtype=query.dtype,
            shape_class=query.shape_class,
            bottleneck=query.bottleneck if query.stage is Stage.REFINE else None,
        )
        return Recall(
            stage=query.stage,
            keys=keys,
            site=query.site or query.device,
            count=query.limit + SPARE,
            seed=query.seed,
            schedule=self._rules.schedule,
            filtered=self._rules.filtered,
        )

    def _compose(
        self, query: RecallQuery, choice: _Choice, known: Mapping[str, Experience], variants: Sequence[Experience]
    ) -> tuple[str, ...]:
        """The context: the value-selected first, then sheets, children and variants in places of their own."""
        rules = self._rules
        names = [item.experience_id for item in choice.chosen]
        names += [*choice.children, *(variant.id for variant in variants)]
        wanted = [known[name] for name in dict.fromkeys(names) if name in known and name not in query.left_out]
        shown = set(distinct(wanted))
        chosen = [item.experience_id for item in choice.chosen if item.experience_id in shown]
        if query.limit < rules.fewest:
            return tuple(chosen[: query.limit])
        code = [known[name].code or "" for name in chosen]
        sheets = [Sheet(experience=known[name], similarity=at) for name, at in choice.sheets.items() if name in known]
        extra = [
            Part(ids=select_sheets(sheets, query.backend, code, limit=rules.sheets), places=rules.sheets),
            Part(ids=[name for name in choice.children if name in shown], places=rules.children),
            Part(ids=[variant.id for variant in variants if variant.id in shown], places=rules.variants),
        ]
        taken = sum(min(part.places, len(part.ids)) for part in extra)
        return compose([Part(ids=chosen, places=max(1, query.limit - taken)), *extra], query.limit)

    async def _practices(self, query: RecallQuery, near: FirstStage) -> tuple[Experience, ...]:
        """What experts wrote about the family or about all: always among the candidates, however many logs of jobs are
        nearer."""
        key = (f"practices/{query.family}", query.backend)  # no family is called so
        if key not in near.variants:
            wanted = _practices_of(near, query.family, query.backend)
            near.variants[key] = await self._database.read(
                lambda connection: experiences_from_rows(connection, connection.execute(wanted).all())
            )
        return near.variants[key]

    async def _variants(self, query: RecallQuery, choice: _Choice, near: FirstStage) -> tuple[Experience, ...]:
        """Fast variants that used a move which the start point does not have; with its bottleneck where there are."""
        if query.stage is not Stage.REFINE or not self._rules.variants:
            return ()
        key = (query.family, query.backend)
        if key not in near.variants:
            fastest = _fastest(near, *key)
            near.variants[key] = await self._database.read(
                lambda connection: experiences_from_rows(connection, connection.execute(fastest).all())
            )
        found = near.variants[key]
        start = None
        if choice.start_trace is not None:
            start = (await self._held(query.team_id, [choice.start_trace], near.teams)).get(choice.start_trace)
        matching = [item for item in found if query.bottleneck in (None, item.bottleneck)]
        names = complementary(matching or found, start, VARIANTS)
        return tuple(item for name in names for item in found if item.id == name)

    async def _held(self, team_id: str, names: Sequence[str], teams: Collection[str]) -> dict[str, Experience]:
        """Experiences that are on the team's shelves, hence of these `teams`; they never change, so the latest read
        ones are kept."""
        kept = self._kept[team_id]
        if len(kept) > KEPT:
            kept.clear()
        missing = [name for name in names if name not in kept]
        kept |= await self._read(team_id, missing, teams=teams)
        return {name: kept[name] for name in names if name in kept}

    async def _read(
        self, team_id: str, names: Sequence[str], *, teams: Collection[str] | None = None, every_state: bool = False
    ) -> dict[str, Experience]:
        """Experiences that the team may see, by id; `teams` are those whose experiences it may, where that is known."""
        if not names:
            return {}

        def work(connection: Connection) -> dict[str, Experience]:
            owners = {team_id, *(read_marks(connection, team_id) if teams is None else teams)}
            rows = connection.execute(select(experiences).where(experiences.c.id.in_(names))).all()
            # Sorted out here: asked for the teams too, SQLite walks through all that a team has.
            own = [row for row in rows if row.team_id in owners and (every_state or row.state == ACTIVE)]
            found = experiences_from_rows(connection, own)
            return {item.id: item for item in found}

        return await self._database.read(work)

    async def _current_learner(self, team_id: str) -> Learner:
        """The team's fold with everything in its log. To be called under the team's lock."""
        learner = self._learners.get(team_id)
        if learner is None:
            learner = self._learners[team_id] = await self._kept_learner(team_id)
        after = learner.last_seq
        entries = await self._database.read(lambda connection: read_log(connection, team_id, after))
        if entries and not await asyncio.to_thread(learner.extend, entries):
            whole = await self._database.read(lambda connection: read_log(connection, team_id))
            await asyncio.to_thread(_rebuild, learner, whole)
            self._kept_at[team_id] = 0
        if learner.last_seq - self._kept_at.get(team_id, 0) >= KEEP_EVERY:
            await self._keep_learner(team_id, learner)
        return learner

    async def _kept_learner(self, team_id: str) -> Learner:
        """The fold that some process kept; an empty one where there is none that can be used."""
        learner = self._new_learner()
        rules = fingerprint(learner)
        content = await self._database.read(lambda connection: read_learner(connection, team_id, rules))
        if content is not None:
            try:
                await asyncio.to_thread(load, learner, content)
            except SnapshotError as error:
                log.warning("the kept values of team %s %s: reading the whole log", team_id, error)
        self._kept_at[team_id] = learner.last_seq
        return learner

    async def _keep_learner(self, team_id: str, learner: Learner) -> None:
        """Keep the fold for processes that start later."""
        content = await asyncio.to_thread(dump, learner)
        rules, upto = fingerprint(learner), learner.last_seq
        await self._database.write(lambda connection: keep_learner(connection, team_id, rules, upto, content))
        self._kept_at[team_id] = upto

    async def _shelves(self) -> VectorIndex:
        """What does the first stage: found out once, at the first use."""
        if self._shelving is None:
            inside = await has_pgvector(self._database)
            self._shelving = (PgVectorIndex if inside else NumpyVectorIndex)(self._database, self._vectors)
        return self._shelving


def _rebuild(learner: Learner, entries: Sequence[LogEntry]) -> None:
    learner.rebuild(entries)


def _value(learner: Learner, query: RecallQuery, name: str) -> float | None:
    if learner.values.visits(query.stage, name) == 0:
        return None
    return learner.values.value(query.stage, name, query.family, query.site or query.device)


def _candidates(
    found: Mapping[str, float], experts: Mapping[str, float], left_out: Collection[str]
) -> dict[str, float]:
    """The pool of the second stage, most similar first."""
    both = {name: at for name, at in {**found, **experts}.items() if name not in left_out}
    return dict(sorted(both.items(), key=lambda item: -item[1]))


def _practices_of(near: FirstStage, family: str, backend: str) -> Select[Any]:
    wanted = (
        experiences.c.team_id.in_(near.teams),
        experiences.c.backend.in_((backend, ANY)),
        experiences.c.family.in_((family, ANY)),
        experiences.c.kind == str(ExperienceKind.BEST_PRACTICE),
        experiences.c.state == ACTIVE,
    )
    return select(experiences).where(*wanted).order_by(experiences.c.family == ANY, experiences.c.id).limit(VARIANTS)


def _fastest(near: FirstStage, family: str, backend: str) -> Select[Any]:
    """The fastest traces of a family and backend that the team may recall."""
    wanted = (
        experiences.c.team_id.in_(near.teams),
        experiences.c.backend == backend,
        experiences.c.family == family,
        experiences.c.speedup.is_not(None),
        experiences.c.kind == str(ExperienceKind.TRACE),
        experiences.c.state == ACTIVE,
    )
    return select(experiences).where(*wanted).order_by(experiences.c.speedup.desc(), experiences.c.id).limit(VARIANTS)
