"""Listings and deletion by index: the text that jobs are searched by, and who names which content."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

INDEXES = (
    ("jobs", "source_hash"),
    ("jobs", "seed_hash"),
    ("candidates", "source_hash"),
    ("evaluations", "job_id"),
    ("evaluations", "source_hash"),
    ("evaluations", "problem_hash"),
    ("model_calls", "prompt_blob"),
    ("model_calls", "reply_blob"),
    ("experiences", "code_hash"),
    ("job_artefacts", "hash"),
    ("work_orders", "problem_hash"),
    ("work_orders", "source_hash"),
    ("model_requests", "prompt_blob"),
    ("model_requests", "start_blob"),
    ("model_requests", "reply_blob"),
)
"""(table, column)."""
BATCH = 1000
TRIGRAMS = """
DO $$ BEGIN
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
    CREATE INDEX IF NOT EXISTS ix_jobs_search ON jobs USING gin (search gin_trgm_ops);
EXCEPTION WHEN OTHERS THEN
    RAISE NOTICE 'searches of job listings stay without an index: %', SQLERRM;
END $$
"""


def upgrade() -> None:
    """Add the column, fill it from the specifications, and add the indexes."""
    with op.batch_alter_table("jobs") as batch:
        batch.add_column(sa.Column("search", sa.Text(), nullable=False, server_default=""))
    _fill()
    for table, column in INDEXES:
        op.create_index(f"ix_{table}_{column}", table, [column])
    if op.get_bind().dialect.name == "postgresql":
        op.execute(TRIGRAMS)


def downgrade() -> None:
    """Drop them."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP INDEX IF EXISTS ix_jobs_search")
    for table, column in INDEXES:
        op.drop_index(f"ix_{table}_{column}", table_name=table)
    with op.batch_alter_table("jobs") as batch:
        batch.drop_column("search")


def _fill() -> None:
    bind = op.get_bind()
    jobs = sa.table("jobs", sa.column("id"), sa.column("name"), sa.column("spec"), sa.column("search"))
    last = ""
    while True:
        rows = bind.execute(sa.select(jobs).where(jobs.c.id > last).order_by(jobs.c.id).limit(BATCH)).all()
        if not rows:
            return
        for row in rows:
            bind.execute(sa.update(jobs).where(jobs.c.id == row.id).values(search=_searched(row)))
        last = rows[-1].id


def _searched(row: sa.Row[tuple[str, str, str, str]]) -> str:
    spec = json.loads(row.spec)
    names = [spec.get(key) or "" for key in ("backend", "device", "model", "strategy")]
    return "\n".join([row.id, row.name, *names, *(spec.get("tags") or [])]).casefold()
