"""The `ShareStore` port over the database."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from services.domain.access import ReportShare
from services.domain.errors import NotFoundError
from services.ports.runtime import Clock
from storage.database import Database
from storage.db.mapping import row_of, value_of
from storage.db.transactions import reads, writes
from storage.tables import report_shares


class SqlShareStore:
    """Links to reports; each method is one transaction."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def add(self, share: ReportShare) -> None:
        """Store a new link."""
        row = row_of(report_shares, share)
        await self._database.write(lambda connection: connection.execute(insert(report_shares), row))

    @reads
    def find(self, connection: Connection, digest: str) -> ReportShare | None:
        """The link whose token has this digest, of whichever team."""
        query = select(report_shares).where(report_shares.c.digest == digest)
        row = connection.execute(query).one_or_none()
        return None if row is None else _share(row)

    async def list(self, team_id: str, job_id: str) -> tuple[ReportShare, ...]:
        """A job's links, newest first."""
        query = (
            select(report_shares)
            .where(report_shares.c.team_id == team_id, report_shares.c.job_id == job_id)
            .order_by(report_shares.c.created_at.desc(), report_shares.c.id)
        )
        return await self._database.read(lambda connection: tuple(map(_share, connection.execute(query))))

    @writes
    def revoke(self, connection: Connection, team_id: str, job_id: str, share_id: str) -> ReportShare:
        """Close a link; again is harmless. Raises `NotFoundError`."""
        here = report_shares.c.id == share_id
        own = here & (report_shares.c.team_id == team_id) & (report_shares.c.job_id == job_id)
        now = self._clock.now()
        connection.execute(update(report_shares).where(own, report_shares.c.revoked_at.is_(None)), {"revoked_at": now})
        row = connection.execute(select(report_shares).where(own)).one_or_none()
        if row is None:
            raise NotFoundError(f"no link {share_id}")
        return _share(row)


def _share(row: Row[Any]) -> ReportShare:
    return value_of(ReportShare, row)
