"""Jobs as rows and back: the sources inside a job's specification are blobs, named by hash."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, Row, Select, or_, select

from services.domain.codec import dumps, loads
from services.domain.jobs import UNTAGGED_LINES, Job, JobFilter, JobPage, JobSpec, JobStatus, searched_text
from services.domain.problems import ProblemAnalysis
from storage.contents.blobs import get_texts, put_texts
from storage.db import mapping
from storage.db.cursors import behind, encode_cursor, newest_first
from storage.tables import jobs


def row_of(job: Job, source_hash: str, seed_hash: str | None) -> dict[str, Any]:
    """The row of a new job whose sources are kept."""
    spec = job.spec
    bare = replace(spec, problem=replace(spec.problem, source=""), seed_candidate=None)
    return mapping.row_of(
        jobs,
        job,
        claimable=is_claimable(job.status, pause_requested=job.pause_requested),
        rank=-spec.priority,
        name=spec.problem.name,
        spec=dumps(bare),
        source_hash=source_hash,
        seed_hash=seed_hash,
        analysis=None if job.analysis is None else dumps(job.analysis),
        search=searched_text(job),
    )


def handed_in(connection: Connection, job: Job, source: str, allow_library: tuple[str, ...]) -> dict[str, Any]:
    """What changes in a job's row that gets the kernel it waited for; keeps the source."""
    problem = replace(job.spec.problem, source="", allow_library=allow_library)
    (seed_hash,) = put_texts(connection, job.team_id, [source])
    return {"spec": dumps(replace(job.spec, problem=problem, seed_candidate=None)), "seed_hash": seed_hash}


def is_claimable(status: JobStatus, *, pause_requested: bool) -> bool:
    """Whether an orchestrator may take the job unasked: it is neither final nor meant to stay paused."""
    return not status.is_final and not (status is JobStatus.PAUSED and pause_requested)


def jobs_from_rows(connection: Connection, rows: Sequence[Row[Any]]) -> tuple[Job, ...]:
    """Jobs of one team with their sources."""
    if not rows:
        return ()
    texts = get_texts(connection, rows[0].team_id, [key for row in rows for key in (row.source_hash, row.seed_hash)])
    return tuple(_job(row, texts) for row in rows)


def _job(row: Row[Any], texts: dict[str, str]) -> Job:
    bare = _spec(row.spec)
    problem = replace(bare.problem, source=texts[row.source_hash])
    seed = None if row.seed_hash is None else texts[row.seed_hash]
    spec = replace(bare, problem=problem, seed_candidate=seed)
    return mapping.value_of(Job, row, spec=spec, analysis=None if row.analysis is None else _analysis(row.analysis))


# An orchestrator reads the same job many times; its documents are frozen and, once written, rarely change.
@functools.lru_cache(maxsize=512)
def _spec(text: str) -> JobSpec:
    return loads(JobSpec, text)


@functools.lru_cache(maxsize=512)
def _analysis(text: str) -> ProblemAnalysis:
    return loads(ProblemAnalysis, text)


def jobs_of(team_id: str, status: JobStatus | None, wanted: JobFilter) -> Select[Any]:
    """The team's jobs of these statuses, newest first."""
    query = select(jobs).where(jobs.c.team_id == team_id)
    if status is not None:
        query = query.where(jobs.c.status == status)
    if wanted.statuses:
        query = query.where(jobs.c.status.in_(sorted(wanted.statuses)))
    for word in wanted.words:
        query = query.where(jobs.c.search.contains(word, autoescape=True))
    for tag in wanted.tags:
        query = query.where(or_(*(jobs.c.search.like(pattern, escape="/") for pattern in _patterns(tag))))
    return newest_first(query, jobs)


def _patterns(tag: str) -> tuple[str, str]:
    """How a tag stands in `searched_text`: as a line behind those that are no tags, the last or not."""
    escaped = "".join(f"/{letter}" if letter in "/%_" else letter for letter in tag.casefold())
    line = "%\n" * UNTAGGED_LINES + escaped
    return line, f"{line}\n%"


def page_of(connection: Connection, query: Select[Any], wanted: JobFilter, limit: int, cursor: str | None) -> JobPage:
    """The first jobs behind a cursor that a filter admits. The query lets few through that it does not: tags are
    compared with their case only here."""
    found: list[Job] = []
    size = limit + 1
    while True:
        rows = connection.execute(behind(query, jobs, cursor).limit(size)).all()
        batch = jobs_from_rows(connection, rows)
        found += [job for job in batch if wanted.admits(job)]
        if len(found) > limit or len(rows) < size:
            break
        cursor = encode_cursor(batch[-1].created_at, batch[-1].id)
    page = tuple(found[:limit])
    more = len(found) > limit
    return JobPage(jobs=page, next_cursor=encode_cursor(page[-1].created_at, page[-1].id) if more else None)
