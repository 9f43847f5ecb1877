"""Retention: parts of ended jobs that are kept for a time only.

Each job's part goes in the transaction that marks it as gone, so a round that was interrupted is taken up where it
stopped, and rounds of several processes at a time do nothing twice. Files go after their rows (`doomed_files`).
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from sqlalchemy import Connection, Select, delete, select, update

from services.domain.deletion import Expired, Retention
from services.domain.events import EventKind
from services.ports.runtime import Clock
from storage.contents.blobs import file_name, put_texts
from storage.contents.files import ArtefactFiles
from storage.contents.references import OF_ARTEFACTS, OF_TRAJECTORY, contents_of, remove_unused
from storage.database import Database
from storage.tables import blobs, checkpoint_writes, checkpoints, doomed_files, events, job_artefacts, jobs, model_calls
from storage.tables import steps as step_rows

log = logging.getLogger(__name__)

PAUSE_S = 60.0
"""How often it is looked for what has expired."""
EVENTS, TRAJECTORIES, ARTEFACTS = 1, 2, 4
"""Bits of `jobs.expired`."""
NO_PROMPT, NO_REPLY = "[]", ""
"""What is read in place of a prompt and a reply that have expired."""

Remove = Callable[[Connection, str, Sequence[str]], int]


class RetentionRounds:
    """Removes what has expired. Several at a time do no harm."""

    def __init__(
        self, database: Database, clock: Clock, kept: Retention, *, files: ArtefactFiles | None = None
    ) -> None:
        self._database = database
        self._clock = clock
        self._kept = kept
        self._files = files

    async def expire_all(self) -> Expired:
        """Remove all that has expired by now, round after round."""
        total = Expired()
        while (found := await self.expire()) != Expired():
            total = Expired(
                jobs=total.jobs + found.jobs,
                contents=total.contents + found.contents,
                files=total.files + found.files,
            )
        if total != Expired():
            log.info("retention: %d jobs, %d contents, %d files", total.jobs, total.contents, total.files)
        return total

    async def expire(self, limit: int = 50) -> Expired:
        """One round: what has expired of so many jobs of each kind at most, each job's part whole or not at all."""
        kept = self._kept
        jobs_seen = contents = 0
        for bit, days, remove in (
            (EVENTS, kept.events_days, _remove_events),
            (TRAJECTORIES, kept.trajectories_days, _remove_trajectories),
            (ARTEFACTS, kept.artefacts_days, _remove_artefacts),
        ):
            if days is not None:
                before = self._clock.now() - timedelta(days=days)
                count, removed = await self._database.write(_round(bit, before, limit, remove))
                jobs_seen, contents = jobs_seen + count, contents + removed
        return Expired(jobs=jobs_seen, contents=contents, files=await self.remove_files(limit))

    async def remove_files(self, limit: int = 50) -> int:
        """Remove files whose rows are gone; how many. Whoever keeps such a content again meanwhile waits, and writes
        its file anew."""
        if self._files is None:
            return 0
        files = self._files
        query = select(doomed_files).limit(limit).with_for_update(skip_locked=True)

        def work(connection: Connection) -> int:
            rows = connection.execute(query).all()
            for row in rows:
                mine = (blobs.c.team_id == row.team_id) & (blobs.c.hash == row.hash)
                if connection.execute(select(blobs.c.hash).where(mine)).first() is None:
                    files.remove(file_name(row.team_id, row.hash))
                gone = (doomed_files.c.team_id == row.team_id) & (doomed_files.c.hash == row.hash)
                connection.execute(delete(doomed_files).where(gone))
            return len(rows)

        if (
            await self._database.read(lambda connection: connection.execute(select(doomed_files.c.hash)).first())
            is None
        ):
            return 0
        return await self._database.write(work)


def _round(bit: int, before: datetime, limit: int, remove: Remove) -> Callable[[Connection], tuple[int, int]]:
    """A transaction that removes one part of some jobs: how many jobs, and how many contents with it."""
    query = expiring(bit, before).limit(limit).with_for_update(skip_locked=True)

    def work(connection: Connection) -> tuple[int, int]:
        by_team: dict[str, list[str]] = defaultdict(list)
        for row in connection.execute(query):
            by_team[row.team_id].append(row.id)
        removed = sum(remove(connection, team, found) for team, found in by_team.items())
        names = [name for found in by_team.values() for name in found]
        if names:
            marked = update(jobs).where(jobs.c.id.in_(names))
            connection.execute(marked.values(expired=jobs.c.expired.op("|")(bit)))
        return len(names), removed

    return work


def expiring(bit: int, before: datetime) -> Select[tuple[str, str]]:
    """Jobs that ended before a moment and have a part that is to go. They are found by index, however many jobs have
    expired: `jobs.expired` may have any of four values while the part is there."""
    there = [value for value in range(EVENTS | TRAJECTORIES | ARTEFACTS) if not value & bit]
    ended = select(jobs.c.id, jobs.c.team_id).where(jobs.c.finished_at < before, jobs.c.expired.in_(there))
    return ended.order_by(jobs.c.expired, jobs.c.finished_at)


def _remove_events(connection: Connection, _team: str, names: Sequence[str]) -> int:
    """All but the last, which tells a late follower that nothing comes any more."""
    going = events.c.job_id.in_(names) & (events.c.kind != str(EventKind.JOB_FINISHED))
    connection.execute(delete(events).where(going))
    return 0


def _remove_trajectories(connection: Connection, team: str, names: Sequence[str]) -> int:
    hashes = contents_of(connection, names, OF_TRAJECTORY)
    prompt, reply = put_texts(connection, team, [NO_PROMPT, NO_REPLY])
    calls = update(model_calls).where(model_calls.c.job_id.in_(names))
    connection.execute(calls.values(prompt_blob=prompt, reply_blob=reply))
    connection.execute(update(step_rows).where(step_rows.c.job_id.in_(names)).values(plan=None, critique=None))
    return remove_unused(connection, team, hashes).contents


def _remove_artefacts(connection: Connection, team: str, names: Sequence[str]) -> int:
    hashes = contents_of(connection, names, OF_ARTEFACTS)
    for table in (checkpoint_writes, checkpoints):
        connection.execute(delete(table).where(table.c.thread_id.in_(names)))
    connection.execute(delete(job_artefacts).where(job_artefacts.c.job_id.in_(names)))
    return remove_unused(connection, team, hashes).contents
