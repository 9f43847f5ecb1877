"""Artefacts in a dictionary."""

from __future__ import annotations

import hashlib

from services.domain.errors import NotFoundError
from services.ports.jobs import ArtefactStore
from services.testing.database import InMemoryDatabase


class InMemoryArtefactStore(ArtefactStore):
    """An `ArtefactStore` in a dictionary."""

    def __init__(self, database: InMemoryDatabase) -> None:
        self._database = database

    async def put(self, team_id: str, content: bytes, *, job_id: str | None = None) -> str:
        """Keep a content under its SHA-256."""
        key = hashlib.sha256(content).hexdigest()
        if job_id is not None:
            self._database.artefact_owners.setdefault((team_id, key), set()).add(job_id)
        self._database.artefacts[team_id, key] = content
        return key

    async def get(self, team_id: str, key: str) -> bytes:
        """The content. Raises `NotFoundError`."""
        try:
            return self._database.artefacts[team_id, key]
        except KeyError:
            raise NotFoundError(f"no artefact {key}") from None
