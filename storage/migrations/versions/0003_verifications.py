"""What judging accepted results again has shown."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from storage.migrations.columns import columns

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "verifications",
        sa.Column("id", sa.Integer(), nullable=False),
        *columns(sa.Text(), "team_id", "evaluation_id", "candidate_id", "verdict"),
        sa.Column("failed_gate", sa.Text(), nullable=True),
        *columns(sa.Text(), "report", "before", "actor"),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_verifications_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_verifications")),
    )
    op.create_index(op.f("ix_verifications_evaluation_id"), "verifications", ["evaluation_id"])


def downgrade() -> None:
    """Drop it."""
    op.drop_table("verifications")
