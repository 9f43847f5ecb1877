"""The audit log in a list."""

from __future__ import annotations

from services.domain.access import AuditEntry
from services.ports.runtime import Clock
from services.ports.teams import AuditLog


class InMemoryAuditLog(AuditLog):
    """An `AuditLog` of its own."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: list[AuditEntry] = []

    async def append(self, team_id: str, actor: str, action: str, subject: str = "", detail: str = "") -> None:
        """Enter an act."""
        entry = AuditEntry(
            id=len(self._entries) + 1,
            team_id=team_id,
            actor=actor,
            action=action,
            subject=subject,
            detail=detail,
            at=self._clock.now(),
        )
        self._entries.append(entry)

    async def read(self, team_id: str, *, before: int | None = None, limit: int = 50) -> tuple[AuditEntry, ...]:
        """A team's entries with `id < before`, latest first."""
        own = [one for one in self._entries if one.team_id == team_id and (before is None or one.id < before)]
        return tuple(own[: -limit - 1 : -1])
