"""Speedups with their intervals in columns; successes leave recall; a table that nothing uses goes.

Earlier versions wrote a success beside the trace of each accepted candidate: the same words without the code.
"""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

from storage.db.pgvector_schema import drop_vectors
from storage.migrations.columns import columns

revision = "0017"
down_revision = "0016"

BATCH = 500
_EXPERIENCES = sa.table("experiences", *map(sa.column, ("id", "team_id", "kind", "state")))
_TEAMS = sa.table("teams", *map(sa.column, ("id", "memory_epoch")))


_EVALUATIONS = sa.table("evaluations", *map(sa.column, ("id", "speedup", "speedup_low", "speedup_high", "report")))


def upgrade() -> None:
    """Add the columns and fill them from the reports; forget the successes; drop the table."""
    for name in ("speedup_low", "speedup_high"):
        op.add_column("evaluations", sa.Column(name, sa.Float(), nullable=True))
    _fill()
    _forget_successes()
    op.drop_table("idempotency_keys")


def downgrade() -> None:
    """Undo the tables. What is forgotten stays so: earlier versions recall traces as well."""
    op.create_table(
        "idempotency_keys",
        *columns(sa.Text(), "team_id", "key", "fingerprint", "resource_id"),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_idempotency_keys_team_id")),
        sa.PrimaryKeyConstraint("team_id", "key", name=op.f("pk_idempotency_keys")),
    )
    for name in ("speedup_high", "speedup_low"):
        op.drop_column("evaluations", name)


def _fill() -> None:
    bind, own = op.get_bind(), _EVALUATIONS.c
    last = ""
    while True:
        query = sa.select(own.id, own.report).where(own.id > last, own.speedup.is_not(None))
        rows = bind.execute(query.order_by(own.id).limit(BATCH)).all()
        if not rows:
            return
        for row in rows:
            bounds = (json.loads(row.report).get("speedup") or {}).get("ci95")
            if bounds is not None:
                low, high = map(_number, bounds)
                values = {"speedup_low": low, "speedup_high": high}
                bind.execute(sa.update(_EVALUATIONS).where(own.id == row.id).values(values))
        last = rows[-1].id


def _number(value: Any) -> float:
    """A number as reports have it: one that is not finite is an object."""
    return float(value["float"] if isinstance(value, dict) else value)


def _forget_successes() -> None:
    """Out of recall, and readers that hold them look again."""
    bind = op.get_bind()
    active = (_EXPERIENCES.c.kind == "success") & (_EXPERIENCES.c.state == "active")
    teams = set(bind.execute(sa.select(_EXPERIENCES.c.team_id).where(active).distinct()).scalars())
    while names := list(bind.execute(sa.select(_EXPERIENCES.c.id).where(active).limit(BATCH)).scalars()):
        bind.execute(sa.update(_EXPERIENCES).where(_EXPERIENCES.c.id.in_(names)).values(state="forgotten"))
        drop_vectors(bind, names)
    for team in teams:
        bind.execute(sa.update(_TEAMS).where(_TEAMS.c.id == team).values(memory_epoch=_TEAMS.c.memory_epoch + 1))
