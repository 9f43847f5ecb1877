"""Nodes, teams in turn, priorities, and who answered an order."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from storage.migrations.columns import columns

revision = "0006"
down_revision = "0005"

HELD = sa.text("lease_owner IS NOT NULL")


def upgrade() -> None:
    """Add columns, indexes and the table of nodes; jobs that are there keep their order."""
    op.add_column("teams", sa.Column("served_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("jobs", sa.Column("rank", sa.Integer(), server_default="0", nullable=False))
    op.drop_index(op.f("ix_jobs_claimable_created_at_id"), "jobs")
    op.create_index("ix_jobs_turn", "jobs", ["claimable", "team_id", "rank", "created_at", "id"])
    op.create_index("ix_jobs_held", "jobs", ["lease_owner"], sqlite_where=HELD, postgresql_where=HELD)
    op.add_column("work_orders", sa.Column("rung_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("work_orders", sa.Column("evaluator", sa.Text(), nullable=True))
    _nodes()


def downgrade() -> None:
    """Drop them."""
    op.drop_table("nodes")
    op.drop_column("work_orders", "evaluator")
    op.drop_column("work_orders", "rung_at")
    op.drop_index("ix_jobs_held", "jobs")
    op.drop_index("ix_jobs_turn", "jobs")
    op.create_index(op.f("ix_jobs_claimable_created_at_id"), "jobs", ["claimable", "created_at", "id"])
    op.drop_column("jobs", "rank")
    op.drop_column("teams", "served_at")


def _nodes() -> None:
    op.create_table(
        "nodes",
        *columns(sa.Text(), "name", "team_id", "role", "version", "state"),
        sa.Column("device", sa.Text(), nullable=True),
        sa.Column("backends", sa.Text(), nullable=False),
        *columns(sa.Text(), "evaluator", "toolchain", "isolation", nullable=True),
        sa.Column("units", sa.Integer(), nullable=False),
        sa.Column("memory_bytes", sa.BigInteger(), nullable=False),
        *columns(sa.Float(), "load", "busy_s"),
        sa.Column("done", sa.Integer(), nullable=False),
        *columns(sa.DateTime(timezone=True), "started_at", "seen_at"),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_nodes_team_id")),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_nodes")),
    )
    op.create_index(op.f("ix_nodes_role_seen_at"), "nodes", ["role", "seen_at"])
