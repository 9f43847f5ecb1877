"""Two-stage recall in one call: keys filter, vectors rank the pool, the rule chooses from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from services.domain.jobs import Stage
from services.memory.keys import Keys, KeyTable
from services.memory.learner import Learner
from services.memory.ranking import Vectors, nearest
from services.memory.selection import PoolSchedule


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

    def choose(self, shelf: VectorTable, vector: Vectors, learner: Learner) -> tuple[Recalled, ...]:
        """Both stages: at most `count` experiences, best first; the same for the same shelf, log, query and seed."""
        mask = shelf.keys.fitting(self.fitting, at_least=self.count)
        rows, similarities = nearest(shelf.vectors, vector, mask, self.pool_size(learner))
        pool = {shelf.ids[row]: float(value) for row, value in zip(rows, similarities, strict=True)}
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
