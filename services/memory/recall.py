"""Recall: keys filter, vectors rank the pool, the rule chooses from it, and a context is put together of what it chose
and of what has places of its own.

Policy only: what is stored is reached through `NearestExperiences` and `StoredExperiences`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from services.domain.experiences import (
    Experience,
    ExperienceKind,
    RecalledExperience,
    RecallQuery,
    experience_id,
)
from services.domain.jobs import Stage
from services.memory.context import Part, Sheet, complementary, compose, distinct, select_sheets
from services.memory.keys import Keys, KeyTable
from services.memory.learner import Learner
from services.memory.ranking import Vectors, nearest
from services.memory.selection import PoolSchedule

SPARE = 3
"""Experiences chosen beyond those asked for: the start point and near-duplicates may be among them."""
VARIANTS = 20
"""Fast variants that complementary ones are picked from."""
SHEETS = 1
"""Places for API sheets."""
PLACES = 1
"""Places for what was derived from the start point before, and as many for fast variants made by other moves, when
refining."""
FEWEST = 4
"""Contexts smaller than this hold value-selected experiences only."""


class VectorTable:
    """A team's experiences as recall needs them: ids, keys and unit vectors, row by row."""

    def __init__(self, dimensions: int) -> None:
        self.ids: list[str] = []
        self.keys = KeyTable()
        self._rows: Vectors = np.empty((0, dimensions), dtype=np.float32)

    @property
    def vectors(self) -> Vectors:
        """Shape (experiences, dimensions); a view that further experiences leave as it is."""
        return self._rows[: len(self.ids)]

    def append(self, ids: Sequence[str], keys: Sequence[Keys], vectors: Vectors) -> None:
        """Add experiences; `vectors` has shape (ids, dimensions)."""
        self._add(ids, vectors)
        self.keys.append(keys)

    def append_columns(
        self,
        ids: Sequence[str],
        columns: Mapping[str, NDArray[np.int32]],
        known: Mapping[str, Sequence[str]],
        vectors: Vectors,
    ) -> None:
        """Add experiences whose keys are columns of codes, as `KeyTable` has them."""
        self._add(ids, vectors)
        self.keys.append_columns(columns, known)

    def reserve(self, count: int) -> None:
        """Make room for that many experiences in all."""
        if count > len(self._rows):
            room = np.zeros((count, self._rows.shape[1]), dtype=np.float32)
            room[: len(self.ids)] = self.vectors
            self._rows = room

    def _add(self, ids: Sequence[str], vectors: Vectors) -> None:
        needed = len(self.ids) + len(ids)
        if needed > len(self._rows):
            self.reserve(max(needed, 2 * len(self._rows)))  # doubled, so adding one by one stays cheap
        self._rows[len(self.ids) : needed] = vectors
        self.ids.extend(ids)


@dataclass(frozen=True, kw_only=True)
class Recalled:
    """One chosen experience."""

    experience_id: str
    similarity: float
    """Cosine similarity to the query, -1 to 1."""
    value: float | None
    """Learned value at the stage, for the query's family and site; None where it was never rewarded."""


@dataclass(frozen=True, kw_only=True)
class Recall:
    """What a step asks of memory."""

    stage: Stage
    keys: Keys
    """`family` must be set; the others may be None."""
    site: str
    """Device and toolchain, as in the log."""
    count: int
    """N."""
    seed: int = 0
    schedule: PoolSchedule = field(default_factory=PoolSchedule)
    filtered: bool = True
    """Whether keys filter; without, only the backend does (the paper's setting)."""

    @property
    def fitting(self) -> Keys:
        """The keys that filter."""
        return self.keys if self.filtered else Keys(backend=self.keys.backend)

    def pool_size(self, learner: Learner) -> int:
        """K: how many of the nearest the rule chooses from."""
        return self.schedule.size(learner.outcomes, self.count)

    def choose(self, table: VectorTable, vector: Vectors, learner: Learner) -> tuple[Recalled, ...]:
        """Both stages: at most `count` experiences, best first; the same for the same table, log, query and seed."""
        mask = table.keys.fitting(self.fitting, at_least=self.count)
        rows, similarities = nearest(table.vectors, vector, mask, self.pool_size(learner))
        pool = {table.ids[row]: float(value) for row, value in zip(rows, similarities, strict=True)}
        return self.pick(pool, learner)

    def pick(self, pool: Mapping[str, float], learner: Learner) -> tuple[Recalled, ...]:
        """The second stage: at most `count` of a pool of similarities, which is in falling order."""
        family = self.keys.family or "any"
        chosen = learner.choose(self.stage, family, self.site, list(pool.items()), self.count, self.seed)
        return tuple(
            Recalled(experience_id=name, similarity=pool[name], value=self._value(learner, name, family))
            for name in chosen
        )

    def _value(self, learner: Learner, name: str, family: str) -> float | None:
        if learner.values.visits(self.stage, name) == 0:
            return None
        return learner.values.value(self.stage, name, family, self.site)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What the two stages gave for a query."""

    chosen: tuple[Recalled, ...]
    children: tuple[str, ...]
    sheets: Mapping[str, float]
    """API sheets with their similarities, the nearest first."""
    start_trace: str | None


class NearestExperiences(Protocol):
    """What one team may recall, ranked in one vector space."""

    async def pool(self, keys: Keys, vector: Vectors, count: int, at_least: int) -> Mapping[str, float]:
        """Similarities of at most `count` experiences that fit the keys, most similar first; keys are given up while
        fewer than `at_least` fit."""

    async def sheets(self, backend: str, vector: Vectors, count: int) -> Mapping[str, float]:
        """Similarities of a backend's nearest API sheets."""

    async def similarities(self, names: Collection[str], vector: Vectors) -> Mapping[str, float]:
        """Similarities of those of the named experiences that the team may recall and that values choose from."""


