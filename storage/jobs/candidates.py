"""The `CandidateStore` port over the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from services.domain.candidates import Candidate, EvaluatedCandidate
from services.domain.codec import dumps, loads
from services.domain.digests import BestSpeedup, CandidateDigest
from services.domain.errors import NotFoundError
from services.domain.evaluations import EvaluationReport, EvaluationRequest, Verdict
from services.domain.jobs import Lease
from services.ports.runtime import Clock
from storage.contents.blobs import ensure_team, get_texts, put_texts
from storage.database import Database
from storage.db.mapping import row_of, value_of
from storage.db.statements import insert_one_new, upsert
from storage.db.transactions import reads, writes
from storage.jobs.digests import candidate_digests
from storage.jobs.leases import fence
from storage.tables import candidates, evaluations, jobs


class SqlCandidateStore:
    """Candidates and their evaluations; each method is one transaction."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    @writes
    def add(self, connection: Connection, lease: Lease, candidate: Candidate) -> None:
        """Store a candidate; a second call with the same id changes nothing. Raises `LeaseLostError`."""
        if (candidate.job_id, candidate.team_id) != (lease.job_id, lease.team_id):
            raise ValueError(f"a candidate of job {candidate.job_id} under the lease of job {lease.job_id}")
        fence(connection, lease)
        known = select(candidates.c.id).where(candidates.c.id == candidate.id)
        if connection.execute(known).first() is None:
            (source_hash,) = put_texts(connection, candidate.team_id, [candidate.source])
            row = row_of(candidates, candidate, source_hash=source_hash)
            connection.execute(insert(candidates).values(row))

    @reads
    def get(self, connection: Connection, team_id: str, candidate_id: str) -> EvaluatedCandidate:
        """One candidate with its report. Raises `NotFoundError`."""
        query = _with_reports().where(candidates.c.team_id == team_id, candidates.c.id == candidate_id)
        rows = connection.execute(query).all()
        if not rows:
            raise NotFoundError(f"no candidate {candidate_id}")
        return _from_rows(connection, rows)[0]

    @reads
    def list(self, connection: Connection, team_id: str, job_id: str) -> tuple[EvaluatedCandidate, ...]:
        """A job's candidates in order of their steps. Raises `NotFoundError`."""
        query = _with_reports().where(candidates.c.team_id == team_id, candidates.c.job_id == job_id)
        query = query.order_by(candidates.c.step, candidates.c.id)
        _check_job(connection, team_id, job_id)
        return _from_rows(connection, connection.execute(query).all())

    @reads
    def digests(self, connection: Connection, team_id: str, job_id: str) -> tuple[CandidateDigest, ...]:
        """A job's candidates in order of their steps, without sources. Raises `NotFoundError`."""
        _check_job(connection, team_id, job_id)
        return candidate_digests(connection, team_id, job_id)

    async def speedups(self, team_id: str, candidate_ids: Sequence[str]) -> Mapping[str, BestSpeedup]:
        """Candidate id to speedup, of those that were timed against a baseline."""
        own = evaluations.c
        query = select(own.candidate_id, own.speedup, own.speedup_low, own.speedup_high).where(
            own.team_id == team_id, own.candidate_id.in_(candidate_ids), own.speedup.is_not(None)
        )
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return {
            name: BestSpeedup(ratio=ratio, ci95=None if low is None else (low, high)) for name, ratio, low, high in rows
        }

    async def finish(self, request: EvaluationRequest, report: EvaluationReport) -> bool:
        """Store a report; False when the evaluation has one already.

        The first one stays, except that `infrastructure_error` is not an answer: a later verdict takes its place.
        """

        def work(connection: Connection) -> bool:
            if request.team_id not in self._database.known_teams:
                ensure_team(connection, request.team_id, self._clock.now())
            row = self._report_row(connection, request, report)
            if insert_one_new(connection, evaluations, row):
                return True
            query = (
                select(evaluations.c.verdict)
                .where(evaluations.c.id == request.evaluation_id)
                .with_for_update(key_share=True)
            )
            stored = connection.execute(query).scalar_one()
            if stored != Verdict.INFRASTRUCTURE_ERROR or report.verdict is Verdict.INFRASTRUCTURE_ERROR:
                return False
            upsert(connection, evaluations, [row])
            return True

        stored = await self._database.write(work)
        self._database.known_teams.add(request.team_id)
        return stored

    async def report(self, evaluation_id: str) -> EvaluationReport | None:
        """The stored report, if any."""
        query = select(evaluations.c.report).where(evaluations.c.id == evaluation_id)
        text = await self._database.read(lambda connection: connection.execute(query).scalar_one_or_none())
        return None if text is None else loads(EvaluationReport, text)

    def _report_row(
        self, connection: Connection, request: EvaluationRequest, report: EvaluationReport
    ) -> dict[str, Any]:
        source_hash, problem_hash = put_texts(connection, request.team_id, [request.source, request.problem.source])
        return row_of(
            evaluations,
            request,
            id=request.evaluation_id,
            source_hash=source_hash,
            problem_hash=problem_hash,
            device_s=report.phases_s.total,
            created_at=self._clock.now(),
            **columns_of(report),
        )


def columns_of(report: EvaluationReport) -> dict[str, Any]:
    """What a row of `evaluations` has of its report: the text, and the figures that are listed or sorted by."""
    low, high = report.speedup.ci95 or (None, None)
    return {
        "verdict": str(report.verdict),
        "failed_gate": None if report.failed_gate is None else str(report.failed_gate),
        "median_us": None if report.latency is None else report.latency.median_us,
        "speedup": report.speedup.best_baseline,
        "speedup_low": low,
        "speedup_high": high,
        "referee": report.proven_by,
        "report": dumps(report),
    }


def revise(connection: Connection, reports: Mapping[str, EvaluationReport]) -> None:
    """Put reports, by evaluation, in accepted ones' places; any other verdict stays as it is."""
    for evaluation_id, report in reports.items():
        accepted = (evaluations.c.id == evaluation_id) & (evaluations.c.verdict == str(Verdict.ACCEPTED))
        connection.execute(update(evaluations).where(accepted).values(columns_of(report)))


def _check_job(connection: Connection, team_id: str, job_id: str) -> None:
    query = select(jobs.c.id).where(jobs.c.id == job_id, jobs.c.team_id == team_id)
    if connection.execute(query).first() is None:
        raise NotFoundError(f"no job {job_id}")


def _with_reports() -> Any:
    return select(candidates, evaluations.c.report, evaluations.c.referee).outerjoin(
        evaluations,
        (evaluations.c.candidate_id == candidates.c.id) & (evaluations.c.team_id == candidates.c.team_id),
    )


def _from_rows(connection: Connection, rows: Sequence[Row[Any]]) -> tuple[EvaluatedCandidate, ...]:
    if not rows:
        return ()
    texts = get_texts(connection, rows[0].team_id, [row.source_hash for row in rows])
    return tuple(
        EvaluatedCandidate(
            candidate=value_of(Candidate, row, source=texts[row.source_hash]),
            report=None if row.report is None else loads(EvaluationReport, row.report),
            verified_by=row.referee,
        )
        for row in rows
    )
