"""Experiences as rows and back. Functions over the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, bindparam, insert, or_, select, update

from services.domain.evaluations import Verdict
from services.domain.experiences import Experience
from services.domain.referees import CURRENT
from storage.contents.blobs import ensure_team, get_texts, put_texts
from storage.db.mapping import row_of, value_of
from storage.tables import experiences, teams

OUTLINE = tuple(column for column in experiences.c if column.name not in {"text", "code_hash", "content_key"})
"""Columns of an experience without what is long."""
PROVEN = or_(
    experiences.c.verdict.is_(None),
    experiences.c.verdict != str(Verdict.ACCEPTED),
    experiences.c.referee >= CURRENT,
)
"""All but what only an older referee or the problem itself vouches for: `Experience.is_unproven` has the rule."""
UNPROVEN = (experiences.c.verdict == str(Verdict.ACCEPTED)) & or_(
    experiences.c.referee.is_(None), experiences.c.referee < CURRENT
)
"""What only an older referee or the problem itself vouches for."""

_LOCKED = select(teams.c.memory_seq).where(teams.c.id == bindparam("team")).with_for_update(key_share=True)
_NUMBER = update(teams).where(teams.c.id == bindparam("team")).values(memory_seq=bindparam("newest"))
_SEEN = select(experiences.c.id, experiences.c.content_key).where(
    or_(
        experiences.c.id.in_(bindparam("ids", expanding=True)),
        (experiences.c.team_id == bindparam("team"))
        & experiences.c.content_key.in_(bindparam("contents", expanding=True)),
    )
)
_INSERT = insert(experiences)


def outlined(row: Row[Any]) -> Experience:
    """An experience of which only the `OUTLINE` was read."""
    return _experience(row, None, text="")


def insert_experiences(connection: Connection, new: Sequence[Experience]) -> list[str]:
    """Store what is not known yet, by id and by content; the ids of what was new.

    The team's row is locked for the rest of the transaction, so that the numbers it hands out are committed in order.
    """
    teams_in_order = sorted({item.team_id for item in new})
    return [name for team in teams_in_order for name in _insert_of_team(connection, team, new)]


def _insert_of_team(connection: Connection, team_id: str, new: Sequence[Experience]) -> list[str]:
    given = [item for item in new if item.team_id == team_id]
    number: int | None = connection.execute(_LOCKED, {"team": team_id}).scalar_one_or_none()
    if number is None:
        ensure_team(connection, team_id, given[0].created_at)
        number = connection.execute(_LOCKED, {"team": team_id}).scalar_one()
    fresh = _unknown(connection, team_id, given)
    if not fresh:
        return []
    rows = [_to_row(connection, item, number + offset) for offset, item in enumerate(fresh, start=1)]
    connection.execute(_INSERT, rows)
    connection.execute(_NUMBER, {"team": team_id, "newest": number + len(fresh)})
    return [item.id for item in fresh]


def _unknown(connection: Connection, team_id: str, given: Sequence[Experience]) -> list[Experience]:
    known = {"team": team_id, "ids": [item.id for item in given], "contents": [item.content_key for item in given]}
    seen = {value for row in connection.execute(_SEEN, known) for value in (row.id, row.content_key)}
    fresh = []
    for item in given:
        if item.id not in seen and item.content_key not in seen:
            seen.update((item.id, item.content_key))
            fresh.append(item)
    return fresh


def experiences_from_rows(connection: Connection, rows: Sequence[Row[Any]]) -> tuple[Experience, ...]:
    """Experiences with their code, in the order of their rows."""
    texts = {
        team: get_texts(connection, team, [row.code_hash for row in rows if row.team_id == team])
        for team in {row.team_id for row in rows}
    }
    return tuple(_experience(row, None if row.code_hash is None else texts[row.team_id][row.code_hash]) for row in rows)


def _to_row(connection: Connection, item: Experience, number: int) -> dict[str, Any]:
    code_hash = None if item.code is None else put_texts(connection, item.team_id, [item.code])[0]
    return row_of(
        experiences,
        item,
        number=number,
        content_key=item.content_key,
        code_hash=code_hash,
        moves=json.dumps(item.moves),
        used=json.dumps(item.used),
    )


def _experience(row: Row[Any], code: str | None, **own: str) -> Experience:
    moves, used = tuple(json.loads(row.moves)), tuple(json.loads(row.used))
    return value_of(Experience, row, code=code, moves=moves, used=used, **own)
