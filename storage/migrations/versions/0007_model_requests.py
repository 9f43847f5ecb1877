"""Requests of manual models, which wait for an answer from outside."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from storage.migrations.columns import columns

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "model_requests",
        *columns(sa.Text(), "id", "team_id", "job_id", "key"),
        sa.Column("step", sa.Integer(), nullable=False),
        *columns(sa.Text(), "role", "schema_name", "schema", "prompt_blob"),
        *columns(sa.Text(), "start_blob", "reply_blob", "answered_by", nullable=True),
        *columns(sa.DateTime(timezone=True), "created_at", "expires_at"),
        sa.Column("answered_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_model_requests_team_id")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_model_requests_job_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_model_requests")),
    )
    op.create_index(op.f("ix_model_requests_team_id_created_at"), "model_requests", ["team_id", "created_at"])
    op.create_index(op.f("ix_model_requests_job_id_key"), "model_requests", ["job_id", "key"])


def downgrade() -> None:
    """Drop it."""
    op.drop_table("model_requests")
