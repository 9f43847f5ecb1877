"""The `MemoryRecords` port over the database: lists, the log, retraction, exchange and shares of a team's memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from sqlalchemy import Connection, Select, delete, null, select

from services.domain.candidates import evaluation_id
from services.domain.errors import NotFoundError
from services.domain.evaluations import Verdict
from services.domain.experiences import (
    Experience,
    ExperienceFilter,
    ExperienceKind,
    ExperiencePage,
    ExportedValue,
    MemoryAction,
    MemoryLine,
    MemoryShare,
    StepUse,
)
from services.domain.practices import PracticeVersion, RewardedTrial
from services.domain.value_log import LogEntry, MergeEntry, PriorEntry
from services.memory.values import Values
from services.ports.runtime import Clock
from storage.contents.blobs import ensure_team
from storage.database import Database
from storage.db.cursors import behind, encode_cursor, newest_first
from storage.db.mapping import value_of
from storage.db.statements import chunks, insert_new
from storage.db.transactions import reads, writes
from storage.memory.numpy_index import ACTIVE
from storage.memory.retraction import RETRACTED, audit_action, renew_proof, retract_evaluation, set_state
from storage.memory.rows import OUTLINE, experiences_from_rows, insert_experiences, outlined
from storage.memory.snapshots import mark_tidied, untidied
from storage.memory.store import SqlMemory
from storage.memory.value_log import append_entry, read_log
from storage.tables import (
    candidates,
    embeddings,
    evaluations,
    experiences,
    memory_audit,
    memory_shares,
    step_experiences,
    steps,
    teams,
)

FORGOTTEN = "forgotten"
MERGED = "merged"


class SqlMemoryRecords:
    """The records of the teams' memories; each method is one transaction."""

    def __init__(self, database: Database, memory: SqlMemory, space: str, clock: Clock) -> None:
        """`space` names the embedder whose vectors are exported; `memory` holds the folded values."""
        self._database = database
        self._memory = memory
        self._space = space
        self._clock = clock

    @reads
    def page(
        self,
        connection: Connection,
        team_id: str,
        wanted: ExperienceFilter,
        *,
        limit: int = 50,
        cursor: str | None = None,
    ) -> ExperiencePage:
        """The team's own experiences in use, newest first. Raises `ConfigurationError` for a foreign cursor."""
        query = select(experiences).where(experiences.c.team_id == team_id, experiences.c.state == ACTIVE)
        for name in ("kind", "family", "backend", "verdict", "job_id"):
            value = getattr(wanted, name)
            if value is not None:
                query = query.where(experiences.c[name] == str(value))
        query = newest_first(behind(query, experiences, cursor), experiences).limit(limit + 1)
        found = experiences_from_rows(connection, connection.execute(query).all())
        page = found[:limit]
        last = encode_cursor(page[-1].created_at, page[-1].id) if len(found) > limit else None
        return ExperiencePage(experiences=page, next_cursor=last)

    async def log(self, team_id: str) -> tuple[LogEntry, ...]:
        """The complete value log."""
        return tuple(await self._database.read(lambda connection: read_log(connection, team_id)))

    async def values(self, team_id: str) -> Values:
        """The values of today; they go on being updated, so read them without awaiting."""
        return (await self._memory.learner(team_id)).values

    async def uses(self, team_id: str, experience_id: str, limit: int = 50) -> tuple[StepUse, ...]:
        """The team's steps that had an experience in their context, latest first."""
        used, made = step_experiences.c, steps.c
        query = (
            select(
                used.job_id, used.step, made.candidate_id, made.stage, used.similarity, used.value, made.verdict,
                made.reward, made.finished_at,
            )
            .join(steps, (made.job_id == used.job_id) & (made.step == used.step))
            .where(used.team_id == team_id, used.experience_id == experience_id)
            .order_by(made.finished_at.desc(), used.job_id, used.step.desc())
            .limit(limit)
        )  # fmt: skip
        return await self._uses(query)

    async def refined(self, team_id: str, experience: Experience, limit: int = 50) -> tuple[StepUse, ...]:
        """The team's steps that started from the kernel that a trace is about, latest first."""
        if experience.kind is not ExperienceKind.TRACE or experience.candidate_id is None:
            return ()
        made, nothing = steps.c, null()
        query = (
            select(
                made.job_id, made.step, made.candidate_id, made.stage, nothing.label("similarity"),
                nothing.label("value"), made.verdict, made.reward, made.finished_at,
            )
            # Only steps of the candidate's own job start from it.
            .where(made.team_id == team_id, made.job_id == experience.job_id)
            .where(made.start_point == experience.candidate_id)
            .order_by(made.finished_at.desc(), made.step.desc())
            .limit(limit)
        )  # fmt: skip
        return await self._uses(query)

    async def _uses(self, query: Select[Any]) -> tuple[StepUse, ...]:
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return tuple(value_of(StepUse, row, at=row.finished_at) for row in rows)

    async def outlines(self, team_id: str, experience_ids: Sequence[str]) -> tuple[Experience, ...]:
        """Those of the team's own experiences, in use or not, without text and code; in the order asked for."""
        query = select(*OUTLINE).where(experiences.c.team_id == team_id, experiences.c.id.in_(experience_ids))
        rows = await self._database.read(lambda connection: connection.execute(query).all()) if experience_ids else []
        found = {row.id: outlined(row) for row in rows}
        return tuple(found[name] for name in experience_ids if name in found)

    async def taught(self, team_id: str, candidate_ids: Sequence[str], limit: int = 50) -> tuple[Experience, ...]:
        """The team's experiences that some candidates gave, in use or not, without text and code, oldest first."""
        query = select(*OUTLINE).where(experiences.c.team_id == team_id, experiences.c.candidate_id.in_(candidate_ids))
        query = query.order_by(experiences.c.number).limit(limit)
        rows = await self._database.read(lambda connection: connection.execute(query).all()) if candidate_ids else []
        return tuple(map(outlined, rows))

    @writes
    def retract(self, connection: Connection, team_id: str, subject: str, reason: str, actor: str) -> tuple[str, ...]:
        """Take out an experience, or all that a candidate or an evaluation taught. Raises `NotFoundError`."""
        now = self._clock.now()
        candidate, names = _subject(connection, team_id, subject)
        changed = set_state(connection, team_id, names, RETRACTED) > 0
        if candidate is not None:
            changed |= retract_evaluation(connection, team_id, evaluation_id(candidate), reason, actor, now)
        if changed:
            audit_action(connection, team_id, "retract", subject, reason, actor, now)
        return tuple(names)

    async def retracted(self, team_id: str) -> tuple[str, ...]:
        """Ids of the team's retracted experiences."""
        query = select(experiences.c.id).where(experiences.c.team_id == team_id, experiences.c.state == RETRACTED)
        query = query.order_by(experiences.c.id)
        return tuple(await self._database.read(lambda connection: connection.execute(query).scalars().all()))

    async def audit(self, team_id: str, limit: int = 50) -> tuple[MemoryAction, ...]:
        """What was changed by hand, latest first."""
        query = select(memory_audit).where(memory_audit.c.team_id == team_id)
        query = query.order_by(memory_audit.c.id.desc()).limit(limit)
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return tuple(value_of(MemoryAction, row) for row in rows)

    async def owners(self, experience_ids: Sequence[str]) -> Mapping[str, str]:
        """The teams that known experience ids belong to."""

        def work(connection: Connection) -> dict[str, str]:
            found: dict[str, str] = {}
            for chunk in chunks(experience_ids):
                query = select(experiences.c.id, experiences.c.team_id).where(experiences.c.id.in_(chunk))
                found |= {row.id: row.team_id for row in connection.execute(query)}
            return found

        return await self._database.read(work)

    async def vectors(self, team_id: str, experience_ids: Sequence[str]) -> Mapping[str, tuple[float, ...]]:
        """Vectors in the current embedder's space, as far as there are any."""

        def work(connection: Connection) -> dict[str, tuple[float, ...]]:
            found: dict[str, tuple[float, ...]] = {}
            for chunk in chunks(experience_ids):
                query = select(embeddings.c.experience_id, embeddings.c.vector).where(
                    embeddings.c.team_id == team_id,
                    embeddings.c.embedder == self._space,
                    embeddings.c.experience_id.in_(chunk),
                )
                for name, vector in connection.execute(query):
                    found[name] = tuple(np.frombuffer(vector, dtype="<f4").astype(float).tolist())
            return found

        return await self._database.read(work)

    @writes
    def adopt(self, connection: Connection, team_id: str, lines: Sequence[MemoryLine], source: str, actor: str) -> int:
        """Store imported experiences with vectors and values in one transaction; how many were new. Of known ones it is
        noted where today's referee has accepted them again."""
        now = self._clock.now()
        ensure_team(connection, team_id, now)
        new: set[str] = set()
        for chunk in chunks(lines):
            new.update(insert_experiences(connection, [line.experience for line in chunk]))
        for line in lines:
            experience = line.experience
            if experience.id in new:
                _adopt_learned(connection, team_id, line, self._space, source, now)
            elif experience.verdict is Verdict.ACCEPTED:
                renew_proof(connection, team_id, experiences.c.id == experience.id, experience.referee)
        if new:
            audit_action(connection, team_id, "import", source, f"{len(new)} experiences", actor, now)
        return len(new)

    @writes
    def forget(
        self, connection: Connection, team_id: str, experience_ids: Sequence[str], reason: str, actor: str
    ) -> int:
        """Take experiences out of recall for good; how many were in use."""
        now = self._clock.now()
        count = set_state(connection, team_id, experience_ids, FORGOTTEN)
        if count:
            audit_action(connection, team_id, "forget", f"{count} experiences", reason, actor, now)
        return count

    async def outline(self, team_id: str) -> tuple[Experience, ...]:
        """The team's own experiences in use, oldest first, without text and code."""
        query = select(*OUTLINE).where(experiences.c.team_id == team_id, experiences.c.state == ACTIVE)
        query = query.order_by(experiences.c.number)
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return await asyncio.to_thread(lambda: tuple(map(outlined, rows)))

    async def trials(self, team_id: str) -> tuple[RewardedTrial, ...]:
        """The steps that the values were learned from, the latest of each family and stage."""
        return (await self._memory.learner(team_id)).trials()

    @reads
    def learned_practices(self, connection: Connection, team_id: str) -> tuple[PracticeVersion, ...]:
        """The team's practices that agents drew from jobs, in use or not, oldest first."""
        drawn = (experiences.c.kind == str(ExperienceKind.BEST_PRACTICE), experiences.c.job_id.is_not(None))
        query = select(experiences).where(experiences.c.team_id == team_id, *drawn)
        query = query.order_by(experiences.c.created_at, experiences.c.id)
        rows = connection.execute(query).all()
        found = experiences_from_rows(connection, rows)
        return tuple(PracticeVersion(practice=item, state=row.state) for item, row in zip(found, rows, strict=True))

    @writes
    def merge(self, connection: Connection, team_id: str, pairs: Sequence[tuple[str, str]], actor: str) -> int:
        """Take the absorbed ones out of recall and log that their history is the kept ones', in one transaction."""
        now = self._clock.now()
        count = 0
        for kept, absorbed in pairs:
            if set_state(connection, team_id, [absorbed], MERGED):
                append_entry(connection, team_id, absorbed, _merged(kept, absorbed), now)
                count += 1
        if count:
            audit_action(connection, team_id, "merge", f"{count} experiences", "near-duplicates", actor, now)
        return count

    async def untidied(self, team_id: str) -> int:
        """Experiences that came since the last maintenance."""
        return await self._database.read(lambda connection: untidied(connection, team_id))

    async def tidied(self, team_id: str) -> None:
        """Remember how far maintenance came."""
        await self._database.write(lambda connection: mark_tidied(connection, team_id))

    @writes
    def share(self, connection: Connection, team_id: str, reader: str, actor: str, *, granted: bool = True) -> None:
        """Let another team recall this team's experiences, or no longer. Raises `NotFoundError`."""
        now = self._clock.now()
        row = {"team_id": team_id, "reader_team_id": reader, "granted_by": actor, "created_at": now}
        ensure_team(connection, team_id, now)
        if granted:
            if connection.execute(select(teams.c.id).where(teams.c.id == reader)).first() is None:
                raise NotFoundError(f"no team {reader}")
            insert_new(connection, memory_shares, [row])
        else:
            grant = (memory_shares.c.team_id == team_id) & (memory_shares.c.reader_team_id == reader)
            connection.execute(delete(memory_shares).where(grant))
        audit_action(connection, team_id, "share" if granted else "unshare", reader, "", actor, now)

    async def shares(self, team_id: str) -> tuple[MemoryShare, ...]:
        """The shares that a team has given or got."""
        either = (memory_shares.c.team_id == team_id) | (memory_shares.c.reader_team_id == team_id)
        query = select(memory_shares).where(either).order_by(memory_shares.c.team_id, memory_shares.c.reader_team_id)
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return tuple(value_of(MemoryShare, row, reader=row.reader_team_id, at=row.created_at) for row in rows)

    async def seed(self, seeds: Sequence[Experience]) -> int:
        """Store seed experiences that their team has never had; how many were new. Writes only where some are."""
        known = await self.owners([item.id for item in seeds])
        missing = [item for item in seeds if item.id not in known]
        return await self._memory.remember(missing)


