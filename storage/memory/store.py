"""The `Memory` port over the database: two-stage recall of a team's experiences, with values from the value log.

Vectors, keys and the fold of the value log are held in this process and brought up to date before each recall, so what
other processes remember and learn is seen at the next one.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
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
from services.memory.learner import Learner
from services.memory.recall import ContextRecall
from services.memory.snapshot import SnapshotError, dump, fingerprint, load
from services.ports.models import Embedder
from storage.database import Database
from storage.memory.embedding import Vectoriser
from storage.memory.numpy_index import ACTIVE, NumpyVectorIndex, read_marks
from storage.memory.pgvector_index import PgVectorIndex, has_pgvector
from storage.memory.rows import PROVEN, experiences_from_rows, insert_experiences
from storage.memory.snapshots import keep_learner, read_learner
from storage.memory.value_log import read_log
from storage.memory.vector_index import FirstStage, VectorIndex
from storage.tables import experiences

log = logging.getLogger(__name__)

KEPT = 4096
"""Experiences of a team kept in memory with their texts."""
ANY = "any"
"""Family or backend of what holds for all."""
KEEP_EVERY = 500
"""Log entries after which the fold is kept again, so that a starting process reads no more than these."""


class SqlMemory:
    """Experiences in the database; one fold of the value log and one vector index a team in this process."""

    def __init__(
        self,
        database: Database,
        embedder: Embedder,
        *,
        learner: Callable[[], Learner] = Learner,
        index: Callable[[Database, Vectoriser], VectorIndex] | None = None,
        seeds: Callable[[str], Sequence[Experience]] | None = None,
    ) -> None:
        """`learner` makes an empty fold, with the selection rule in it. `seeds` gives what every team
        has from its first recall on. `index` does the first stage; by default pgvector does where the database has
        it, else this process."""
        self._database = database
        self._embedder = embedder
        self._vectors = Vectoriser(database, embedder)
        self._recalls = ContextRecall()
        self._new_learner = learner
        self._index = index(database, self._vectors) if index is not None else None
        self._seeds = seeds
        self._seeded: set[str] = set()
        self._learners: dict[str, Learner] = {}
        self._kept_at: dict[str, int] = {}
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._kept: dict[str, dict[str, Experience]] = defaultdict(dict)

    async def recall(self, query: RecallQuery) -> tuple[RecalledExperience, ...]:
        """At most `query.limit` experiences, best first: chosen by value, then what has places of its own."""
        await self._seed(query.team_id)
        embedded = await self._embedder.embed([query.text])
        vector = np.asarray(embedded.vectors[0], dtype=np.float32)
        async with self._locks[query.team_id]:
            index = await self._vector_index()
            near, learner = await asyncio.gather(
                index.open(query.team_id, embedded.space, len(vector)), self._current_learner(query.team_id)
            )
            return await self._recalls.recall(query, vector, near, _TeamExperiences(self, query.team_id, near), learner)

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
        embedded = await self._embedder.embed([text])
        vector = np.asarray(embedded.vectors[0], dtype=np.float32)
        async with self._locks[team_id]:
            near = await (await self._vector_index()).open(team_id, embedded.space, len(vector))
            best = await near.nearest(vector, limit)
        known = await self._read(team_id, list(best))
        return tuple(
            RecalledExperience(experience=known[name], similarity=similarity)
            for name, similarity in best.items()
            if name in known
        )

    def notice(self) -> str | None:
        """Which embedder is in use instead of the configured one, and why."""
        return self._embedder.note

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
        await (await self._vector_index()).settled()

    async def close(self) -> None:
        """Stop what goes on in the background; the next process goes on with it."""
        if self._index is not None:
            await self._index.close()

    async def learner(self, team_id: str) -> Learner:
        """The fold of a team's log as it is now; it goes on being extended, so read it without awaiting."""
        async with self._locks[team_id]:
            return await self._current_learner(team_id)

    async def fastest(self, near: FirstStage, family: str, backend: str, count: int) -> tuple[Experience, ...]:
        """The fastest traces, as they were read since the team's experiences changed last."""
        return await self._read_once(near, (family, backend), _fastest(near, family, backend, count))

    async def practices(self, near: FirstStage, family: str, backend: str, count: int) -> tuple[Experience, ...]:
        """What experts wrote, as it was read since the team's experiences changed last."""
        key = (f"practices/{family}", backend)  # no family is called so
        return await self._read_once(near, key, _practices_of(near, family, backend, count))

    async def _read_once(self, near: FirstStage, key: tuple[str, str], query: Select[Any]) -> tuple[Experience, ...]:
        if key not in near.variants:
            near.variants[key] = await self._database.read(
                lambda connection: experiences_from_rows(connection, connection.execute(query).all())
            )
        return near.variants[key]

    async def held(self, team_id: str, names: Sequence[str], teams: Collection[str]) -> dict[str, Experience]:
        """Experiences that are in the team's index, hence of these `teams`; they change only by being proven again, so
        the latest read ones are kept."""
        kept = self._kept[team_id]
        if len(kept) > KEPT:
            kept.clear()
        missing = [name for name in names if name not in kept or kept[name].is_unproven]
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
            await asyncio.to_thread(learner.rebuild, whole)
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

    async def _vector_index(self) -> VectorIndex:
        """What does the first stage: found out once, at the first use."""
        if self._index is None:
            inside = await has_pgvector(self._database)
            self._index = (PgVectorIndex if inside else NumpyVectorIndex)(self._database, self._vectors)
        return self._index


class _TeamExperiences:
    """`StoredExperiences` of one team, while it recalls."""

    def __init__(self, memory: SqlMemory, team_id: str, near: FirstStage) -> None:
        self._memory = memory
        self._team_id = team_id
        self._near = near

    async def named(self, names: Sequence[str]) -> dict[str, Experience]:
        return await self._memory.held(self._team_id, names, self._near.teams)

    async def fastest(self, family: str, backend: str, count: int) -> tuple[Experience, ...]:
        return await self._memory.fastest(self._near, family, backend, count)

    async def practices(self, family: str, backend: str, count: int) -> tuple[Experience, ...]:
        return await self._memory.practices(self._near, family, backend, count)


def _practices_of(near: FirstStage, family: str, backend: str, count: int) -> Select[Any]:
    """What experts wrote, then what jobs taught, the newest first; those beyond `count` come by similarity only."""
    wanted = (
        experiences.c.team_id.in_(near.teams),
        experiences.c.backend.in_((backend, ANY)),
        experiences.c.family.in_((family, ANY)),
        experiences.c.kind == str(ExperienceKind.BEST_PRACTICE),
        experiences.c.state == ACTIVE,
    )
    learned = experiences.c.job_id.is_not(None)
    order = (learned, experiences.c.family == ANY, experiences.c.created_at.desc(), experiences.c.id)
    return select(experiences).where(*wanted).order_by(*order).limit(count)


def _fastest(near: FirstStage, family: str, backend: str, count: int) -> Select[Any]:
    """The fastest traces of a family and backend that the team may recall."""
    wanted = (
        experiences.c.team_id.in_(near.teams),
        experiences.c.backend == backend,
        experiences.c.family == family,
        experiences.c.speedup.is_not(None),
        experiences.c.kind == str(ExperienceKind.TRACE),
        experiences.c.state == ACTIVE,
        PROVEN,
    )
    return select(experiences).where(*wanted).order_by(experiences.c.speedup.desc(), experiences.c.id).limit(count)
