"""PostgreSQL's audit log refuses TRUNCATE, which no row's trigger sees; SQLite has no such statement."""

from __future__ import annotations

from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Add the trigger."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE TRIGGER audit_log_no_truncate BEFORE TRUNCATE ON audit_log "
            "FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change()"
        )


def downgrade() -> None:
    """Drop it."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP TRIGGER audit_log_no_truncate ON audit_log")
