"""The `VerdictStore` port over the database: accepted results, and what judging them again has shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, func, insert, or_, select, update

from services.domain.codec import dumps, loads
from services.domain.evaluations import EvaluationReport, EvaluationRequest, Verdict
from services.domain.jobs import FINAL_STATUSES, JobStatus
from services.domain.measurements import BASELINES
from services.domain.problems import Problem
from services.domain.referees import CURRENT, SELF_ATTESTED
from services.domain.verdicts import UNSOLVED, StoredVerdict
from services.ports.runtime import Clock
from storage.contents.blobs import get_texts
from storage.database import Database
from storage.db.mapping import row_of, value_of
from storage.db.transactions import reads, writes
from storage.jobs.candidates import columns_of
from storage.jobs.rows import jobs_from_rows
from storage.memory.retraction import renew_proof
from storage.tables import evaluations, experiences, jobs, verifications


class SqlVerdictStore:
    """Accepted results; each method is one transaction."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    @reads
    def accepted(
        self, connection: Connection, team_id: str, *, after: str | None = None, limit: int = 50
    ) -> tuple[StoredVerdict, ...]:
        """Accepted results of jobs that have ended, and of no job, in order of their ids."""
        last = select(func.max(verifications.c.id)).where(verifications.c.evaluation_id == evaluations.c.id)
        query = (
            select(evaluations, verifications.c.report.label("verification"))
            .outerjoin(jobs, jobs.c.id == evaluations.c.job_id)
            .outerjoin(verifications, verifications.c.id == last.correlate(evaluations).scalar_subquery())
            .where(evaluations.c.team_id == team_id, evaluations.c.verdict == str(Verdict.ACCEPTED))
            .where(jobs.c.id.is_(None) | jobs.c.status.in_(FINAL_STATUSES))
            .order_by(evaluations.c.id)
            .limit(limit)
        )
        if after is not None:
            query = query.where(evaluations.c.id > after)
        return _from_rows(connection, team_id, connection.execute(query).all())

    async def unproven(self) -> int:
        """How many results of all teams only an older referee accepted; self-attested ones do not count."""
        old = or_(evaluations.c.referee.is_(None), evaluations.c.referee.between(SELF_ATTESTED + 1, CURRENT - 1))
        query = select(func.count()).select_from(evaluations)
        query = query.where(evaluations.c.verdict == str(Verdict.ACCEPTED), old)
        return await self._database.read(lambda connection: connection.execute(query).scalar_one())

    @writes
    def verified(self, connection: Connection, stored: StoredVerdict, report: EvaluationReport, actor: str) -> bool:
        """Keep what judging again has shown; False when the result has changed meanwhile, and nothing was written.

        A verdict that holds makes the result, and what memory has of it, proven again.
        A verdict that does not hold takes the place of the old one, whose report is kept beside it; the job's best
        becomes the fastest of its other accepted candidates."""
        request, now = stored.request, self._clock.now()
        query = select(evaluations.c.verdict).where(
            evaluations.c.id == request.evaluation_id, evaluations.c.team_id == request.team_id
        )
        if connection.execute(query.with_for_update()).scalar_one_or_none() != Verdict.ACCEPTED:
            return False
        row = row_of(
            verifications,
            report,
            team_id=request.team_id,
            evaluation_id=request.evaluation_id,
            candidate_id=request.candidate_id,
            report=dumps(report),
            before=dumps(stored.report),
            actor=actor,
            created_at=now,
        )
        connection.execute(insert(verifications).values(row))
        changed = update(evaluations).where(evaluations.c.id == request.evaluation_id)
        if report.accepted:
            connection.execute(changed.values(referee=report.proven_by))
            own = experiences.c.candidate_id == request.candidate_id
            renew_proof(connection, request.team_id, own, report.proven_by)
        else:
            connection.execute(changed.values(columns_of(report)))
            _choose_best_again(connection, request)
        return True


def _choose_best_again(connection: Connection, request: EvaluationRequest) -> None:
    """Give the job another best candidate, or none, where this one was its best."""
    own = (jobs.c.id == request.job_id) & (jobs.c.team_id == request.team_id)
    job = connection.execute(select(jobs.c.best_candidate_id, jobs.c.status).where(own)).one_or_none()
    if job is None or job.best_candidate_id != request.candidate_id:
        return
    query = (
        select(evaluations.c.candidate_id)
        .where(evaluations.c.team_id == request.team_id, evaluations.c.job_id == request.job_id)
        .where(evaluations.c.verdict == str(Verdict.ACCEPTED))
        .order_by(evaluations.c.speedup.desc().nulls_last(), evaluations.c.median_us, evaluations.c.id)
        .limit(1)
    )
    best = connection.execute(query).scalar_one_or_none()
    values: dict[str, Any] = {"best_candidate_id": best}
    if best is None and job.status in (JobStatus.SOLVED, JobStatus.NO_GAIN):
        values |= {"status": str(JobStatus.UNSOLVED), "message": UNSOLVED}
    connection.execute(update(jobs).where(own).values(values))


def _from_rows(connection: Connection, team_id: str, rows: Sequence[Row[Any]]) -> tuple[StoredVerdict, ...]:
    texts = get_texts(connection, team_id, [key for row in rows for key in (row.source_hash, row.problem_hash)])
    names = {row.job_id for row in rows}
    found = connection.execute(select(jobs).where(jobs.c.team_id == team_id, jobs.c.id.in_(names))).all()
    problems = {job.id: job.spec.problem for job in jobs_from_rows(connection, found)}
    return tuple(_stored(row, texts, problems.get(row.job_id)) for row in rows)


def _stored(row: Row[Any], texts: dict[str, str], problem: Problem | None) -> StoredVerdict:
    report = loads(EvaluationReport, row.report)
    latest = report if row.verification is None else loads(EvaluationReport, row.verification)
    measured = tuple(name for name in BASELINES if getattr(report.baselines, name))
    return StoredVerdict(
        request=value_of(
            EvaluationRequest,
            row,
            evaluation_id=row.id,
            problem=problem or Problem(name="problem", source=texts[row.problem_hash]),
            source=texts[row.source_hash],
            baselines=measured or ("eager",),
        ),
        report=report,
        verified=latest.environment,
        created_at=row.created_at,
    )
