"""What processes keep for one another so that none has to start from nothing: derived from rows, never the truth.

`learner/…` is the fold of a team's value log at a position (`services.memory.snapshot`). `shelf/…` holds the keys and
vectors of a fixed range of a team's experiences in one space, packed: reading 25 of these takes a tenth of reading
100,000 rows. `tidied` says how far maintenance came. Functions over the caller's connection.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, bindparam, delete, select

from services.domain.experiences import ExperienceKind
from services.memory.keys import NAMES, Keys, KeyTable
from services.memory.ranking import Vectors
from storage.db.statements import insert_new, upsert
from storage.tables import memory_snapshots, teams

RANGE = 4096
"""Experiences of a team in one packed range: part n holds those numbered n · RANGE + 1 to (n + 1) · RANGE."""
MAGIC = b"kw range 2\n"
"""A range that was packed in another way is packed anew."""
LEARNER, VECTORS, TIDIED = "learner/", "shelf/", "tidied"

_PARTS = (
    select(memory_snapshots.c.part, memory_snapshots.c.content)
    .where(memory_snapshots.c.team_id == bindparam("team"), memory_snapshots.c.kind == bindparam("kind"))
    .order_by(memory_snapshots.c.part)
)


def read_learner(connection: Connection, team_id: str, fingerprint: str) -> bytes | None:
    """The team's fold under these rules, where one was kept."""
    row = connection.execute(_PARTS, {"team": team_id, "kind": LEARNER + fingerprint}).first()
    return None if row is None else bytes(row.content)


def keep_learner(connection: Connection, team_id: str, fingerprint: str, upto: int, content: bytes) -> None:
    """Keep a fold instead of every earlier one."""
    kept = memory_snapshots.c
    earlier = (kept.team_id == team_id) & kept.kind.startswith(LEARNER) & (kept.upto <= upto)
    connection.execute(delete(memory_snapshots).where(earlier))
    insert_new(connection, memory_snapshots, [_row(team_id, LEARNER + fingerprint, 0, upto, content)])


def read_ranges(connection: Connection, team_id: str, space: str, upto: int) -> list[PackedRange]:
    """The packed ranges from a team's first experience on, without a gap, up to a number."""
    found: list[PackedRange] = []
    for row in connection.execute(_PARTS, {"team": team_id, "kind": VECTORS + space}):
        packed = PackedRange.read(bytes(row.content))
        if row.part != len(found) or packed is None or (row.part + 1) * RANGE > upto:
            break
        found.append(packed)
    return found


def keep_range(connection: Connection, team_id: str, space: str, part: int, packed: PackedRange) -> None:
    """Keep one range."""
    row = _row(team_id, VECTORS + space, part, (part + 1) * RANGE, packed.content())
    upsert(connection, memory_snapshots, [row])


