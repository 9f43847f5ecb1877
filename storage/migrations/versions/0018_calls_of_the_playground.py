"""What the playground's model calls used, so that it counts towards quotas."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "playground_calls",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("team_id", sa.Text(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("dollars", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_playground_calls_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_playground_calls")),
    )
    op.create_index(op.f("ix_playground_calls_team_id_made_at"), "playground_calls", ["team_id", "made_at"])


def downgrade() -> None:
    """Drop it: earlier versions have no playground."""
    op.drop_table("playground_calls")
