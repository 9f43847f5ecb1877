"""The tables: one schema for SQLite and PostgreSQL.

Every row carries `team_id`. Whole domain values are kept as JSON text written by `services.domain.codec`; what is
filtered, joined or summed has a column of its own. Large texts (sources, prompts, replies) are rows of `blobs`, keyed
by content hash, so that a text is kept once however many rows name it.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from storage.db.column_types import CleanText, UtcDateTime

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _team() -> Column[str]:
    return Column("team_id", Text, ForeignKey("teams.id"), nullable=False)


def _job(*, primary_key: bool = False) -> Column[str]:
    return Column("job_id", Text, ForeignKey("jobs.id"), nullable=False, primary_key=primary_key)


teams = Table(
    "teams",
    metadata,
    Column("id", Text, primary_key=True),
    Column("memory_seq", Integer, nullable=False, server_default="0"),
    Column("log_seq", Integer, nullable=False, server_default="0"),
    Column("memory_epoch", Integer, nullable=False, server_default="0"),
    Column("created_at", UtcDateTime, nullable=False),
    Column("served_at", UtcDateTime),
)

"""`memory_seq` and `log_seq` number the team's experiences and value log; `memory_epoch` grows whenever experiences
leave recall, so that readers who hold them look again. `served_at`: when an orchestrator last took one of its jobs."""

blobs = Table(
    "blobs",
    metadata,
    Column("team_id", Text, ForeignKey("teams.id"), primary_key=True),
    Column("hash", Text, primary_key=True),
    Column("bytes", Integer, nullable=False),
    Column("content", LargeBinary),
)
"""`content` is null where the bytes lie in the artefact directory under their hash."""

doomed_files = Table(
    "doomed_files",
    metadata,
    Column("team_id", Text, ForeignKey("teams.id"), primary_key=True),
    Column("hash", Text, primary_key=True),
)
"""Contents whose row is gone and whose file is still to be removed: a file cannot be part of a transaction."""

deleted_jobs = Table(
    "deleted_jobs",
    metadata,
    Column("id", Text, primary_key=True),
    _team(),
    Column("deleted_by", CleanText, nullable=False),
    Column("deleted_at", UtcDateTime, nullable=False),
)
"""All that stays of a deleted job: that it was there."""

jobs = Table(
    "jobs",
    metadata,
    Column("id", Text, primary_key=True),
    _team(),
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
    Index(
        "ix_jobs_parent_id",
        "parent_id",
        sqlite_where=text("parent_id IS NOT NULL"),
        postgresql_where=text("parent_id IS NOT NULL"),
    ),
    Index("ix_jobs_turn", "claimable", "team_id", "rank", "created_at", "id"),
    Index(
        "ix_jobs_held",
        "lease_owner",
        sqlite_where=text("lease_owner IS NOT NULL"),
        postgresql_where=text("lease_owner IS NOT NULL"),
    ),
    Index(
        "ix_jobs_ended",
        "finished_at",
        sqlite_where=text("finished_at IS NOT NULL"),
        postgresql_where=text("finished_at IS NOT NULL"),
    ),
    Index(None, "source_hash"),
    Index(None, "seed_hash"),
)
"""`claimable`: an orchestrator may take it unasked (not final, not paused). `rank`: minus the priority, so that one
index has a team's jobs in their order: a claim costs the same beside ten thousand finished jobs. `expired`: which parts
retention has removed, one bit each (`storage.jobs.retention`). `search`: what a listing's words are looked for in, case
folded; PostgreSQL has a trigram index on it where the extension pg_trgm can be had."""

candidates = Table(
    "candidates",
    metadata,
    Column("id", Text, primary_key=True),
    _team(),
    _job(),
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
    _team(),
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
    Column("report", CleanText, nullable=False),
    Column("device_s", Float, nullable=False, server_default="0"),
    Column("created_at", UtcDateTime, nullable=False),
    Index(None, "candidate_id"),
    Index(None, "team_id", "created_at"),
    Index(None, "job_id"),
    Index(None, "source_hash"),
    Index(None, "problem_hash"),
)
"""Not tied to a job or candidate row: a candidate can be judged without a job."""

steps = Table(
    "steps",
    metadata,
    _job(primary_key=True),
    Column("step", Integer, primary_key=True, autoincrement=False),
    _team(),
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
    _job(primary_key=True),
    Column("step", Integer, primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True, autoincrement=False),
    _team(),
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

step_experiences = Table(
    "step_experiences",
    metadata,
    _job(primary_key=True),
    Column("step", Integer, primary_key=True, autoincrement=False),
    Column("experience_id", Text, primary_key=True),
    _team(),
    Column("position", Integer, nullable=False),
    Column("similarity", Float),
    Column("value", Float),
    Index(None, "experience_id"),
)

events = Table(
    "events",
    metadata,
    _job(primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    _team(),
    Column("kind", Text, nullable=False),
    Column("data", CleanText, nullable=False),
    Column("at", UtcDateTime, nullable=False),
)

experiences = Table(
    "experiences",
    metadata,
    Column("id", Text, primary_key=True),
    _team(),
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
    UniqueConstraint("team_id", "content_key"),
    UniqueConstraint("team_id", "number"),
    Index(None, "job_id"),
    Index(None, "candidate_id"),
    Index(None, "team_id", "backend", "family", "speedup"),
    Index(
        "ix_experiences_out_of_use",
        "team_id",
        sqlite_where=text("state != 'active'"),
        postgresql_where=text("state != 'active'"),
    ),
    Index(None, "code_hash"),
)
"""`number` counts a team's experiences in commit order without gaps, so that a reader fetches only what is new.
`state`: `active`, `retracted` (a cheat's) or `forgotten` (to keep a memory small); only active ones are recalled."""

embeddings = Table(
    "embeddings",
    metadata,
    Column("experience_id", Text, ForeignKey("experiences.id"), primary_key=True),
    Column("embedder", Text, primary_key=True),
    _team(),
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
    _team(),
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

job_artefacts = Table(
    "job_artefacts",
    metadata,
    _job(primary_key=True),
    Column("hash", Text, primary_key=True),
    _team(),
    Index(None, "hash"),
)
"""Which contents a job keeps to be resumed from; its checkpoint names them."""

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("team_id", Text, ForeignKey("teams.id"), primary_key=True),
    Column("key", Text, primary_key=True),
    Column("fingerprint", Text, nullable=False),
    Column("resource_id", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
)

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

work_orders = Table(
    "work_orders",
    metadata,
    Column("id", Text, primary_key=True),
    _team(),
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
)
"""Whose turn it is on a device (`storage.jobs.work_turns`): seconds a team used, how many it had used when it took its
last order, and what its orders took lately."""

nodes = Table(
    "nodes",
    metadata,
    Column("name", Text, primary_key=True),
    _team(),
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
    Column("started_at", UtcDateTime, nullable=False),
    Column("seen_at", UtcDateTime, nullable=False),
    Index(None, "role", "seen_at"),
)
"""Workers and orchestrators as they say of themselves; those of the team that runs the installation."""

verifications = Table(
    "verifications",
    metadata,
    Column("id", Integer, primary_key=True),
    _team(),
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

model_requests = Table(
    "model_requests",
    metadata,
    Column("id", Text, primary_key=True),
    _team(),
    _job(),
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

report_shares = Table(
    "report_shares",
    metadata,
    Column("id", Text, primary_key=True),
    _team(),
    Column("job_id", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),
    Column("revoked_at", UtcDateTime),
    UniqueConstraint("digest"),
    Index(None, "team_id", "job_id"),
)
"""Links to reports; of their tokens only a hash is kept. A link to a job that is gone shows nothing."""

webhooks = Table(
    "webhooks",
    metadata,
    Column("id", Text, primary_key=True),
    _team(),
    Column("url", CleanText, nullable=False),
    Column("kinds", Text, nullable=False),
    Column("secret", Text, nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("note", CleanText),
    Column("created_at", UtcDateTime, nullable=False),
    Index(None, "team_id"),
)
"""Who is told of events. `note`: why it was switched off, where we did that."""

webhook_deliveries = Table(
    "webhook_deliveries",
    metadata,
    Column("id", Text, primary_key=True),
    _team(),
    Column("webhook_id", Text, ForeignKey("webhooks.id", ondelete="CASCADE"), nullable=False),
    Column("job_id", Text),
    Column("kind", Text, nullable=False),
    Column("body", CleanText, nullable=False),
    Column("status", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("answer", Integer),
    Column("fault", CleanText),
    Column("created_at", UtcDateTime, nullable=False),
    Column("due_at", UtcDateTime, nullable=False),
    Column("ended_at", UtcDateTime),
    Index(None, "webhook_id", "created_at"),
    Index(None, "status", "due_at"),
)
"""What is to be told to whom, written with the event it tells of; `due_at`: when it is tried next, or again where
whoever tries it now has died."""

users = Table(
    "users",
    metadata,
    Column("id", Text, primary_key=True),
    Column("login", Text, nullable=False),
    Column("name", CleanText, nullable=False),
    Column("subject", CleanText),
    Column("created_at", UtcDateTime, nullable=False),
    UniqueConstraint("login"),
    UniqueConstraint("subject"),
)
"""People; the only rows without a team, for one person may belong to several."""

members = Table(
    "members",
    metadata,
    Column("team_id", Text, ForeignKey("teams.id"), primary_key=True),
    Column("user_id", Text, ForeignKey("users.id"), primary_key=True),
    Column("role", Text, nullable=False),
    Column("since", UtcDateTime, nullable=False),
    Index(None, "user_id"),
)

api_tokens = Table(
    "api_tokens",
    metadata,
    Column("id", Text, primary_key=True),
    _team(),
    Column("user_id", Text, ForeignKey("users.id")),
    Column("name", CleanText, nullable=False),
    Column("digest", Text, nullable=False),
    Column("scopes", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime),
    Column("revoked_at", UtcDateTime),
    Column("used_at", UtcDateTime),
    Index(None, "team_id", "created_at"),
)
"""`digest`: SHA-256 of the whole token, which has 256 random bits of its own: nothing that guessing could find."""

sessions = Table(
    "sessions",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("user_id", Text, ForeignKey("users.id"), nullable=False),
    Column("team_id", Text, ForeignKey("teams.id")),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),
    Index(None, "user_id"),
    Index(None, "expires_at"),
)
"""Browsers that have signed in; `digest` is the SHA-256 of the cookie. `team_id`: the team that is looked at."""

audit_log = Table(
    "audit_log",
    metadata,
    Column("id", Integer, primary_key=True),
    _team(),
    Column("actor", CleanText, nullable=False),
    Column("action", Text, nullable=False),
    Column("subject", CleanText, nullable=False),
    Column("detail", CleanText, nullable=False),
    Column("at", UtcDateTime, nullable=False),
    Index(None, "team_id", "id"),
)
"""Who did what, when, to which object. Triggers refuse to change or delete a row."""

quotas = Table(
    "quotas",
    metadata,
    Column("team_id", Text, ForeignKey("teams.id"), primary_key=True),
    Column("resource", Text, primary_key=True),
    Column("period", Text, primary_key=True),
    Column("most", Float, nullable=False),
)
"""What a team may use in a day or month (UTC)."""