def drop_ranges(connection: Connection, team_id: str, numbers: Sequence[int]) -> None:
    """Drop the packed ranges that hold these experiences, whose rows go: they are packed again without them."""
    kept = memory_snapshots.c
    parts = sorted({(number - 1) // RANGE for number in numbers})
    mine = (kept.team_id == team_id) & kept.kind.startswith(VECTORS) & kept.part.in_(parts)
    connection.execute(delete(memory_snapshots).where(mine))


@dataclass(frozen=True, kw_only=True)
class PackedRange:
    """Experiences as recall holds them, in columns."""

    ids: list[str]
    sheet: NDArray[np.bool_]
    """Which of them are API sheets, shape (ids,)."""
    keys: dict[str, NDArray[np.int32]]
    """Codes by key, shape (ids,) each: 0 for none, else one more than the place in `known`."""
    known: dict[str, list[str]]
    vectors: Vectors
    """Shape (ids, dimensions)."""

    @classmethod
    def of(cls, rows: Sequence[Row[Any]], keys: Sequence[Keys], dimensions: int) -> PackedRange | None:
        """Rows with ids, kinds and vectors, beside their keys; None where one has no vector of this size."""
        if any(row.vector is None or len(row.vector) != 4 * dimensions for row in rows):
            return None
        table = KeyTable(keys)
        vectors = np.frombuffer(b"".join(row.vector for row in rows), dtype="<f4").reshape(len(rows), dimensions)
        return cls(
            ids=[row.id for row in rows],
            sheet=np.array([row.kind == ExperienceKind.API_TEMPLATE for row in rows], dtype=bool),
            keys=dict(table.columns),
            known=table.known,
            vectors=vectors,
        )

    def content(self) -> bytes:
        """As bytes: a head in JSON, then the arrays as they lie in memory, which `read` takes without a copy."""
        dimensions = self.vectors.shape[1]
        head = json.dumps({"ids": self.ids, "known": self.known, "dimensions": dimensions}).encode()
        arrays = (self.vectors.astype("<f4"), *(self.keys[name].astype("<i4") for name in NAMES), self.sheet)
        return b"".join((MAGIC, len(head).to_bytes(8, "big"), head, *(array.tobytes() for array in arrays)))

    @classmethod
    def read(cls, content: bytes) -> PackedRange | None:
        """From bytes; None where they are not what this program writes."""
        start = len(MAGIC) + 8
        if content[: len(MAGIC)] != MAGIC:
            return None
        end = start + int.from_bytes(content[len(MAGIC) : start], "big")
        try:
            head = json.loads(content[start:end])
            count, dimensions = len(head["ids"]), head["dimensions"]
            arrays = _Arrays(content, end)
            vectors = arrays.take("<f4", count * dimensions).reshape(count, dimensions)
            keys = {name: arrays.take("<i4", count) for name in NAMES}
            sheet = arrays.take("?", count)
        except (ValueError, KeyError, TypeError):
            return None
        return cls(ids=head["ids"], sheet=sheet, keys=keys, known=head["known"], vectors=vectors)

    def part(self, mask: NDArray[np.bool_]) -> PackedRange:
        """Those under a mask."""
        if mask.all():
            return self
        rows = np.flatnonzero(mask)
        return PackedRange(
            ids=[self.ids[row] for row in rows.tolist()],
            sheet=self.sheet[rows],
            keys={name: column[rows] for name, column in self.keys.items()},
            known=self.known,
            vectors=self.vectors[rows],
        )


class _Arrays:
    """Arrays that lie one behind the other in some bytes."""

    def __init__(self, content: bytes, at: int) -> None:
        self._content = content
        self._at = at

    def take(self, kind: str, count: int) -> NDArray[Any]:
        """The next `count` elements. Raises `ValueError` where the bytes end before."""
        found = np.frombuffer(self._content, dtype=kind, count=count, offset=self._at)
        self._at += found.nbytes
        return found


def untidied(connection: Connection, team_id: str) -> int:
    """How many experiences a team has got since its memory was tidied last."""
    number = connection.execute(select(teams.c.memory_seq).where(teams.c.id == team_id)).scalar() or 0
    kept = memory_snapshots.c
    seen = select(kept.upto).where(kept.team_id == team_id, kept.kind == TIDIED)
    return int(number) - (connection.execute(seen).scalar() or 0)


def mark_tidied(connection: Connection, team_id: str) -> None:
    """Maintenance has seen everything that the team has now."""
    number = connection.execute(select(teams.c.memory_seq).where(teams.c.id == team_id)).scalar()
    if number is not None:
        upsert(connection, memory_snapshots, [_row(team_id, TIDIED, 0, number, b"")])


def _row(team_id: str, kind: str, part: int, upto: int, content: bytes) -> dict[str, Any]:
    return {
        "team_id": team_id,
        "kind": kind,
        "part": part,
        "upto": upto,
        "content": content,
        "made_at": datetime.now(UTC),
    }
