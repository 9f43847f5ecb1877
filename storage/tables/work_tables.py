"""Work for devices: its orders, whose turn it is, and who is there to do it."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Float, ForeignKey, Index, Integer, Table, Text

from storage.db.column_types import CleanText, UtcDateTime
from storage.tables.schema import metadata, team_column

work_orders = Table(
    "work_orders",
    metadata,
    Column("id", Text, primary_key=True),
    team_column(),
    Column("job_id", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("device", Text, nullable=False),
    Column("backend", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("request", CleanText, nullable=False),
    Column("problem_hash", Text, nullable=False),
    Column("source_hash", Text),
    Column("result", CleanText),
    Column("fault", CleanText),
    Column("claim_owner", Text),
    Column("claim_token", Integer, nullable=False, server_default="0"),
    Column("claim_expires_at", UtcDateTime),
    Column("attempts", Integer, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Column("evaluator", CleanText),
    Column("taken_at", UtcDateTime),
    Column("charged_s", Float, nullable=False, server_default="0"),
    Index(None, "job_id", "status"),
    Index(None, "device", "status"),
    Index(None, "status", "updated_at"),
    Index(None, "problem_hash"),
    Index(None, "source_hash"),
)
"""What workers are asked to do: the row is the truth, a broker message only wakes a worker. `evaluator`: who answered,
so that one job's results come from one evaluator. `taken_at`, `charged_s`: when it was claimed last, and what its team
was charged for that in advance."""

device_shares = Table(
    "device_shares",
    metadata,
    Column("team_id", Text, ForeignKey("teams.id"), primary_key=True),
    Column("device", Text, primary_key=True),
    Column("used_s", Float, nullable=False),
    Column("began_s", Float, nullable=False),
    Column("mean_s", Float, nullable=False),
    Column("validation_s", Float, nullable=False, server_default="0"),
)
"""Whose turn it is on a device (`storage.jobs.work_turns`): seconds a team used divided by its weight, how many that
were when it took its last order, and what its orders took lately, validations by themselves."""

nodes = Table(
    "nodes",
    metadata,
    Column("name", Text, primary_key=True),
    team_column(),
    Column("role", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("device", Text),
    Column("backends", Text, nullable=False),
    Column("evaluator", CleanText),
    Column("toolchain", CleanText),
    Column("isolation", Text),
    Column("sheet", CleanText),
    Column("units", Integer, nullable=False),
    Column("memory_bytes", BigInteger, nullable=False),
    Column("load", Float, nullable=False),
    Column("busy_s", Float, nullable=False),
    Column("done", Integer, nullable=False),
    Column("fault", CleanText),
    Column("started_at", UtcDateTime, nullable=False),
    Column("seen_at", UtcDateTime, nullable=False),
    Index(None, "role", "seen_at"),
)
"""Workers and orchestrators as they say of themselves; those of the team that runs the installation."""
