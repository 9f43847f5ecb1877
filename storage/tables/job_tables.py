"""Jobs and what they leave behind: candidates, evaluations, steps, model calls, events, checkpoints."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Float, Index, Integer, LargeBinary, Table, Text

from storage.db.column_types import CleanText, UtcDateTime
from storage.tables.schema import job_column, metadata, partial_index, team_column

jobs = Table(
    "jobs",
    metadata,
    Column("id", Text, primary_key=True),
    team_column(),
    Column("status", Text, nullable=False),
    Column("claimable", Boolean, nullable=False),
    Column("rank", Integer, nullable=False, server_default="0"),
    Column("name", CleanText, nullable=False),
    Column("spec", CleanText, nullable=False),
    Column("source_hash", Text, nullable=False),
    Column("seed_hash", Text),
    Column("analysis", CleanText),
    Column("best_candidate_id", Text),
    Column("steps_done", Integer, nullable=False, server_default="0"),
    Column("message", CleanText),
    Column("cancel_requested", Boolean, nullable=False),
    Column("pause_requested", Boolean, nullable=False),
    Column("event_seq", Integer, nullable=False, server_default="0"),
    Column("parent_id", Text),
    Column("lease_owner", Text),
    Column("lease_token", Integer, nullable=False, server_default="0"),
    Column("lease_expires_at", UtcDateTime),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Column("started_at", UtcDateTime),
    Column("finished_at", UtcDateTime),
    Column("expired", Integer, nullable=False, server_default="0"),
    Column("search", CleanText, nullable=False, server_default=""),
    Index(None, "team_id", "created_at", "id"),
    Index(None, "team_id", "status", "created_at", "id"),
    partial_index("ix_jobs_parent_id", "parent_id", where="parent_id IS NOT NULL"),
    Index("ix_jobs_turn", "claimable", "team_id", "rank", "created_at", "id"),
    partial_index("ix_jobs_held", "lease_owner", where="lease_owner IS NOT NULL"),
    partial_index("ix_jobs_ended", "expired", "finished_at", where="finished_at IS NOT NULL"),
    Index(None, "source_hash"),
    Index(None, "seed_hash"),
)
"""`claimable`: an orchestrator may take it unasked (not final, not paused). `rank`: minus the priority, so that one
index has a team's jobs in their order: a claim costs the same beside ten thousand finished jobs. `expired`: which parts
retention has removed, one bit each (`storage.jobs.retention`). `search`: what a list's words are looked for in, case
folded; PostgreSQL has a trigram index on it where the extension pg_trgm can be had."""

deleted_jobs = Table(
    "deleted_jobs",
    metadata,
    Column("id", Text, primary_key=True),
    team_column(),
    Column("deleted_by", CleanText, nullable=False),
    Column("deleted_at", UtcDateTime, nullable=False),
)
"""All that stays of a deleted job: that it was there."""

candidates = Table(
    "candidates",
    metadata,
    Column("id", Text, primary_key=True),
    team_column(),
    job_column(),
    Column("step", Integer, nullable=False),
    Column("parent_id", Text),
    Column("origin", Text, nullable=False),
    Column("backend", Text, nullable=False),
    Column("source_hash", Text, nullable=False),
    Column("summary", CleanText, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Index(None, "job_id", "step", "id"),
    Index(None, "source_hash"),
)

evaluations = Table(
    "evaluations",
    metadata,
    Column("id", Text, primary_key=True),
    team_column(),
    Column("job_id", Text, nullable=False),
    Column("candidate_id", Text, nullable=False),
    Column("device", Text, nullable=False),
    Column("backend", Text, nullable=False),
    Column("source_hash", Text, nullable=False),
    Column("problem_hash", Text, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("failed_gate", Text),
    Column("median_us", Float),
    Column("speedup", Float),
    Column("speedup_low", Float),
    Column("speedup_high", Float),
    Column("report", CleanText, nullable=False),
    Column("device_s", Float, nullable=False, server_default="0"),
    Column("created_at", UtcDateTime, nullable=False),
    Column("referee", Integer),
    Index(None, "candidate_id"),
    Index(None, "team_id", "created_at"),
    Index(None, "job_id"),
    Index(None, "source_hash"),
    Index(None, "problem_hash"),
)
"""Not tied to a job or candidate row: a candidate can be judged without a job. `speedup` is the one over the fastest
baseline, `speedup_low` and `speedup_high` its 95 % interval: lists of jobs show them without reading reports.
`referee`: version of the referee that accepted it last."""

verifications = Table(
    "verifications",
    metadata,
    Column("id", Integer, primary_key=True),
    team_column(),
    Column("evaluation_id", Text, nullable=False),
    Column("candidate_id", Text, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("failed_gate", Text),
    Column("report", CleanText, nullable=False),
    Column("before", CleanText, nullable=False),
    Column("actor", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Index(None, "evaluation_id"),
)
"""Accepted results judged again: `report` is what came of it, `before` the report as it had been until then."""

steps = Table(
    "steps",
    metadata,
    job_column(primary_key=True),
    Column("step", Integer, primary_key=True, autoincrement=False),
    team_column(),
    Column("stage", Text, nullable=False),
    Column("start_point", Text),
    Column("plan", CleanText),
    Column("candidate_id", Text),
    Column("evaluation_id", Text),
    Column("verdict", Text),
    Column("reward", Float),
    Column("critique", CleanText),
    Column("failure", CleanText),
    Column("started_at", UtcDateTime, nullable=False),
    Column("finished_at", UtcDateTime, nullable=False),
    Index(None, "team_id", "finished_at"),
)

model_calls = Table(
    "model_calls",
    metadata,
    job_column(primary_key=True),
    Column("step", Integer, primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True, autoincrement=False),
    team_column(),
    Column("role", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("prompt_hash", Text, nullable=False),
    Column("prompt_blob", Text, nullable=False),
    Column("reply_blob", Text, nullable=False),
    Column("calls", Integer, nullable=False),
    Column("input_tokens", Integer, nullable=False),
    Column("cached_tokens", Integer, nullable=False),
    Column("output_tokens", Integer, nullable=False),
    Column("reasoning_tokens", Integer, nullable=False),
    Column("dollars", Float),
    Column("seconds", Float, nullable=False),
    Column("error", CleanText),
    Index(None, "prompt_blob"),
    Index(None, "reply_blob"),
)

model_requests = Table(
    "model_requests",
    metadata,
    Column("id", Text, primary_key=True),
    team_column(),
    job_column(),
    Column("key", Text, nullable=False),
    Column("step", Integer, nullable=False),
    Column("role", Text, nullable=False),
    Column("schema_name", Text, nullable=False),
    Column("schema", CleanText, nullable=False),
    Column("prompt_blob", Text, nullable=False),
    Column("start_blob", Text),
    Column("reply_blob", Text),
    Column("answered_by", CleanText),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),
    Column("answered_at", UtcDateTime),
    Index(None, "team_id", "created_at"),
    Index(None, "job_id", "key"),
    Index(None, "prompt_blob"),
    Index(None, "start_blob"),
    Index(None, "reply_blob"),
)
"""What manual models were asked; open while `reply_blob` is null and the job goes on."""

step_experiences = Table(
    "step_experiences",
    metadata,
    job_column(primary_key=True),
    Column("step", Integer, primary_key=True, autoincrement=False),
    Column("experience_id", Text, primary_key=True),
    team_column(),
    Column("position", Integer, nullable=False),
    Column("similarity", Float),
    Column("value", Float),
    Index(None, "experience_id"),
)

events = Table(
    "events",
    metadata,
    job_column(primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    team_column(),
    Column("kind", Text, nullable=False),
    Column("data", CleanText, nullable=False),
    Column("at", UtcDateTime, nullable=False),
)

job_artefacts = Table(
    "job_artefacts",
    metadata,
    job_column(primary_key=True),
    Column("hash", Text, primary_key=True),
    team_column(),
    Index(None, "hash"),
)
"""Which contents a job keeps to be resumed from; its checkpoint names them."""

checkpoints = Table(
    "checkpoints",
    metadata,
    Column("thread_id", Text, primary_key=True),
    Column("namespace", Text, primary_key=True),
    Column("team_id", Text, nullable=False),
    Column("checkpoint_id", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("checkpoint", LargeBinary, nullable=False),
    Column("metadata_type", Text, nullable=False),
    Column("metadata", LargeBinary, nullable=False),
    Column("lease_token", Integer),
)
"""The newest checkpoint only: what resuming needs. History is in `steps`."""

checkpoint_writes = Table(
    "checkpoint_writes",
    metadata,
    Column("thread_id", Text, primary_key=True),
    Column("namespace", Text, primary_key=True),
    Column("checkpoint_id", Text, primary_key=True),
    Column("task_id", Text, primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("team_id", Text, nullable=False),
    Column("task_path", Text, nullable=False),
    Column("channel", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("value", LargeBinary, nullable=False),
)
