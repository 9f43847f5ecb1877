"""The value log, its audit, shares between teams, and keys and states of experiences."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from storage.migrations.columns import columns

revision = "0002"
down_revision = "0001"

NUMBERS = ("log_seq", "memory_epoch")
KEYS = ("dtype", "shape_class")


def upgrade() -> None:
    """Add columns and tables; experiences that are there already are in use."""
    for name in NUMBERS:
        op.add_column("teams", sa.Column(name, sa.Integer(), server_default="0", nullable=False))
    for name in KEYS:
        op.add_column("experiences", sa.Column(name, sa.Text(), nullable=True))
    op.add_column("experiences", sa.Column("state", sa.Text(), server_default="active", nullable=False))
    op.create_index(op.f("ix_experiences_candidate_id"), "experiences", ["candidate_id"])
    op.create_index(
        op.f("ix_experiences_team_id_backend_family_speedup"),
        "experiences",
        ["team_id", "backend", "family", "speedup"],
    )
    _memory_log()
    _memory_audit()
    _memory_shares()


def downgrade() -> None:
    """Drop them."""
    for table in ("memory_shares", "memory_audit", "memory_log"):
        op.drop_table(table)
    op.drop_index(op.f("ix_experiences_team_id_backend_family_speedup"), "experiences")
    op.drop_index(op.f("ix_experiences_candidate_id"), "experiences")
    for name in ("state", *KEYS):
        op.drop_column("experiences", name)
    for name in NUMBERS:
        op.drop_column("teams", name)


def _memory_log() -> None:
    op.create_table(
        "memory_log",
        sa.Column("team_id", sa.Text(), nullable=False),
        sa.Column("seq", sa.Integer(), autoincrement=False, nullable=False),
        *columns(sa.Text(), "key", "kind", "entry"),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_memory_log_team_id")),
        sa.PrimaryKeyConstraint("team_id", "seq", name=op.f("pk_memory_log")),
        sa.UniqueConstraint("team_id", "key", name=op.f("uq_memory_log_team_id_key")),
    )


def _memory_audit() -> None:
    op.create_table(
        "memory_audit",
        sa.Column("id", sa.Integer(), nullable=False),
        *columns(sa.Text(), "team_id", "action", "subject", "reason", "actor"),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_memory_audit_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_memory_audit")),
    )
    op.create_index(op.f("ix_memory_audit_team_id_id"), "memory_audit", ["team_id", "id"])


def _memory_shares() -> None:
    op.create_table(
        "memory_shares",
        *columns(sa.Text(), "team_id", "reader_team_id", "granted_by"),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_memory_shares_team_id")),
        sa.PrimaryKeyConstraint("team_id", "reader_team_id", name=op.f("pk_memory_shares")),
    )
    op.create_index(op.f("ix_memory_shares_reader_team_id"), "memory_shares", ["reader_team_id"])
