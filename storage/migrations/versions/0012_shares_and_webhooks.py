"""Links to reports, and webhooks with what was sent to them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from storage.migrations.columns import columns

revision = "0012"
down_revision = "0010"


def upgrade() -> None:
    """Add the tables."""
    op.create_table(
        "report_shares",
        *columns(sa.Text(), "id", "team_id", "job_id", "digest"),
        *columns(sa.DateTime(timezone=True), "created_at", "expires_at"),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_report_shares_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_report_shares")),
        sa.UniqueConstraint("digest", name=op.f("uq_report_shares_digest")),
    )
    op.create_index(op.f("ix_report_shares_team_id_job_id"), "report_shares", ["team_id", "job_id"])
    op.create_table(
        "webhooks",
        *columns(sa.Text(), "id", "team_id", "url", "kinds", "secret"),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_webhooks_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhooks")),
    )
    op.create_index(op.f("ix_webhooks_team_id"), "webhooks", ["team_id"])
    op.create_table(
        "webhook_deliveries",
        *columns(sa.Text(), "id", "team_id", "webhook_id"),
        sa.Column("job_id", sa.Text(), nullable=True),
        *columns(sa.Text(), "kind", "body", "status"),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("answer", sa.Integer(), nullable=True),
        sa.Column("fault", sa.Text(), nullable=True),
        *columns(sa.DateTime(timezone=True), "created_at", "due_at"),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_webhook_deliveries_team_id")),
        sa.ForeignKeyConstraint(
            ["webhook_id"], ["webhooks.id"], name=op.f("fk_webhook_deliveries_webhook_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_deliveries")),
    )
    op.create_index(
        op.f("ix_webhook_deliveries_webhook_id_created_at"), "webhook_deliveries", ["webhook_id", "created_at"]
    )
    op.create_index(op.f("ix_webhook_deliveries_status_due_at"), "webhook_deliveries", ["status", "due_at"])


def downgrade() -> None:
    """Drop them."""
    for table in ("webhook_deliveries", "webhooks", "report_shares"):
        op.drop_table(table)