def _subject(connection: Connection, team_id: str, subject: str) -> tuple[str | None, list[str]]:
    """The candidate that is meant, if any, and the experiences that go. Raises `NotFoundError`."""
    own = experiences.c.team_id == team_id
    row = connection.execute(select(experiences.c.candidate_id).where(own, experiences.c.id == subject)).one_or_none()
    candidate: str | None = row.candidate_id if row is not None else _candidate(connection, team_id, subject)
    if row is None and candidate is None:
        raise NotFoundError(f"no experience, candidate or evaluation {subject}")
    if candidate is None:
        return None, [subject]
    names = set(
        connection.execute(select(experiences.c.id).where(own, experiences.c.candidate_id == candidate)).scalars()
    )
    return candidate, sorted(names | ({subject} if row is not None else set()))


def _candidate(connection: Connection, team_id: str, subject: str) -> str | None:
    places = (
        (candidates, candidates.c.id, candidates.c.id),
        (evaluations, evaluations.c.id, evaluations.c.candidate_id),
        (steps, steps.c.evaluation_id, steps.c.candidate_id),
    )
    for table, key, column in places:
        query = select(column).where(table.c.team_id == team_id, key == subject).limit(1)
        if found := connection.execute(query).scalar():
            return str(found)
    query = select(experiences.c.candidate_id).where(
        experiences.c.team_id == team_id, experiences.c.candidate_id == subject
    )
    return connection.execute(query.limit(1)).scalar()


def _adopt_learned(
    connection: Connection, team_id: str, line: MemoryLine, space: str, source: str, at: datetime
) -> None:
    """An imported experience's vector, and its values as where learning starts."""
    name = line.experience.id
    if line.vector is not None:
        content = np.asarray(line.vector, dtype="<f4").tobytes()
        row = {"experience_id": name, "embedder": space, "team_id": team_id, "vector": content}
        insert_new(connection, embeddings, [row])
    for value in line.values:
        append_entry(connection, team_id, f"{name}/{value.stage}", _prior(name, value, source), at)


def _prior(name: str, value: ExportedValue, source: str) -> Callable[[int], PriorEntry]:
    return lambda seq: PriorEntry(
        seq=seq, experience_id=name, stage=value.stage, value=value.value, visits=value.visits, source=source
    )


def _merged(kept: str, absorbed: str) -> Callable[[int], MergeEntry]:
    return lambda seq: MergeEntry(seq=seq, kept=kept, absorbed=absorbed)
