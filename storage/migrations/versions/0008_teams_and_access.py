"""Users, members, tokens, sessions, an append-only audit log, quotas and what they are counted by."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from storage.migrations.columns import columns

revision = "0008"
down_revision = "0007"

MOMENT = sa.DateTime(timezone=True)
REFUSAL = "the audit log is append-only"


def upgrade() -> None:
    """Add the tables, the column and the index."""
    _people()
    _keys()
    _books()
    op.add_column("evaluations", sa.Column("device_s", sa.Float(), server_default="0", nullable=False))
    op.create_index(op.f("ix_steps_team_id_finished_at"), "steps", ["team_id", "finished_at"])
    _forbid_changes()


def downgrade() -> None:
    """Drop them."""
    op.drop_index(op.f("ix_steps_team_id_finished_at"), "steps")
    op.drop_column("evaluations", "device_s")
    for table in ("quotas", "audit_log", "sessions", "api_tokens", "members", "users"):
        op.drop_table(table)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION refuse_audit_change")


def _people() -> None:
    op.create_table(
        "users",
        *columns(sa.Text(), "id", "login", "name"),
        sa.Column("subject", sa.Text(), nullable=True),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("login", name=op.f("uq_users_login")),
        sa.UniqueConstraint("subject", name=op.f("uq_users_subject")),
    )
    op.create_table(
        "members",
        *columns(sa.Text(), "team_id", "user_id", "role"),
        sa.Column("since", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_members_team_id")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_members_user_id")),
        sa.PrimaryKeyConstraint("team_id", "user_id", name=op.f("pk_members")),
    )
    op.create_index(op.f("ix_members_user_id"), "members", ["user_id"])


def _keys() -> None:
    op.create_table(
        "api_tokens",
        *columns(sa.Text(), "id", "team_id"),
        sa.Column("user_id", sa.Text(), nullable=True),
        *columns(sa.Text(), "name", "digest", "scopes"),
        sa.Column("created_at", MOMENT, nullable=False),
        *columns(MOMENT, "expires_at", "revoked_at", "used_at", nullable=True),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_api_tokens_team_id")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_api_tokens_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_tokens")),
    )
    op.create_index(op.f("ix_api_tokens_team_id_created_at"), "api_tokens", ["team_id", "created_at"])
    op.create_table(
        "sessions",
        *columns(sa.Text(), "digest", "user_id"),
        sa.Column("team_id", sa.Text(), nullable=True),
        *columns(MOMENT, "created_at", "expires_at"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_sessions_user_id")),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_sessions_team_id")),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_sessions")),
    )
    op.create_index(op.f("ix_sessions_user_id"), "sessions", ["user_id"])
    op.create_index(op.f("ix_sessions_expires_at"), "sessions", ["expires_at"])


def _books() -> None:
    op.create_table(
        "audit_log",
        sa.Column("id", sa.Integer(), nullable=False),
        *columns(sa.Text(), "team_id", "actor", "action", "subject", "detail"),
        sa.Column("at", MOMENT, nullable=False),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_audit_log_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_log")),
    )
    op.create_index(op.f("ix_audit_log_team_id_id"), "audit_log", ["team_id", "id"])
    op.create_table(
        "quotas",
        *columns(sa.Text(), "team_id", "resource", "period"),
        sa.Column("most", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_quotas_team_id")),
        sa.PrimaryKeyConstraint("team_id", "resource", "period", name=op.f("pk_quotas")),
    )


def _forbid_changes() -> None:
    """Whoever has only this program's hands cannot unsay what was done."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION '{REFUSAL}' USING ERRCODE = 'integrity_constraint_violation'; END $$"
        )
        op.execute(
            "CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE ON audit_log "
            "FOR EACH ROW EXECUTE FUNCTION refuse_audit_change()"
        )
        return
    for act in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER audit_log_no_{act.lower()} BEFORE {act} ON audit_log "
            f"BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END"
        )
