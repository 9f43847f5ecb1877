"""Workers choose what they take: what teams used of each device, and no record of wake-ups any more."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from storage.migrations.columns import columns

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Add the table, the columns and the index; orders that are there wait as before."""
    op.create_table(
        "device_shares",
        *columns(sa.Text(), "team_id", "device"),
        *columns(sa.Float(), "used_s", "began_s", "mean_s"),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_device_shares_team_id")),
        sa.PrimaryKeyConstraint("team_id", "device", name=op.f("pk_device_shares")),
    )
    op.add_column("work_orders", sa.Column("taken_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("work_orders", sa.Column("charged_s", sa.Float(), server_default="0", nullable=False))
    op.drop_column("work_orders", "rung_at")
    op.create_index(op.f("ix_work_orders_device_status"), "work_orders", ["device", "status"])


def downgrade() -> None:
    """Drop them; wake-ups count as never sent."""
    op.drop_index(op.f("ix_work_orders_device_status"), "work_orders")
    op.add_column("work_orders", sa.Column("rung_at", sa.DateTime(timezone=True), nullable=True))
    op.drop_column("work_orders", "charged_s")
    op.drop_column("work_orders", "taken_at")
    op.drop_table("device_shares")
