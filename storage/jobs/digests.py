"""Digests read without the texts behind them: functions over the caller's transaction."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from sqlalchemy import Connection, Row, func, select

from services.domain.codec import from_data
from services.domain.digests import CallDigest, CandidateDigest, RecordedUse, StepDigest
from services.domain.evaluations import Verdict
from services.domain.gates import GateName
from services.domain.measurements import Speedup
from services.domain.usage import Usage
from storage.db.mapping import value_of
from storage.tables import candidates, evaluations, experiences, model_calls, step_experiences, steps


def candidate_digests(connection: Connection, team_id: str, job_id: str) -> tuple[CandidateDigest, ...]:
    """A job's candidates in order of their steps.

    Reports are read as plain JSON: the strict codec takes milliseconds for each, and what is needed here are ten
    figures of a document that this program wrote.
    """
    query = (
        select(candidates, evaluations.c.report)
        .outerjoin(
            evaluations,
            # The team is compared as an expression, so that SQLite cannot take the index on it: it would read all of a
            # team's reports for each candidate (5 s rather than 1 s for a job of 500 beside one of 1,000).
            (evaluations.c.candidate_id == candidates.c.id)
            & (evaluations.c.team_id.concat("") == candidates.c.team_id),
        )
        .where(candidates.c.team_id == team_id, candidates.c.job_id == job_id)
        .order_by(candidates.c.step, candidates.c.id)
    )
    return tuple(_candidate(row) for row in connection.execute(query))


def step_digests(connection: Connection, team_id: str, job_id: str) -> tuple[StepDigest, ...]:
    """A job's steps in order."""
    query = select(steps).where(steps.c.job_id == job_id, steps.c.team_id == team_id).order_by(steps.c.step)
    rows = connection.execute(query).all()
    calls, used = _calls(connection, job_id), _used(connection, job_id)
    return tuple(_step(row, tuple(calls[row.step]), used.get(row.step, 0)) for row in rows)


def recorded_uses(connection: Connection, job_id: str, index: int) -> tuple[RecordedUse, ...]:
    """The experiences in a step's context, in their order there."""
    query = (
        select(step_experiences, experiences.c.title, experiences.c.kind)
        .outerjoin(experiences, experiences.c.id == step_experiences.c.experience_id)
        .where(step_experiences.c.job_id == job_id, step_experiences.c.step == index)
        .order_by(step_experiences.c.position)
    )
    return tuple(value_of(RecordedUse, row) for row in connection.execute(query))


def _candidate(row: Row[Any]) -> CandidateDigest:
    report = {} if row.report is None else json.loads(row.report)
    latency, gate = report.get("latency"), report.get("failed_gate")
    return value_of(
        CandidateDigest,
        row,
        verdict=Verdict(report["verdict"]) if report else None,
        failed_gate=None if gate is None else GateName(gate),
        median_us=_number(latency["median_us"]) if latency else None,
        ci95_us=_pair(latency["ci95_us"]) if latency else None,
        speedup=from_data(Speedup, report["speedup"]) if report else None,
        baselines_us=_medians(report["baselines"]) if report else None,
        self_attested=report.get("self_attested"),
        input_sets=len(report.get("shapes", ())),
        roofline_fraction=_part(report, "roofline", "fraction"),
        bottleneck=(report.get("profile") or {}).get("bottleneck"),
        tuned=(report.get("tuned") or {}).get("tried"),
        device_s=_part(report, "phases_s", "total") or 0.0,
    )


def _number(value: Any) -> float:
    """A number as the codec writes it: one that is not finite is an object."""
    return float(value["float"] if isinstance(value, dict) else value)


def _pair(value: Any) -> tuple[float, float]:
    return (_number(value[0]), _number(value[1]))


def _part(report: dict[str, Any], part: str, name: str) -> float | None:
    found = report.get(part)
    return None if not found or found.get(name) is None else _number(found[name])


def _medians(document: dict[str, Any]) -> dict[str, float]:
    return {name: _number(latency["median_us"]) for name, latency in document.items() if latency is not None}


def _calls(connection: Connection, job_id: str) -> dict[int, list[CallDigest]]:
    query = select(model_calls).where(model_calls.c.job_id == job_id)
    found: dict[int, list[CallDigest]] = defaultdict(list)
    for row in connection.execute(query.order_by(model_calls.c.step, model_calls.c.position)):
        found[row.step].append(value_of(CallDigest, row, usage=value_of(Usage, row)))
    return found


def _used(connection: Connection, job_id: str) -> dict[int, int]:
    query = select(step_experiences.c.step, func.count()).where(step_experiences.c.job_id == job_id)
    return {row[0]: row[1] for row in connection.execute(query.group_by(step_experiences.c.step))}


def _step(row: Row[Any], calls: tuple[CallDigest, ...], used: int) -> StepDigest:
    hypothesis = None if row.plan is None else json.loads(row.plan).get("hypothesis")
    return value_of(StepDigest, row, index=row.step, hypothesis=hypothesis, experiences=used, calls=calls)
