"""Experiences, their vectors, and what was learned of them."""

from __future__ import annotations

from sqlalchemy import Column, Float, ForeignKey, Index, Integer, LargeBinary, Table, Text, UniqueConstraint

from storage.db.column_types import CleanText, UtcDateTime
from storage.tables.schema import metadata, partial_index, team_column

experiences = Table(
    "experiences",
    metadata,
    Column("id", Text, primary_key=True),
    team_column(),
    Column("number", Integer, nullable=False),
    Column("content_key", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("stage", Text, nullable=False),
    Column("family", Text, nullable=False),
    Column("backend", Text, nullable=False),
    Column("device", Text, nullable=False),
    Column("toolchain", CleanText, nullable=False),
    Column("title", CleanText, nullable=False),
    Column("text", CleanText, nullable=False),
    Column("code_hash", Text),
    Column("moves", Text, nullable=False),
    Column("verdict", Text),
    Column("bottleneck", Text),
    Column("speedup", Float),
    Column("median_us", Float),
    Column("job_id", Text),
    Column("candidate_id", Text),
    Column("used", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("dtype", Text),
    Column("shape_class", Text),
    Column("state", Text, nullable=False, server_default="active"),
    Column("referee", Integer),
    UniqueConstraint("team_id", "content_key"),
    UniqueConstraint("team_id", "number"),
    Index(None, "job_id"),
    Index(None, "candidate_id"),
    Index(None, "team_id", "backend", "family", "speedup"),
    partial_index("ix_experiences_out_of_use", "team_id", where="state != 'active'"),
    Index(None, "code_hash"),
    partial_index("ix_experiences_accepted", "team_id", "referee", where="verdict = 'accepted' AND state = 'active'"),
)
"""`number` counts a team's experiences in commit order without gaps, so that a reader fetches only what is new.
`state`: `active`, `retracted` (a cheat's) or `forgotten` (to keep a memory small); only active ones are recalled.
`referee`: version of the referee that accepted the candidate last."""

embeddings = Table(
    "embeddings",
    metadata,
    Column("experience_id", Text, ForeignKey("experiences.id"), primary_key=True),
    Column("embedder", Text, primary_key=True),
    team_column(),
    Column("vector", LargeBinary, nullable=False),
)
"""`vector`: little-endian float32 of unit length. Vectors of different embedders are never compared."""

memory_log = Table(
    "memory_log",
    metadata,
    Column("team_id", Text, ForeignKey("teams.id"), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("key", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("entry", CleanText, nullable=False),
    Column("at", UtcDateTime, nullable=False),
    UniqueConstraint("team_id", "key"),
)
"""The value log: appended to, never changed; every learned value is computed from it (`services.memory.values`).
`key` names what an entry is about (`outcome/<evaluation>`), so that nothing is entered twice, whatever is retried."""

memory_audit = Table(
    "memory_audit",
    metadata,
    Column("id", Integer, primary_key=True),
    team_column(),
    Column("action", Text, nullable=False),
    Column("subject", CleanText, nullable=False),
    Column("reason", CleanText, nullable=False),
    Column("actor", CleanText, nullable=False),
    Column("at", UtcDateTime, nullable=False),
    Index(None, "team_id", "id"),
)

memory_shares = Table(
    "memory_shares",
    metadata,
    Column("team_id", Text, ForeignKey("teams.id"), primary_key=True),
    Column("reader_team_id", Text, primary_key=True),
    Column("granted_by", CleanText, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Index(None, "reader_team_id"),
)
"""Whose experiences (`team_id`) which other team may recall."""

memory_snapshots = Table(
    "memory_snapshots",
    metadata,
    Column("team_id", Text, ForeignKey("teams.id"), primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("part", Integer, primary_key=True, autoincrement=False),
    Column("upto", Integer, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("made_at", UtcDateTime, nullable=False),
)
"""What a process starts from instead of reading everything; derived, and safe to delete at any time."""
