"""Texts and artefacts by content hash: what is stored twice is kept once a team."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, delete, select, text, union_all
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from services.domain.errors import NotFoundError, StorageError
from services.ports.runtime import Clock
from storage.contents.files import ArtefactFiles
from storage.database import Database
from storage.db.statements import insert_new
from storage.tables import blobs, doomed_files, job_artefacts, teams

IN_ROW_BYTES = 64 << 10
"""Artefacts up to this size live in the row, larger ones in a file."""

_TEXTS = select(blobs.c.hash, blobs.c.content).where(
    blobs.c.team_id == bindparam("team"), blobs.c.hash.in_(bindparam("hashes", expanding=True))
)
_HELD = (
    select(blobs.c.hash)
    .where(blobs.c.team_id == bindparam("team"), blobs.c.hash.in_(bindparam("hashes", expanding=True)))
    .order_by(blobs.c.hash)
    .with_for_update(read=True, key_share=True)
)

_ORDER_TEXTS = text("SELECT hash, content FROM order_texts(:team, :hashes)")

_INSERT_NEW_SQLITE = sqlite.insert(blobs).on_conflict_do_nothing()
_INSERT_NEW = postgresql.insert(blobs).on_conflict_do_nothing().returning(blobs.c.hash)

_given = {column.name: bindparam(column.name, type_=column.type) for column in blobs.c}
_held = (
    select(blobs.c.hash)
    .where(blobs.c.team_id == _given["team_id"], blobs.c.hash == _given["hash"])
    .with_for_update(read=True, key_share=True)
    .cte("held")
)
_made = (_INSERT_NEW.from_select(list(_given), select(*_given.values()).where(~select(_held.c.hash).exists()))).cte(
    "made"
)
KEPT = union_all(select(_held.c.hash), select(_made.c.hash)).cte("kept")
"""Holds or inserts a content, the parameters, as a part of a statement of PostgreSQL's. Empty where somebody else was
inserting the same one: then the statement must be tried again."""
_job = bindparam("job", type_=job_artefacts.c.job_id.type)
_named = (
    postgresql.insert(job_artefacts)
    .from_select(["job_id", "hash", "team_id"], select(_job, KEPT.c.hash, _given["team_id"]))
    .on_conflict_do_nothing()
)
_PUT = select(KEPT.c.hash).add_cte(_named.cte("named"))
"""Keeps a content for a job by one statement."""


def ensure_team(connection: Connection, team_id: str, at: datetime) -> None:
    """Make the team's row, unless it exists."""
    insert_new(connection, teams, [{"id": team_id, "created_at": at}])


def put_texts(connection: Connection, team_id: str, texts: Sequence[str]) -> list[str]:
    """Keep texts; their hashes in order. Equal to `content_hash` for every text that UTF-8 can hold."""
    contents = [text_row(team_id, text) for text in texts]
    rows = {row["hash"]: row for row in contents}
    # Sorted, so that two transactions that keep the same texts never wait for one another crosswise.
    keep_contents(connection, team_id, [rows[key] for key in sorted(rows)])
    return [row["hash"] for row in contents]


def text_row(team_id: str, text: str) -> dict[str, Any]:
    """The row that keeps a text."""
    content = text.encode(errors="replace")
    return {
        "team_id": team_id,
        "hash": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
        "content": content,
    }


def keep_contents(connection: Connection, team_id: str, rows: Sequence[dict[str, Any]]) -> None:
    """Insert what is new, and hold what is known until the transaction ends, against being removed as unused.

    SQLite has one writer at a time, so nothing is removed beside it."""
    if connection.dialect.name == "sqlite":
        connection.execute(_INSERT_NEW_SQLITE, rows)
        return
    missing = list(rows)
    while missing := _not_held(connection, team_id, missing):
        missing = _not_inserted(connection, missing)


