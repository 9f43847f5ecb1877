"""The tables that pgvector searches, where the database is PostgreSQL and has the extension; elsewhere nothing.

They are derived from the experiences and their vectors. `kernelwright db upgrade` makes them later too, when the
extension comes after this migration.
"""

from __future__ import annotations

from alembic import op

from storage.db.pgvector_schema import install, uninstall

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make them where they can be used."""
    install(op.get_bind())


def downgrade() -> None:
    """Drop them."""
    uninstall(op.get_bind())
