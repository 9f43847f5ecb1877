"""Successes leave recall: the trace of an accepted candidate tells the same, with its code. An unused table goes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from storage.db.pgvector_schema import drop_vectors

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

BATCH = 1000
_EXPERIENCES = sa.table("experiences", *map(sa.column, ("id", "team_id", "kind", "state")))
_TEAMS = sa.table("teams", *map(sa.column, ("id", "memory_epoch")))


def upgrade() -> None:
    """Forget the successes, and tell readers that hold them."""
    bind = op.get_bind()
    active = (_EXPERIENCES.c.kind == "success") & (_EXPERIENCES.c.state == "active")
    teams = set(bind.execute(sa.select(_EXPERIENCES.c.team_id).where(active).distinct()).scalars())
    while names := list(bind.execute(sa.select(_EXPERIENCES.c.id).where(active).limit(BATCH)).scalars()):
        bind.execute(sa.update(_EXPERIENCES).where(_EXPERIENCES.c.id.in_(names)).values(state="forgotten"))
        drop_vectors(bind, names)
    for team in teams:
        bind.execute(sa.update(_TEAMS).where(_TEAMS.c.id == team).values(memory_epoch=_TEAMS.c.memory_epoch + 1))
    op.drop_table("idempotency_keys")


def downgrade() -> None:
    """Bring the table back. What is forgotten stays so: earlier versions recall traces as well."""
    op.create_table(
        "idempotency_keys",
        sa.Column("team_id", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("resource_id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_idempotency_keys_team_id")),
        sa.PrimaryKeyConstraint("team_id", "key", name=op.f("pk_idempotency_keys")),
    )
