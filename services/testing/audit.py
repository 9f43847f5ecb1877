"""The audit log in a list."""

from __future__ import annotations

from services.domain.access import AuditEntry
from services.ports.teams import AuditLog
from services.testing.database import InMemoryDatabase


class InMemoryAuditLog(AuditLog):
    """An `AuditLog` over what the stores in memory enter."""

    def __init__(self, database: InMemoryDatabase) -> None:
        self._database = database

    async def append(self, team_id: str, actor: str, action: str, subject: str = "", detail: str = "") -> None:
        """Enter an act."""
        self._database.ensure_team(team_id)
        self._database.enter(team_id, actor, action, subject, detail)

    async def read(self, team_id: str, *, before: int | None = None, limit: int = 50) -> tuple[AuditEntry, ...]:
        """A team's entries with `id < before`, latest first."""
        own = [one for one in self._database.acts if one.team_id == team_id and (before is None or one.id < before)]
        return tuple(own[: -limit - 1 : -1])
