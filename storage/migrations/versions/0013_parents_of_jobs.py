"""Jobs that work for another job."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Add the column and its index."""
    op.add_column("jobs", sa.Column("parent_id", sa.Text(), nullable=True))
    op.create_index(
        "ix_jobs_parent_id",
        "jobs",
        ["parent_id"],
        sqlite_where=sa.text("parent_id IS NOT NULL"),
        postgresql_where=sa.text("parent_id IS NOT NULL"),
    )


def downgrade() -> None:
    """Drop them."""
    op.drop_index("ix_jobs_parent_id", table_name="jobs")
    op.drop_column("jobs", "parent_id")
