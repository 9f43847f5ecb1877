"""Snapshots of what memory derives, an index of what left recall, and the backend of every logged outcome."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

from storage.migrations.columns import columns

revision = "0005"
down_revision = "0004"

OUT_OF_USE = sa.text("state != 'active'")
BATCH = 1000


def upgrade() -> None:
    """Add them; outcomes that were logged before get the backend of their evaluation."""
    op.create_table(
        "memory_snapshots",
        *columns(sa.Text(), "team_id", "kind"),
        sa.Column("part", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("upto", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_memory_snapshots_team_id")),
        sa.PrimaryKeyConstraint("team_id", "kind", "part", name=op.f("pk_memory_snapshots")),
    )
    op.create_index(
        "ix_experiences_out_of_use",
        "experiences",
        ["team_id"],
        sqlite_where=OUT_OF_USE,
        postgresql_where=OUT_OF_USE,
    )
    _add_backends(op.get_bind())


def downgrade() -> None:
    """Drop them; a backend in the log does no harm to older programs."""
    op.drop_index("ix_experiences_out_of_use", "experiences")
    op.drop_table("memory_snapshots")


def _add_backends(connection: sa.Connection) -> None:
    log = sa.table("memory_log", sa.column("team_id"), sa.column("seq"), sa.column("kind"), sa.column("entry"))
    evaluations = sa.table("evaluations", sa.column("id"), sa.column("backend"))
    backends = {row.id: row.backend for row in connection.execute(sa.select(evaluations.c.id, evaluations.c.backend))}
    rows = connection.execute(sa.select(log).where(log.c.kind == "outcome")).all()
    change = (
        sa.update(log)
        .where(log.c.team_id == sa.bindparam("team"), log.c.seq == sa.bindparam("at"))
        .values(entry=sa.bindparam("text"))
    )
    changed = []
    for row in rows:
        entry = json.loads(row.entry)
        backend = backends.get(entry["evaluation_id"])
        if backend is not None and entry.get("backend") is None:
            text = json.dumps(entry | {"backend": backend}, separators=(",", ":"), ensure_ascii=False)
            changed.append({"team": row.team_id, "at": row.seq, "text": text})
    for start in range(0, len(changed), BATCH):
        connection.execute(change, changed[start : start + BATCH])