class StoredExperiences(Protocol):
    """The same experiences with their texts."""

    async def named(self, names: Sequence[str]) -> Mapping[str, Experience]:
        """Those of the named experiences that the team may recall."""

    async def fastest(self, family: str, backend: str, count: int) -> tuple[Experience, ...]:
        """The fastest traces of a family and backend, at most `count`."""

    async def practices(self, family: str, backend: str, count: int) -> tuple[Experience, ...]:
        """What experts wrote about a family or about all, for a backend or for all, at most `count`."""


class ContextRecall:
    """Puts the context of a step together: chosen by value, then what has places of its own."""

    async def recall(
        self,
        query: RecallQuery,
        vector: Vectors,
        near: NearestExperiences,
        stored: StoredExperiences,
        learner: Learner,
    ) -> tuple[RecalledExperience, ...]:
        """At most `query.limit` experiences, best first; `vector` is the query's text, embedded."""
        # Practices are always among the candidates, however many logs of jobs are nearer.
        practices = await stored.practices(query.family, query.backend, VARIANTS)
        if query.experts_only:
            practices = tuple(item for item in practices if not item.is_learned_practice)
        choice = await self._choose(query, vector, near, learner, practices)
        variants = () if query.experts_only else await self._variants(query, choice, stored)
        beside = [*choice.children, *(variant.id for variant in variants)]
        similarity = dict(await near.similarities(beside, vector)) if beside else {}
        similarity |= {item.experience_id: item.similarity for item in choice.chosen} | dict(choice.sheets)
        found = await stored.named(list(similarity))
        known = {name: item for name, item in found.items() if not item.is_unproven}
        context = self._compose(query, choice, known, variants)
        return tuple(
            RecalledExperience(experience=known[name], similarity=similarity[name], value=_value(learner, query, name))
            for name in context
        )

    async def _choose(
        self,
        query: RecallQuery,
        vector: Vectors,
        near: NearestExperiences,
        learner: Learner,
        practices: Sequence[Experience],
    ) -> Choice:
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
        return Choice(
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
        )

    def _compose(
        self, query: RecallQuery, choice: Choice, known: Mapping[str, Experience], variants: Sequence[Experience]
    ) -> tuple[str, ...]:
        """The context: the value-selected first, then sheets, children and variants in places of their own."""
        names = [item.experience_id for item in choice.chosen]
        names += [*choice.children, *(variant.id for variant in variants)]
        wanted = [known[name] for name in dict.fromkeys(names) if name in known and name not in query.left_out]
        shown = set(distinct(wanted))
        chosen = [item.experience_id for item in choice.chosen if item.experience_id in shown]
        if query.limit < FEWEST:
            return tuple(chosen[: query.limit])
        code = [known[name].code or "" for name in chosen]
        sheets = [Sheet(experience=known[name], similarity=at) for name, at in choice.sheets.items() if name in known]
        extra = [
            Part(ids=select_sheets(sheets, query.backend, code, limit=SHEETS), places=SHEETS),
            Part(ids=[name for name in choice.children if name in shown], places=PLACES),
            Part(ids=[variant.id for variant in variants if variant.id in shown], places=PLACES),
        ]
        taken = sum(min(part.places, len(part.ids)) for part in extra)
        return compose([Part(ids=chosen, places=max(1, query.limit - taken)), *extra], query.limit)

    async def _variants(self, query: RecallQuery, choice: Choice, stored: StoredExperiences) -> tuple[Experience, ...]:
        """Fast variants that used a move which the start point does not have; with its bottleneck where there are."""
        if query.stage is not Stage.REFINE:
            return ()
        found = await stored.fastest(query.family, query.backend, VARIANTS)
        start = None
        if choice.start_trace is not None:
            start = (await stored.named([choice.start_trace])).get(choice.start_trace)
        matching = [item for item in found if query.bottleneck in (None, item.bottleneck)]
        names = complementary(matching or found, start, VARIANTS)
        return tuple(item for name in names for item in found if item.id == name)


def _candidates(
    found: Mapping[str, float], experts: Mapping[str, float], left_out: Collection[str]
) -> dict[str, float]:
    """The pool of the second stage, most similar first."""
    both = {name: at for name, at in {**found, **experts}.items() if name not in left_out}
    return dict(sorted(both.items(), key=lambda item: -item[1]))


def _value(learner: Learner, query: RecallQuery, name: str) -> float | None:
    if learner.values.visits(query.stage, name) == 0:
        return None
    return learner.values.value(query.stage, name, query.family, query.site or query.device)
