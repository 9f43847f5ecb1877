"""Devices whose work orders a node's token may take."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    """Add the column; tokens that are there are no nodes'."""
    op.add_column("api_tokens", sa.Column("devices", sa.Text(), server_default="[]", nullable=False))


def downgrade() -> None:
    """Revoke nodes' tokens, whose scope earlier versions do not know, and drop the column."""
    op.execute("DELETE FROM api_tokens WHERE devices <> '[]'")
    with op.batch_alter_table("api_tokens") as table:
        table.drop_column("devices")
