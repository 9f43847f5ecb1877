"""Retention finds what has expired by index, however many jobs have expired before."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"

ENDED = sa.text("finished_at IS NOT NULL")


def upgrade() -> None:
    """Lead the index by what has been removed already."""
    _replace(["expired", "finished_at"])


def downgrade() -> None:
    """Back to the time alone."""
    _replace(["finished_at"])


def _replace(columns: list[str]) -> None:
    op.drop_index("ix_jobs_ended", "jobs")
    op.create_index("ix_jobs_ended", "jobs", columns, sqlite_where=ENDED, postgresql_where=ENDED)
