"""The tables: one schema for SQLite and PostgreSQL.

Every row carries `team_id`. Whole domain values are kept as JSON text written by `services.domain.codec`; what is
filtered, joined or summed has a column of its own. Large texts (sources, prompts, replies) are rows of `blobs`, keyed
by content hash, so that a text is kept once however many rows name it.
"""

from storage.tables.content_tables import blobs, doomed_files
from storage.tables.job_tables import (
    candidates,
    checkpoint_writes,
    checkpoints,
    deleted_jobs,
    evaluations,
    events,
    job_artefacts,
    jobs,
    model_calls,
    model_requests,
    step_experiences,
    steps,
    verifications,
)
from storage.tables.memory_tables import (
    embeddings,
    experiences,
    memory_audit,
    memory_log,
    memory_shares,
    memory_snapshots,
)
from storage.tables.schema import metadata
from storage.tables.team_tables import (
    api_tokens,
    audit_log,
    members,
    playground_calls,
    quotas,
    report_shares,
    sessions,
    teams,
    users,
    webhook_deliveries,
    webhooks,
)
from storage.tables.work_tables import device_shares, nodes, work_orders

__all__ = [
    "api_tokens",
    "audit_log",
    "blobs",
    "candidates",
    "checkpoint_writes",
    "checkpoints",
    "deleted_jobs",
    "device_shares",
    "doomed_files",
    "embeddings",
    "evaluations",
    "events",
    "experiences",
    "job_artefacts",
    "jobs",
    "members",
    "memory_audit",
    "memory_log",
    "memory_shares",
    "memory_snapshots",
    "metadata",
    "model_calls",
    "model_requests",
    "nodes",
    "playground_calls",
    "quotas",
    "report_shares",
    "sessions",
    "step_experiences",
    "steps",
    "teams",
    "users",
    "verifications",
    "webhook_deliveries",
    "webhooks",
    "work_orders",
]
