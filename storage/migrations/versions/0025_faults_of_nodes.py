"""Why a node refused to work, or was refused."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    """Add the column; nodes that are there have been let in."""
    op.add_column("nodes", sa.Column("fault", sa.Text()))


def downgrade() -> None:
    """Forget nodes that were refused, whose state earlier versions do not know, and drop the column."""
    op.execute("DELETE FROM nodes WHERE state = 'refused'")
    with op.batch_alter_table("nodes") as table:
        table.drop_column("fault")
