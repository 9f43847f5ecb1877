"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from storage.migrations.columns import columns

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables, those that others refer to first."""
    _checkpoint_writes()
    _checkpoints()
    _teams()
    _blobs()
    _evaluations()
    _experiences()
    _idempotency_keys()
    _jobs()
    _work_orders()
    _candidates()
    _embeddings()
    _events()
    _model_calls()
    _step_experiences()
    _steps()


def downgrade() -> None:
    """Drop them; their indexes go with them."""
    for table in (
        "steps",
        "step_experiences",
        "model_calls",
        "events",
        "embeddings",
        "candidates",
        "work_orders",
        "jobs",
        "idempotency_keys",
        "experiences",
        "evaluations",
        "blobs",
        "teams",
        "checkpoints",
        "checkpoint_writes",
    ):
        op.drop_table(table)


def _checkpoint_writes() -> None:
    op.create_table(
        "checkpoint_writes",
        *columns(sa.Text(), "thread_id", "namespace", "checkpoint_id", "task_id"),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        *columns(sa.Text(), "team_id", "task_path", "channel", "type"),
        sa.Column("value", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint(
            "thread_id", "namespace", "checkpoint_id", "task_id", "position", name=op.f("pk_checkpoint_writes")
        ),
    )


def _checkpoints() -> None:
    op.create_table(
        "checkpoints",
        *columns(sa.Text(), "thread_id", "namespace", "team_id", "checkpoint_id", "type"),
        sa.Column("checkpoint", sa.LargeBinary(), nullable=False),
        sa.Column("metadata_type", sa.Text(), nullable=False),
        sa.Column("metadata", sa.LargeBinary(), nullable=False),
        sa.Column("lease_token", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("thread_id", "namespace", name=op.f("pk_checkpoints")),
    )


def _teams() -> None:
    op.create_table(
        "teams",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("memory_seq", sa.Integer(), server_default="0", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_teams")),
    )


def _blobs() -> None:
    op.create_table(
        "blobs",
        *columns(sa.Text(), "team_id", "hash"),
        sa.Column("bytes", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_blobs_team_id")),
        sa.PrimaryKeyConstraint("team_id", "hash", name=op.f("pk_blobs")),
    )


def _evaluations() -> None:
    op.create_table(
        "evaluations",
        *columns(sa.Text(), "id", "team_id", "job_id", "candidate_id", "device"),
        *columns(sa.Text(), "backend", "source_hash", "problem_hash", "verdict"),
        sa.Column("failed_gate", sa.Text(), nullable=True),
        *columns(sa.Float(), "median_us", "speedup", nullable=True),
        sa.Column("report", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_evaluations_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evaluations")),
    )
    op.create_index(op.f("ix_evaluations_candidate_id"), "evaluations", ["candidate_id"], unique=False)
    op.create_index(op.f("ix_evaluations_team_id_created_at"), "evaluations", ["team_id", "created_at"], unique=False)


def _experiences() -> None:
    op.create_table(
        "experiences",
        *columns(sa.Text(), "id", "team_id"),
        sa.Column("number", sa.Integer(), nullable=False),
        *columns(
            sa.Text(), "content_key", "kind", "stage", "family", "backend", "device", "toolchain", "title", "text"
        ),
        sa.Column("code_hash", sa.Text(), nullable=True),
        sa.Column("moves", sa.Text(), nullable=False),
        *columns(sa.Text(), "verdict", "bottleneck", nullable=True),
        *columns(sa.Float(), "speedup", "median_us", nullable=True),
        *columns(sa.Text(), "job_id", "candidate_id", nullable=True),
        sa.Column("used", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_experiences_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_experiences")),
        sa.UniqueConstraint("team_id", "content_key", name=op.f("uq_experiences_team_id_content_key")),
        sa.UniqueConstraint("team_id", "number", name=op.f("uq_experiences_team_id_number")),
    )
    op.create_index(op.f("ix_experiences_job_id"), "experiences", ["job_id"], unique=False)


def _idempotency_keys() -> None:
    op.create_table(
        "idempotency_keys",
        *columns(sa.Text(), "team_id", "key", "fingerprint", "resource_id"),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_idempotency_keys_team_id")),
        sa.PrimaryKeyConstraint("team_id", "key", name=op.f("pk_idempotency_keys")),
    )


def _jobs() -> None:
    op.create_table(
        "jobs",
        *columns(sa.Text(), "id", "team_id", "status"),
        sa.Column("claimable", sa.Boolean(), nullable=False),
        *columns(sa.Text(), "name", "spec", "source_hash"),
        *columns(sa.Text(), "seed_hash", "analysis", "best_candidate_id", nullable=True),
        sa.Column("steps_done", sa.Integer(), server_default="0", nullable=False),
        sa.Column("message", sa.Text(), nullable=True),
        *columns(sa.Boolean(), "cancel_requested", "pause_requested"),
        sa.Column("event_seq", sa.Integer(), server_default="0", nullable=False),
        sa.Column("lease_owner", sa.Text(), nullable=True),
        sa.Column("lease_token", sa.Integer(), server_default="0", nullable=False),
        sa.Column("lease_expires_at", sa.DateTime(timezone=True), nullable=True),
        *columns(sa.DateTime(timezone=True), "created_at", "updated_at"),
        *columns(sa.DateTime(timezone=True), "started_at", "finished_at", nullable=True),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_jobs_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
    )
    op.create_index(op.f("ix_jobs_claimable_created_at_id"), "jobs", ["claimable", "created_at", "id"], unique=False)
    op.create_index(op.f("ix_jobs_team_id_created_at_id"), "jobs", ["team_id", "created_at", "id"], unique=False)
    op.create_index(
        op.f("ix_jobs_team_id_status_created_at_id"), "jobs", ["team_id", "status", "created_at", "id"], unique=False
    )


def _work_orders() -> None:
    op.create_table(
        "work_orders",
        *columns(
            sa.Text(), "id", "team_id", "job_id", "kind", "device", "backend", "status", "request", "problem_hash"
        ),
        *columns(sa.Text(), "source_hash", "result", "fault", "claim_owner", nullable=True),
        sa.Column("claim_token", sa.Integer(), server_default="0", nullable=False),
        sa.Column("claim_expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        *columns(sa.DateTime(timezone=True), "created_at", "updated_at"),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_work_orders_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_work_orders")),
    )
    op.create_index(op.f("ix_work_orders_job_id_status"), "work_orders", ["job_id", "status"], unique=False)
    op.create_index(op.f("ix_work_orders_status_updated_at"), "work_orders", ["status", "updated_at"], unique=False)


def _candidates() -> None:
    op.create_table(
        "candidates",
        *columns(sa.Text(), "id", "team_id", "job_id"),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("parent_id", sa.Text(), nullable=True),
        *columns(sa.Text(), "origin", "backend", "source_hash", "summary"),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_candidates_job_id")),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_candidates_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_candidates")),
    )
    op.create_index(op.f("ix_candidates_job_id_step_id"), "candidates", ["job_id", "step", "id"], unique=False)


def _embeddings() -> None:
    op.create_table(
        "embeddings",
        *columns(sa.Text(), "experience_id", "embedder", "team_id"),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["experience_id"], ["experiences.id"], name=op.f("fk_embeddings_experience_id")),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_embeddings_team_id")),
        sa.PrimaryKeyConstraint("experience_id", "embedder", name=op.f("pk_embeddings")),
    )


def _events() -> None:
    op.create_table(
        "events",
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("seq", sa.Integer(), autoincrement=False, nullable=False),
        *columns(sa.Text(), "team_id", "kind", "data"),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_events_job_id")),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_events_team_id")),
        sa.PrimaryKeyConstraint("job_id", "seq", name=op.f("pk_events")),
    )


def _model_calls() -> None:
    op.create_table(
        "model_calls",
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("step", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        *columns(sa.Text(), "team_id", "role", "model", "prompt_hash", "prompt_blob", "reply_blob"),
        *columns(sa.Integer(), "calls", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens"),
        sa.Column("dollars", sa.Float(), nullable=True),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_model_calls_job_id")),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_model_calls_team_id")),
        sa.PrimaryKeyConstraint("job_id", "step", "position", name=op.f("pk_model_calls")),
    )


def _step_experiences() -> None:
    op.create_table(
        "step_experiences",
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("step", sa.Integer(), autoincrement=False, nullable=False),
        *columns(sa.Text(), "experience_id", "team_id"),
        sa.Column("position", sa.Integer(), nullable=False),
        *columns(sa.Float(), "similarity", "value", nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_step_experiences_job_id")),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_step_experiences_team_id")),
        sa.PrimaryKeyConstraint("job_id", "step", "experience_id", name=op.f("pk_step_experiences")),
    )
    op.create_index(op.f("ix_step_experiences_experience_id"), "step_experiences", ["experience_id"], unique=False)


def _steps() -> None:
    op.create_table(
        "steps",
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("step", sa.Integer(), autoincrement=False, nullable=False),
        *columns(sa.Text(), "team_id", "stage"),
        *columns(sa.Text(), "start_point", "plan", "candidate_id", "evaluation_id", "verdict", nullable=True),
        sa.Column("reward", sa.Float(), nullable=True),
        *columns(sa.Text(), "critique", "failure", nullable=True),
        *columns(sa.DateTime(timezone=True), "started_at", "finished_at"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_steps_job_id")),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_steps_team_id")),
        sa.PrimaryKeyConstraint("job_id", "step", name=op.f("pk_steps")),
    )
