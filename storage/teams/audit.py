"""The `AuditLog` port over the database: rows that triggers keep from being changed."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection, insert, select

from services.domain.access import AuditEntry
from services.ports.runtime import Clock
from storage.contents.blobs import ensure_team
from storage.database import Database
from storage.db.mapping import value_of
from storage.tables import audit_log

_INSERT = insert(audit_log)


class SqlAuditLog:
    """The log; each method is one transaction."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def append(self, team_id: str, actor: str, action: str, subject: str = "", detail: str = "") -> None:
        """Enter an act."""
        now = self._clock.now()

        def work(connection: Connection) -> None:
            enter(connection, now, team_id, actor, action, subject, detail)

        if team_id not in self._database.known_teams:
            await self._database.write_one(lambda connection: ensure_team(connection, team_id, now))
            self._database.known_teams.add(team_id)
        await self._database.write_one(work)

    async def read(self, team_id: str, *, before: int | None = None, limit: int = 50) -> tuple[AuditEntry, ...]:
        """A team's entries with `id < before`, latest first."""
        query = select(audit_log).where(audit_log.c.team_id == team_id).order_by(audit_log.c.id.desc()).limit(limit)
        if before is not None:
            query = query.where(audit_log.c.id < before)
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return tuple(value_of(AuditEntry, row) for row in rows)


def enter(
    connection: Connection, at: datetime, team_id: str, actor: str, action: str, subject: str = "", detail: str = ""
) -> None:
    """Enter an act in the caller's transaction."""
    row = {"team_id": team_id, "actor": actor, "action": action, "subject": subject, "detail": detail, "at": at}
    connection.execute(_INSERT, row)
