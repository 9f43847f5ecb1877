"""Teams, their people and what opens the API to them; quotas, links to reports, webhooks, the audit log."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Float, ForeignKey, Index, Integer, Table, Text, UniqueConstraint

from storage.db.column_types import CleanText, UtcDateTime
from storage.tables.schema import metadata, team_column

teams = Table(
    "teams",
    metadata,
    Column("id", Text, primary_key=True),
    Column("memory_seq", Integer, nullable=False, server_default="0"),
    Column("log_seq", Integer, nullable=False, server_default="0"),
    Column("memory_epoch", Integer, nullable=False, server_default="0"),
    Column("created_at", UtcDateTime, nullable=False),
    Column("served_at", UtcDateTime),
    Column("weight", Float, nullable=False, server_default="1"),
)
"""`memory_seq` and `log_seq` number the team's experiences and value log; `memory_epoch` grows whenever experiences
leave recall, so that readers who hold them look again. `served_at`: when an orchestrator last took one of its jobs.
`weight`: its share beside the others'."""

users = Table(
    "users",
    metadata,
    Column("id", Text, primary_key=True),
    Column("login", Text, nullable=False),
    Column("name", CleanText, nullable=False),
    Column("subject", CleanText),
    Column("created_at", UtcDateTime, nullable=False),
    UniqueConstraint("login"),
    UniqueConstraint("subject"),
)
"""People; the only rows without a team, for one person may belong to several."""

members = Table(
    "members",
    metadata,
    Column("team_id", Text, ForeignKey("teams.id"), primary_key=True),
    Column("user_id", Text, ForeignKey("users.id"), primary_key=True),
    Column("role", Text, nullable=False),
    Column("since", UtcDateTime, nullable=False),
    Index(None, "user_id"),
)

api_tokens = Table(
    "api_tokens",
    metadata,
    Column("id", Text, primary_key=True),
    team_column(),
    Column("user_id", Text, ForeignKey("users.id")),
    Column("name", CleanText, nullable=False),
    Column("digest", Text, nullable=False),
    Column("scopes", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime),
    Column("revoked_at", UtcDateTime),
    Column("used_at", UtcDateTime),
    Column("devices", Text, nullable=False, server_default="[]"),
    Index(None, "team_id", "created_at"),
)
"""`digest`: SHA-256 of the whole token, which has 256 random bits of its own: nothing that guessing could find."""

sessions = Table(
    "sessions",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("user_id", Text, ForeignKey("users.id"), nullable=False),
    Column("team_id", Text, ForeignKey("teams.id")),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),
    Index(None, "user_id"),
    Index(None, "expires_at"),
)
"""Browsers that have signed in; `digest` is the SHA-256 of the cookie. `team_id`: the team that is looked at."""

quotas = Table(
    "quotas",
    metadata,
    Column("team_id", Text, ForeignKey("teams.id"), primary_key=True),
    Column("resource", Text, primary_key=True),
    Column("period", Text, primary_key=True),
    Column("most", Float, nullable=False),
)

playground_calls = Table(
    "playground_calls",
    metadata,
    Column("id", Integer, primary_key=True),
    team_column(),
    Column("made_at", UtcDateTime, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("dollars", Float),
    Index(None, "team_id", "made_at"),
)
"""Model calls of the playground, which belong to no job's record: what they used counts towards quotas."""
"""What a team may use in a day or month (UTC)."""

report_shares = Table(
    "report_shares",
    metadata,
    Column("id", Text, primary_key=True),
    team_column(),
    Column("job_id", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),
    Column("revoked_at", UtcDateTime),
    UniqueConstraint("digest"),
    Index(None, "team_id", "job_id"),
)
"""Links to reports; of their tokens only a hash is kept. A link to a job that is gone shows nothing."""

webhooks = Table(
    "webhooks",
    metadata,
    Column("id", Text, primary_key=True),
    team_column(),
    Column("url", CleanText, nullable=False),
    Column("kinds", Text, nullable=False),
    Column("conditions", Text, nullable=False, server_default="{}"),
    Column("secret", Text, nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("note", CleanText),
    Column("created_at", UtcDateTime, nullable=False),
    Index(None, "team_id"),
)
"""Who is told of events, under which conditions (JSON). `note`: why it was switched off, where we did that."""

webhook_deliveries = Table(
    "webhook_deliveries",
    metadata,
    Column("id", Text, primary_key=True),
    team_column(),
    Column("webhook_id", Text, ForeignKey("webhooks.id", ondelete="CASCADE"), nullable=False),
    Column("job_id", Text),
    Column("kind", Text, nullable=False),
    Column("body", CleanText, nullable=False),
    Column("status", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("answer", Integer),
    Column("fault", CleanText),
    Column("created_at", UtcDateTime, nullable=False),
    Column("due_at", UtcDateTime, nullable=False),
    Column("ended_at", UtcDateTime),
    Index(None, "webhook_id", "created_at"),
    Index(None, "status", "due_at"),
)
"""What is to be told to whom, written with the event it tells of; `due_at`: when it is tried next, or again where
whoever tries it now has died."""

audit_log = Table(
    "audit_log",
    metadata,
    Column("id", Integer, primary_key=True),
    team_column(),
    Column("actor", CleanText, nullable=False),
    Column("action", Text, nullable=False),
    Column("subject", CleanText, nullable=False),
    Column("detail", CleanText, nullable=False),
    Column("at", UtcDateTime, nullable=False),
    Index(None, "team_id", "id"),
)
"""Who did what, when, to which object. Triggers refuse to change or delete a row."""
