"""Vectors of queries and experiences: asked of the embedder, stored, and brought where recall compares them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from sqlalchemy import Connection, select

from services.domain.errors import InfrastructureError
from services.domain.experiences import embedded_text
from services.memory.ranking import Vectors
from services.ports.models import Embedder
from storage.database import Database
from storage.db.statements import insert_new
from storage.tables import embeddings, experiences

log = logging.getLogger(__name__)

INLINE = 64
"""Experiences without a vector that a recall embeds itself, some 2 s of work; more are embedded in the background."""
BATCH = 64
"""Experiences embedded at once in the background."""

Kept = Callable[[Connection, str, Mapping[str, Vectors]], None]
"""Told of new vectors of a space, in the transaction that stores them."""


class Vectoriser:
    """Embeds experiences and keeps their vectors."""

    def __init__(self, database: Database, embedder: Embedder) -> None:
        self._database = database
        self._embedder = embedder

    async def embed_experiences(
        self, space: str, dimensions: int, names: Sequence[str], kept: Kept | None = None
    ) -> dict[str, Vectors] | None:
        """Embed experiences and store their vectors; None where the embedder gives none of this space at the moment.

        Vectors that are stored already are taken from there."""
        known = await self._database.read(lambda connection: stored_vectors(connection, space, dimensions, names))
        made = await self._made(space, [name for name in names if name not in known])
        if made is None:
            return None
        rows = [
            {"experience_id": name, "embedder": space, "team_id": team, "vector": vector.tobytes()}
            for name, (team, vector) in made.items()
        ]
        vectors = known | {name: vector for name, (_, vector) in made.items()}

        def work(connection: Connection) -> None:
            insert_new(connection, embeddings, rows)
            if kept is not None:
                kept(connection, space, vectors)

        if rows or (kept is not None and vectors):
            await self._database.write(work)
        return vectors

    async def _made(self, space: str, names: Sequence[str]) -> dict[str, tuple[str, Vectors]] | None:
        """New vectors with their experiences' teams."""
        if not names:
            return {}
        texts = await self._database.read(lambda connection: _texts(connection, names))
        try:
            made = await self._embedder.embed([text for _, _, text in texts])
        except InfrastructureError as error:
            log.warning("experiences wait for their vectors: %s", error)
            return None
        if made.space != space:
            return None
        return {
            name: (team, np.asarray(vector, dtype="<f4"))
            for (name, team, _), vector in zip(texts, made.vectors, strict=True)
        }


def stored_vectors(connection: Connection, space: str, dimensions: int, names: Sequence[str]) -> dict[str, Vectors]:
    """Vectors of a space that are stored, by experience; shape (dimensions,) each."""
    query = select(embeddings.c.experience_id, embeddings.c.vector).where(
        embeddings.c.embedder == space, embeddings.c.experience_id.in_(names)
    )
    return {
        name: np.frombuffer(vector, dtype="<f4")
        for name, vector in connection.execute(query)
        if len(vector) == 4 * dimensions
    }


def _texts(connection: Connection, names: Sequence[str]) -> list[tuple[str, str, str]]:
    """Id, team and text to embed."""
    columns = (experiences.c.id, experiences.c.team_id, experiences.c.title, experiences.c.text, experiences.c.family)
    query = select(*columns).where(experiences.c.id.in_(names)).order_by(experiences.c.id)
    return [(row.id, row.team_id, embedded_text(row.title, row.text, row.family)) for row in connection.execute(query)]
