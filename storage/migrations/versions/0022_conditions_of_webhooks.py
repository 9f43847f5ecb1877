"""When a webhook fires."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """Add the column; webhooks that are there keep firing always."""
    op.add_column("webhooks", sa.Column("conditions", sa.Text(), server_default="{}", nullable=False))


def downgrade() -> None:
    """Drop it: earlier versions tell receivers of everything."""
    with op.batch_alter_table("webhooks") as table:
        table.drop_column("conditions")
