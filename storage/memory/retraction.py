"""Taking experiences out of recall and back, and evaluations out of the value log. Functions over the caller's
transaction."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, insert, select, update

from services.domain.referees import is_proof
from services.domain.value_log import RetractionEntry
from storage.db.pgvector_schema import drop_vectors
from storage.db.statements import chunks
from storage.memory.rows import UNPROVEN
from storage.memory.value_log import append_entry
from storage.tables import experiences, memory_audit, memory_log, teams

RETRACTED = "retracted"


def retract_evaluation(
    connection: Connection, team_id: str, evaluation: str, reason: str, actor: str, at: datetime
) -> bool:
    """Undo an evaluation's credit; False where it gave none, or is retracted already."""
    query = select(memory_log.c.entry).where(
        memory_log.c.team_id == team_id, memory_log.c.key == f"outcome/{evaluation}"
    )
    entry = connection.execute(query).scalar()
    if entry is None:
        return False
    set_state(connection, team_id, json.loads(entry)["made"], RETRACTED)
    return append_entry(
        connection,
        team_id,
        evaluation,
        lambda seq: RetractionEntry(seq=seq, evaluation_id=evaluation, reason=reason, actor=actor),
        at,
    )


def set_state(connection: Connection, team_id: str, names: Sequence[str], state: str) -> int:
    """Move experiences out of recall; how many moved."""
    moved = 0
    for chunk in chunks(list(names)):
        where = (experiences.c.team_id == team_id) & experiences.c.id.in_(chunk) & (experiences.c.state != state)
        found = list(connection.execute(select(experiences.c.id).where(where)).scalars())
        if found:
            connection.execute(update(experiences).where(experiences.c.id.in_(found)).values(state=state))
            drop_vectors(connection, found)
            moved += len(found)
    if moved:
        _look_again(connection, team_id)
    return moved


def renew_proof(connection: Connection, team_id: str, which: ColumnElement[bool], referee: int | None) -> None:
    """Note that a referee accepted again what an older one had accepted; it is recalled if that referee is today's."""
    old = select(experiences.c.id).where(experiences.c.team_id == team_id, which, UNPROVEN)
    names = list(connection.execute(old).scalars())
    if names and is_proof(referee):
        connection.execute(update(experiences).where(experiences.c.id.in_(names)).values(referee=referee))
        _look_again(connection, team_id)


def _look_again(connection: Connection, team_id: str) -> None:
    """Readers that hold the team's experiences read them anew."""
    bump = {"memory_epoch": teams.c.memory_epoch + 1}
    connection.execute(update(teams).where(teams.c.id == team_id).values(bump))


def audit_action(
    connection: Connection, team_id: str, action: str, subject: str, reason: str, actor: str, at: datetime
) -> None:
    """Note what was changed by hand."""
    row = {"team_id": team_id, "action": action, "subject": subject, "reason": reason, "actor": actor, "at": at}
    connection.execute(insert(memory_audit).values(row))
