"""PostgreSQL: the texts that work orders name, for nodes that may read no others (`storage/roles/worker.sql`)."""

from __future__ import annotations

from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """Make the function; whoever is told to may call it."""
    if op.get_bind().dialect.name != "postgresql":
        return
    op.execute(
        "CREATE FUNCTION order_texts(team text, hashes text[]) RETURNS TABLE (hash text, content bytea) "
        "LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$ "
        "SELECT b.hash, b.content FROM blobs b WHERE b.team_id = team AND b.hash = ANY (hashes) AND EXISTS ("
        "SELECT FROM work_orders o WHERE o.team_id = b.team_id AND (o.problem_hash = b.hash OR o.source_hash = b.hash)"
        ") $$"
    )
    op.execute("REVOKE EXECUTE ON FUNCTION order_texts(text, text[]) FROM PUBLIC")


def downgrade() -> None:
    """Drop it: earlier versions read contents themselves."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION order_texts(text, text[])")
