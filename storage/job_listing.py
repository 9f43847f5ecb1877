"""Pages of a team's jobs, newest first."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Select, select

from services.domain.jobs import Job, JobFilter, JobPage, JobStatus
from storage.cursors import behind, encode_cursor, newest_first
from storage.job_rows import jobs_from_rows
from storage.tables import jobs

SCAN = 200
"""Jobs looked at together where a listing is filtered by text or tag."""


def jobs_of(team_id: str, status: JobStatus | None, wanted: JobFilter) -> Select[Any]:
    """The team's jobs of these statuses, newest first."""
    query = select(jobs).where(jobs.c.team_id == team_id)
    if status is not None:
        query = query.where(jobs.c.status == status)
    if wanted.statuses:
        query = query.where(jobs.c.status.in_(sorted(wanted.statuses)))
    return newest_first(query, jobs)


def page_of(connection: Connection, query: Select[Any], wanted: JobFilter, limit: int, cursor: str | None) -> JobPage:
    """The first jobs behind a cursor that a filter admits. What is not a column is looked at here, page by page."""
    found: list[Job] = []
    size = max(limit + 1, SCAN) if wanted.narrows else limit + 1
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