def _not_held(connection: Connection, team_id: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Hold what is known; the others."""
    if not rows:
        return []
    held = set(connection.execute(_HELD, {"team": team_id, "hashes": [row["hash"] for row in rows]}).scalars())
    return [row for row in rows if row["hash"] not in held]


def _not_inserted(connection: Connection, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Insert what nobody else has inserted meanwhile, which holds it too; the others."""
    new = set(connection.execute(_INSERT_NEW, rows).scalars())
    return [row for row in rows if row["hash"] not in new]


def get_texts(connection: Connection, team_id: str, hashes: Iterable[str | None]) -> dict[str, str]:
    """The texts of a team's hashes. Raises `StorageError` where one is missing."""
    wanted = {key for key in hashes if key is not None}
    if not wanted:
        return {}
    rows = connection.execute(_TEXTS, {"team": team_id, "hashes": sorted(wanted)})
    return _all_of(wanted, {key: content.decode() for key, content in rows if content is not None})


def get_order_texts(connection: Connection, team_id: str, hashes: Iterable[str | None]) -> dict[str, str]:
    """The texts that a work order names. On PostgreSQL by a function, which serves nodes that may read no contents
    themselves. Raises `StorageError` where one is missing."""
    if connection.dialect.name != "postgresql":
        return get_texts(connection, team_id, hashes)
    wanted = {key for key in hashes if key is not None}
    given = {"team": team_id, "hashes": sorted(wanted)}
    rows = connection.execute(_ORDER_TEXTS, given).all()
    return _all_of(wanted, {key: content.decode() for key, content in rows if content is not None})


def _all_of(wanted: set[str], found: dict[str, str]) -> dict[str, str]:
    if missing := wanted - found.keys():
        raise StorageError(f"the text {min(missing)} is gone from the database")
    return found


class SqlArtefactStore:
    """The `ArtefactStore` port: small contents in the database, large ones as files where a place is given."""

    def __init__(self, database: Database, clock: Clock, *, files: ArtefactFiles | None = None) -> None:
        self._database = database
        self._clock = clock
        self._files = files

    async def put(self, team_id: str, content: bytes, *, job_id: str | None = None) -> str:
        """Keep an artefact, with `job_id` until that job is deleted; its SHA-256. Raises `StorageError`."""
        key = hashlib.sha256(content).hexdigest()
        as_file = self._files is not None and len(content) > IN_ROW_BYTES
        if as_file:
            await self._write(team_id, key, content, again=True)
        row = {"team_id": team_id, "hash": key, "bytes": len(content), "content": None if as_file else content}

        def work(connection: Connection) -> None:
            if team_id not in self._database.known_teams:
                ensure_team(connection, team_id, self._clock.now())
            if as_file:
                # Whoever removes the file of an earlier, unused content of the same hash is waited for.
                gone = (doomed_files.c.team_id == team_id) & (doomed_files.c.hash == key)
                connection.execute(delete(doomed_files).where(gone))
            keep_contents(connection, team_id, [row])
            if job_id is not None:
                insert_new(connection, job_artefacts, [{"job_id": job_id, "hash": key, "team_id": team_id}])

        try:
            if not await self._kept_at_once(row, job_id):
                await self._database.write(work)
        except IntegrityError:
            raise StorageError(f"job {job_id} is not there: nothing can be kept for it") from None
        self._database.known_teams.add(team_id)
        if as_file:
            await self._write(team_id, key, content, again=False)
        return key

    async def _kept_at_once(self, row: dict[str, Any], job_id: str | None) -> bool:
        """Whether a content of the database was kept for a job by one statement."""
        if job_id is None or row["content"] is None or not self._database.is_postgres:
            return False
        given = row | {"job": job_id}
        return await self._database.write_one(lambda connection: connection.execute(_PUT, given).first()) is not None

    async def _write(self, team_id: str, key: str, content: bytes, *, again: bool) -> None:
        """Write a file; over one that is there too, where wanted: it may be damaged."""
        files, name = self._files, file_name(team_id, key)
        if files is not None and (again or not await asyncio.to_thread(files.exists, name)):
            await asyncio.to_thread(files.write, name, content)

    async def get(self, team_id: str, key: str) -> bytes:
        """An artefact. Raises `NotFoundError`, and `StorageError` where its file is gone or damaged."""
        query = select(blobs.c.content).where(blobs.c.team_id == team_id, blobs.c.hash == key)
        row = await self._database.read(lambda connection: connection.execute(query).one_or_none())
        if row is None:
            raise NotFoundError(f"no artefact {key}")
        content = row.content
        if content is None:
            if self._files is None:
                raise StorageError(f"the artefact {key} is a file, and no place for artefacts is configured")
            content = await asyncio.to_thread(self._files.read, file_name(team_id, key))
        if hashlib.sha256(content).hexdigest() != key:
            raise StorageError(f"the artefact {key} is damaged")
        return bytes(content)


def file_name(team_id: str, key: str) -> str:
    """Where the file of a content lies, below the place for artefacts."""
    team = hashlib.sha256(team_id.encode()).hexdigest()[:16]
    return f"{team}/{key[:2]}/{key}"
