"""Idempotency keys: a request that is sent twice makes one thing."""

from __future__ import annotations

from sqlalchemy import Connection, select

from services.domain.errors import ConflictError
from services.ports.runtime import Clock
from storage.contents.blobs import ensure_team
from storage.database import Database
from storage.db.statements import insert_one_new
from storage.tables import idempotency_keys


class SqlIdempotencyKeys:
    """Which resource a team's key made."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def claim(self, team_id: str, key: str, fingerprint: str, resource_id: str) -> str:
        """The id that the key stands for: `resource_id` the first time, the first one's id ever after.

        `fingerprint` is a hash of the request's content. Claim before making the resource, under an id chosen here: a
        crash in between is repaired by the retry, which gets the same id. Raises `ConflictError` where the key was
        used for another request."""
        now = self._clock.now()
        row = {
            "team_id": team_id,
            "key": key,
            "fingerprint": fingerprint,
            "resource_id": resource_id,
            "created_at": now,
        }
        query = select(idempotency_keys).where(idempotency_keys.c.team_id == team_id, idempotency_keys.c.key == key)

        def work(connection: Connection) -> str:
            ensure_team(connection, team_id, now)
            if insert_one_new(connection, idempotency_keys, row):
                return resource_id
            known = connection.execute(query).one()
            if known.fingerprint != fingerprint:
                raise ConflictError(f"the idempotency key {key!r} was used for another request")
            return str(known.resource_id)

        return await self._database.write(work)
