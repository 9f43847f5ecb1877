"""The derived tables that pgvector searches: `vector_index` with vectors and keys, `vector_groups` with their groups.

They exist only in a PostgreSQL database that has the extension, hold nothing that could not be made again from
`experiences` and `embeddings`, and so are no part of `storage.tables`. Functions over the caller's connection.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from services.memory.ranking import Vectors

log = logging.getLogger(__name__)

_TABLES = (
    """CREATE TABLE IF NOT EXISTS vector_groups (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        team_id text NOT NULL,
        space text NOT NULL,
        sheet boolean NOT NULL,
        backend text NOT NULL,
        family text NOT NULL,
        size bigint NOT NULL DEFAULT 0,
        indexed boolean NOT NULL DEFAULT false,
        UNIQUE (team_id, space, sheet, backend, family))""",
    """CREATE TABLE IF NOT EXISTS vector_index (
        experience_id text NOT NULL,
        space text NOT NULL,
        team_id text NOT NULL,
        group_id integer NOT NULL,
        number integer NOT NULL,
        dtype text NOT NULL,
        shape_class text NOT NULL,
        bottleneck text NOT NULL,
        v vector NOT NULL,
        PRIMARY KEY (experience_id, space))""",
    """CREATE INDEX IF NOT EXISTS vector_index_keys
        ON vector_index (group_id, shape_class, dtype, bottleneck)""",
)
_INSTALLED = text(
    "SELECT extversion FROM pg_extension WHERE extname = 'vector' AND to_regclass('vector_index') IS NOT NULL"
)
_AVAILABLE = text("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'")
_GIVEN = """given AS (
    SELECT e.id, e.team_id, e.kind = 'api_template' AS sheet, e.backend, e.family, e.number, e.dtype, e.shape_class,
           e.bottleneck, CAST(t.v AS vector) AS v
    FROM unnest(CAST(:names AS text[]), CAST(:vectors AS text[])) AS t(name, v)
    JOIN experiences e ON e.id = t.name WHERE e.state = 'active')"""
_NEW_GROUPS = text(
    f"""WITH {_GIVEN} INSERT INTO vector_groups (team_id, space, sheet, backend, family)
    SELECT DISTINCT team_id, CAST(:space AS text), sheet, backend, family FROM given ORDER BY 1, 3, 4, 5
    ON CONFLICT DO NOTHING"""  # noqa: S608 -- no value is written into it
)
_NEW_ROWS = text(
    f"""WITH {_GIVEN}, new AS (
        INSERT INTO vector_index
        SELECT n.id, g.space, n.team_id, g.id, n.number, coalesce(n.dtype, ''), coalesce(n.shape_class, ''),
               coalesce(n.bottleneck, ''), n.v
        FROM given n JOIN vector_groups g USING (team_id, sheet, backend, family) WHERE g.space = :space
        ON CONFLICT DO NOTHING RETURNING group_id)
    UPDATE vector_groups g SET size = g.size + n.count
    FROM (SELECT group_id, count(*) FROM new GROUP BY group_id) n WHERE g.id = n.group_id"""  # noqa: S608
)
_DROP_ROWS = text(
    """WITH gone AS (DELETE FROM vector_index WHERE experience_id = ANY(:names) RETURNING group_id)
    UPDATE vector_groups g SET size = g.size - n.count
    FROM (SELECT group_id, count(*) FROM gone GROUP BY group_id) n WHERE g.id = n.group_id"""
)


def install(connection: Connection) -> bool:
    """Make the tables where the database has pgvector, or may have it; False where not. Again is harmless."""
    if connection.dialect.name != "postgresql" or connection.execute(_AVAILABLE).first() is None:
        return False
    try:
        with connection.begin_nested():
            connection.execute(text("CREATE EXTENSION IF NOT EXISTS vector"))
    except DBAPIError as error:
        log.warning("pgvector is available but cannot be enabled, recall searches in this process: %s", error.orig)
        return False
    for statement in _TABLES:
        connection.execute(text(statement))
    return True


def uninstall(connection: Connection) -> None:
    """Drop the tables; nothing is lost that cannot be made again."""
    connection.execute(text("DROP TABLE IF EXISTS vector_index"))
    connection.execute(text("DROP TABLE IF EXISTS vector_groups"))


def installed(connection: Connection) -> str | None:
    """The version of pgvector that recall can use; None without."""
    if connection.dialect.name != "postgresql":
        return None
    version: str | None = connection.execute(_INSTALLED).scalar()
    return version


def index_vectors(connection: Connection, space: str, vectors: Mapping[str, Vectors]) -> None:
    """Enter vectors of experiences that are in use; those that are there stay as they are."""
    given = {"space": space, "names": list(vectors), "vectors": [literal(vector) for vector in vectors.values()]}
    connection.execute(_NEW_GROUPS, given)
    connection.execute(_NEW_ROWS, given)


def drop_vectors(connection: Connection, names: Sequence[str]) -> None:
    """Take experiences that left recall out of the index, where there is one."""
    if installed(connection) is not None:
        connection.execute(_DROP_ROWS, {"names": list(names)})


def literal(vector: Vectors) -> str:
    """A vector as pgvector reads it."""
    return "[" + ",".join(f"{number:.9g}" for number in vector.tolist()) + "]"


def build_index(connection: Connection, group: int, dimensions: int) -> bool:
    """Build a group's HNSW index without stopping writers; False where another process builds one now.

    To be called outside a transaction. What a broken build left is dropped first."""
    if not connection.execute(text("SELECT pg_try_advisory_lock(27507, 1)")).scalar():
        return False
    name = f"vector_index_hnsw_{group}"
    try:
        connection.execute(text("SET maintenance_work_mem = '1GB'"))
        connection.execute(text(f"DROP INDEX IF EXISTS {name}"))
        connection.execute(
            text(
                f"CREATE INDEX CONCURRENTLY {name} ON vector_index "
                f"USING hnsw ((CAST(v AS vector({dimensions}))) vector_ip_ops) WHERE group_id = {group}"
            )
        )
        connection.execute(text("UPDATE vector_groups SET indexed = true WHERE id = :group"), {"group": group})
    finally:
        connection.execute(text("RESET maintenance_work_mem"))
        connection.execute(text("SELECT pg_advisory_unlock(27507, 1)"))
    return True


def describe(connection: Connection) -> dict[str, Any]:
    """Rows, indexed rows and bytes on disk; for benchmarks and people."""
    row = connection.execute(
        text(
            """SELECT sum(size) AS rows, sum(size) FILTER (WHERE indexed) AS indexed,
            pg_table_size('vector_index') AS table_bytes, pg_indexes_size('vector_index') AS index_bytes
            FROM vector_groups"""
        )
    ).one()
    return dict(row._mapping)
