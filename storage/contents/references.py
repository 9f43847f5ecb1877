"""Which rows refer to which contents, and removing those that nothing refers to. Functions over a transaction.

Contents are kept once a team, under their hash, and many rows may name one. Whoever keeps a content holds it until the
end of the transaction (`keep_contents` in `blobs.py`); who removes some locks them first and looks for references then:
so nothing is removed that a transaction beside this one is about to refer to.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, Connection, Select, delete, select, union_all

from storage.db.statements import chunks, insert_new
from storage.tables import (
    blobs,
    candidates,
    doomed_files,
    evaluations,
    experiences,
    job_artefacts,
    jobs,
    model_calls,
    model_requests,
    work_orders,
)

OF_TRAJECTORY = (model_calls.c.prompt_blob, model_calls.c.reply_blob)
OF_ARTEFACTS = (job_artefacts.c.hash,)
REFERENCES: tuple[Column[str], ...] = (
    jobs.c.source_hash,
    jobs.c.seed_hash,
    candidates.c.source_hash,
    evaluations.c.source_hash,
    evaluations.c.problem_hash,
    experiences.c.code_hash,
    work_orders.c.source_hash,
    work_orders.c.problem_hash,
    model_requests.c.prompt_blob,
    model_requests.c.start_blob,
    model_requests.c.reply_blob,
    *OF_TRAJECTORY,
    *OF_ARTEFACTS,
)
"""Every column that holds the hash of a content."""


@dataclass(frozen=True, kw_only=True)
class Removed:
    """What was not referred to any more."""

    contents: int = 0
    bytes: int = 0


def contents_of(
    connection: Connection, job_ids: Collection[str], columns: Sequence[Column[str]] = REFERENCES
) -> set[str]:
    """The hashes that rows of some jobs name in some columns."""
    queries = []
    for column in columns:
        owner = column.table.c.id if column.table is jobs else column.table.c.job_id
        queries.append(select(column).where(owner.in_(list(job_ids)), column.is_not(None)))
    return set(connection.execute(union_all(*queries)).scalars())


def remove_unused(connection: Connection, team_id: str, hashes: Collection[str]) -> Removed:
    """Remove those contents of a team that no row refers to. Files are marked, to be removed after the transaction."""
    count = size = 0
    for chunk in chunks(sorted(hashes)):
        own = (blobs.c.team_id == team_id) & blobs.c.hash.in_(chunk)
        locked = select(blobs.c.hash).where(own).order_by(blobs.c.hash).with_for_update()
        known = set(connection.execute(locked).scalars())
        unused = sorted(known - _used(connection, team_id, chunk))
        going = (blobs.c.team_id == team_id) & blobs.c.hash.in_(unused)
        rows = connection.execute(select(blobs.c.hash, blobs.c.bytes, blobs.c.content.is_(None)).where(going)).all()
        connection.execute(delete(blobs).where(going))
        insert_new(connection, doomed_files, [{"team_id": team_id, "hash": key} for key, _, filed in rows if filed])
        count, size = count + len(rows), size + sum(row.bytes for row in rows)
    return Removed(contents=count, bytes=size)


def _used(connection: Connection, team_id: str, hashes: Sequence[str]) -> set[str]:
    """Those of some hashes that a row names. One row is looked for each, since thousands may name the same problem."""
    own = (blobs.c.team_id == team_id) & blobs.c.hash.in_(hashes)
    queries = (select(blobs.c.hash).where(own, _named(column).exists()) for column in REFERENCES)
    return set(connection.execute(union_all(*queries)).scalars())


def _named(column: Column[str]) -> Select[Any]:
    return select(column).where(column.table.c.team_id == blobs.c.team_id, column == blobs.c.hash).correlate(blobs)
