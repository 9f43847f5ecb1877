"""Deleted jobs, artefacts by job, and what retention has removed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from storage.migrations.columns import columns

revision = "0010"
down_revision = "0008"

ENDED = sa.text("finished_at IS NOT NULL")


def upgrade() -> None:
    """Add tables, a column and an index; jobs that are there have lost nothing so far."""
    op.add_column("jobs", sa.Column("expired", sa.Integer(), server_default="0", nullable=False))
    op.create_index("ix_jobs_ended", "jobs", ["finished_at"], sqlite_where=ENDED, postgresql_where=ENDED)
    op.create_table(
        "doomed_files",
        *columns(sa.Text(), "team_id", "hash"),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_doomed_files_team_id")),
        sa.PrimaryKeyConstraint("team_id", "hash", name=op.f("pk_doomed_files")),
    )
    op.create_table(
        "deleted_jobs",
        *columns(sa.Text(), "id", "team_id", "deleted_by"),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_deleted_jobs_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_deleted_jobs")),
    )
    op.create_table(
        "job_artefacts",
        *columns(sa.Text(), "job_id", "hash", "team_id"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_artefacts_job_id")),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_job_artefacts_team_id")),
        sa.PrimaryKeyConstraint("job_id", "hash", name=op.f("pk_job_artefacts")),
    )


def downgrade() -> None:
    """Drop them."""
    for table in ("job_artefacts", "deleted_jobs", "doomed_files"):
        op.drop_table(table)
    op.drop_index("ix_jobs_ended", "jobs")
    op.drop_column("jobs", "expired")
