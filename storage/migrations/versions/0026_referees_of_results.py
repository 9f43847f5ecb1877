"""The referee that accepted a result last, in columns of evaluations and experiences."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

from services.domain.referees import referee_number

revision = "0026"
down_revision = "0025"

BATCH = 500
_EVALUATIONS = sa.table(
    "evaluations", *map(sa.column, ("id", "team_id", "candidate_id", "verdict", "report", "referee"))
)
_VERIFICATIONS = sa.table("verifications", *map(sa.column, ("id", "evaluation_id", "report")))
_EXPERIENCES = sa.table("experiences", *map(sa.column, ("team_id", "candidate_id", "verdict", "referee")))
_ACCEPTED = "accepted"


def upgrade() -> None:
    """Add the columns and the index, and fill the columns from the reports; what cannot be found out stays open."""
    for table in ("evaluations", "experiences"):
        op.add_column(table, sa.Column("referee", sa.Integer(), nullable=True))
    used = sa.text("verdict = 'accepted' AND state = 'active'")
    op.create_index(
        "ix_experiences_accepted", "experiences", ["team_id", "referee"], sqlite_where=used, postgresql_where=used
    )
    _fill_evaluations()
    _fill_experiences()


def downgrade() -> None:
    """Drop them."""
    op.drop_index("ix_experiences_accepted", "experiences")
    for table in ("experiences", "evaluations"):
        op.drop_column(table, "referee")


def _fill_evaluations() -> None:
    bind, own = op.get_bind(), _EVALUATIONS.c
    last = ""
    while True:
        query = sa.select(own.id, own.report).where(own.id > last, own.verdict == _ACCEPTED)
        rows = bind.execute(query.order_by(own.id).limit(BATCH)).all()
        if not rows:
            return
        reports = {row.id: row.report for row in rows}
        again = sa.select(_VERIFICATIONS).where(_VERIFICATIONS.c.evaluation_id.in_(reports))
        # An evaluation that is still accepted held each time; the latest counts.
        reports |= {row.evaluation_id: row.report for row in bind.execute(again.order_by(_VERIFICATIONS.c.id))}
        for name, report in reports.items():
            bind.execute(sa.update(_EVALUATIONS).where(own.id == name).values(referee=_referee(json.loads(report))))
        last = rows[-1].id


def _referee(report: dict[str, Any]) -> int | None:
    return referee_number((report.get("environment") or {}).get("referee_version"))


def _fill_experiences() -> None:
    made, judged = _EXPERIENCES.c, _EVALUATIONS.c
    accepted = (judged.candidate_id == made.candidate_id, judged.team_id == made.team_id, judged.verdict == _ACCEPTED)
    referee = sa.select(sa.func.max(judged.referee)).where(*accepted).scalar_subquery()
    whose = (made.verdict == _ACCEPTED) & made.candidate_id.is_not(None)
    op.get_bind().execute(sa.update(_EXPERIENCES).where(whose).values(referee=referee))
