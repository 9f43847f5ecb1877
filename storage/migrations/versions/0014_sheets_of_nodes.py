"""What workers measured about their devices."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add the column."""
    op.add_column("nodes", sa.Column("sheet", sa.Text(), nullable=True))


def downgrade() -> None:
    """Drop it."""
    op.drop_column("nodes", "sheet")
