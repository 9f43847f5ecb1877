"""Events in lists."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

from services.domain.events import Event, EventKind, JsonValue
from services.ports.jobs import EventLog
from services.testing.database import InMemoryDatabase


class InMemoryEventLog(EventLog):
    """An `EventLog` in lists."""

    def __init__(self, database: InMemoryDatabase) -> None:
        self._database = database

    async def append(self, job_id: str, kind: EventKind, data: Mapping[str, JsonValue]) -> Event:
        """Add one event."""
        return self._database.append(job_id, kind, data)

    async def read(self, job_id: str, after: int = 0, limit: int = 500) -> tuple[Event, ...]:
        """Events after a sequence number."""
        return tuple(self._database.events.get(job_id, [])[after : after + limit])

    async def follow(self, job_id: str, after: int = 0) -> AsyncIterator[Event]:
        """Events as they come, until `job.finished`."""
        while True:
            changed = self._database.changed
            for event in await self.read(job_id, after):
                after = event.seq
                yield event
                if event.kind is EventKind.JOB_FINISHED and not await self.read(job_id, after, 1):
                    return
            if changed is self._database.changed:
                await changed.wait()
