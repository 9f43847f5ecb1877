"""Teams have weights: their shares of devices and orchestrators. Validations are charged by themselves."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Every team counts the same until somebody says otherwise."""
    op.add_column("teams", sa.Column("weight", sa.Float(), server_default="1", nullable=False))
    op.add_column("device_shares", sa.Column("validation_s", sa.Float(), server_default="0", nullable=False))


def downgrade() -> None:
    """Drop it: teams count the same again."""
    op.drop_column("device_shares", "validation_s")
    op.drop_column("teams", "weight")
