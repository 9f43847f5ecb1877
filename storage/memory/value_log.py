"""The value log as rows: appended in the transaction of what it tells of, read in order. Functions over a connection.

Entries are numbered under the lock of the team's row, so numbers have no gaps and are committed in order; an entry's
key is unique in its log, so an evaluation counts once, whatever is retried, redelivered or resumed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection, bindparam, insert, select, update

from services.domain.codec import dumps, loads
from services.domain.experiences import ExperienceKind, experience_id
from services.domain.steps import StepRecord
from services.domain.value_log import LogEntry, MergeEntry, OutcomeEntry, PriorEntry, RetractionEntry
from services.memory.outcome import outcome_entry
from storage.tables import experiences, memory_log, teams

KINDS: dict[str, type[LogEntry]] = {
    "outcome": OutcomeEntry,
    "retraction": RetractionEntry,
    "merge": MergeEntry,
    "prior": PriorEntry,
}
_NAMES = {kind: name for name, kind in KINDS.items()}

_LOCKED = select(teams.c.log_seq).where(teams.c.id == bindparam("team")).with_for_update(key_share=True)
_KNOWN = select(memory_log.c.seq).where(memory_log.c.team_id == bindparam("team"), memory_log.c.key == bindparam("key"))
_INSERT = insert(memory_log)
_NUMBER = update(teams).where(teams.c.id == bindparam("team")).values(log_seq=bindparam("newest"))
_SHEETS = select(experiences.c.id).where(
    experiences.c.id.in_(bindparam("used", expanding=True)), experiences.c.kind == str(ExperienceKind.API_TEMPLATE)
)
_TRACE = select(experiences.c.id).where(
    experiences.c.id == bindparam("trace"), experiences.c.team_id == bindparam("team")
)
_NEWER = (
    select(memory_log.c.kind, memory_log.c.entry)
    .where(memory_log.c.team_id == bindparam("team"), memory_log.c.seq > bindparam("after"))
    .order_by(memory_log.c.seq)
)


def append_entry(
    connection: Connection, team_id: str, subject: str, make: Callable[[int], LogEntry | None], at: datetime
) -> bool:
    """Append what `make` gives for the next number; False where the log has an entry about the subject already.

    The team's row stays locked until the transaction ends: two writers never see the same next number."""
    seq: int = connection.execute(_LOCKED, {"team": team_id}).scalar_one() + 1
    entry = make(seq)
    if entry is None:
        return False
    kind = _NAMES[type(entry)]
    key = f"{kind}/{subject}"
    if connection.execute(_KNOWN, {"team": team_id, "key": key}).first() is not None:
        return False
    row = {"team_id": team_id, "seq": seq, "key": key, "kind": kind, "entry": dumps(entry), "at": at}
    connection.execute(_INSERT, row)
    connection.execute(_NUMBER, {"team": team_id, "newest": seq})
    return True


def append_outcome(connection: Connection, record: StepRecord, made: Sequence[str], at: datetime) -> bool:
    """Append what a step teaches, if it teaches anything. `made`: ids of the experiences that are new with it."""
    lesson, step = record.lesson, record.step
    if lesson is None or step.evaluation_id is None:
        return False
    # API sheets come by name, not by value: rewarding them would only blur what the others did.
    used = [] if lesson.holdout else _without_sheets(connection, step.experiences_used)
    counted = replace(step, experiences_used=tuple(used))
    start_point = _trace_of(connection, step.team_id, step.start_point)
    similarities = {use.experience_id: use.similarity for use in record.uses}

    def make(seq: int) -> OutcomeEntry | None:
        return outcome_entry(seq, counted, lesson, similarities=similarities, start_point=start_point, made=tuple(made))

    return append_entry(connection, step.team_id, step.evaluation_id, make, at)


def read_log(connection: Connection, team_id: str, after: int = 0) -> list[LogEntry]:
    """The entries behind a number, in order."""
    rows = connection.execute(_NEWER, {"team": team_id, "after": after})
    return [loads(KINDS[kind], entry) for kind, entry in rows]


def _without_sheets(connection: Connection, used: Sequence[str]) -> list[str]:
    if not used:
        return []
    left_out = set(connection.execute(_SHEETS, {"used": list(used)}).scalars())
    return [name for name in dict.fromkeys(used) if name not in left_out]


def _trace_of(connection: Connection, team_id: str, candidate: str | None) -> str | None:
    """The trace experience of an accepted candidate; None for a start point that has none."""
    if candidate is None:
        return None
    trace = experience_id(candidate, ExperienceKind.TRACE)
    found = connection.execute(_TRACE, {"trace": trace, "team": team_id}).first()
    return trace if found is not None else None
