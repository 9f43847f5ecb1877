"""Steps as rows and back. Functions over the caller's transaction."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, bindparam, delete, func, insert, select

from services.domain.chat import ChatMessage, PlanFact
from services.domain.codec import dumps, from_data, loads
from services.domain.steps import ModelCall, Step, StepRecord
from services.domain.usage import Usage
from storage.contents.blobs import get_texts, put_texts
from storage.db.mapping import row_of, value_of
from storage.tables import model_calls, step_experiences, steps

_STEP = select(steps.c.job_id).where(steps.c.job_id == bindparam("job"), steps.c.step == bindparam("index"))
_FORGET_CALLS = delete(model_calls).where(
    model_calls.c.job_id == bindparam("job"), model_calls.c.step == bindparam("index")
)
_INSERT_STEP, _INSERT_CALL, _INSERT_USE = insert(steps), insert(model_calls), insert(step_experiences)


def step_exists(connection: Connection, job_id: str, index: int) -> bool:
    """Whether the step was written before."""
    return connection.execute(_STEP, {"job": job_id, "index": index}).first() is not None


def insert_step(connection: Connection, record: StepRecord) -> None:
    """Write a step, its model calls (in place of those that were kept until now) and the experiences it used."""
    step = record.step
    connection.execute(_FORGET_CALLS, {"job": step.job_id, "index": step.index})
    connection.execute(_INSERT_STEP, _step_row(step))
    _insert_calls(connection, step.team_id, step.job_id, step.index, step.calls)
    uses = {use.experience_id: use for use in record.uses}
    rows = [
        {
            "job_id": step.job_id,
            "step": step.index,
            "experience_id": used,
            "team_id": step.team_id,
            "position": position,
            "similarity": uses[used].similarity if used in uses else None,
            "value": uses[used].value if used in uses else None,
        }
        for position, used in enumerate(dict.fromkeys(step.experiences_used))
    ]
    if rows:
        connection.execute(_INSERT_USE, rows)


def insert_kept_call(connection: Connection, team_id: str, job_id: str, index: int, call: ModelCall) -> None:
    """Write a call behind those that were kept of its step, which is not recorded yet."""
    of_step = (model_calls.c.job_id == job_id) & (model_calls.c.step == index)
    known = connection.execute(select(func.count()).select_from(model_calls).where(of_step)).scalar_one()
    _insert_calls(connection, team_id, job_id, index, (call,), first=known)


def read_kept_calls(connection: Connection, team_id: str, job_id: str) -> dict[int, tuple[ModelCall, ...]]:
    """The calls of steps that are not recorded, by step."""
    recorded = connection.execute(select(func.count()).select_from(steps).where(steps.c.job_id == job_id)).scalar_one()
    found = _read_calls(connection, team_id, job_id, model_calls.c.step >= recorded)
    return {index: tuple(calls) for index, calls in found.items()}


def read_steps(connection: Connection, team_id: str, job_id: str) -> tuple[Step, ...]:
    """A job's steps in order."""
    query = select(steps).where(steps.c.job_id == job_id, steps.c.team_id == team_id).order_by(steps.c.step)
    rows = connection.execute(query).all()
    calls = _read_calls(connection, team_id, job_id)
    used = _read_used(connection, job_id)
    return tuple(_step(row, tuple(calls[row.step]), tuple(used[row.step])) for row in rows)


def read_step(connection: Connection, team_id: str, job_id: str, index: int) -> Step | None:
    """One step, or None where there is none."""
    query = select(steps).where(steps.c.job_id == job_id, steps.c.team_id == team_id, steps.c.step == index)
    row = connection.execute(query).one_or_none()
    if row is None:
        return None
    calls = _read_calls(connection, team_id, job_id, model_calls.c.step == index)
    return _step(row, tuple(calls[index]), tuple(_read_used(connection, job_id)[index]))


def _step_row(step: Step) -> dict[str, Any]:
    plan = None if step.plan is None else dumps(step.plan)
    return row_of(steps, step, step=step.index, plan=plan)


def _insert_calls(
    connection: Connection, team_id: str, job_id: str, index: int, calls: Sequence[ModelCall], first: int = 0
) -> None:
    if not calls:
        return
    texts = [text for call in calls for text in (dumps(call.prompt), call.reply)]
    hashes = put_texts(connection, team_id, texts)
    rows = [
        row_of(
            model_calls,
            call,
            job_id=job_id,
            step=index,
            position=first + position,
            team_id=team_id,
            prompt_blob=hashes[2 * position],
            reply_blob=hashes[2 * position + 1],
            **asdict(call.usage),
        )
        for position, call in enumerate(calls)
    ]
    connection.execute(_INSERT_CALL, rows)


def _read_calls(
    connection: Connection, team_id: str, job_id: str, *where: ColumnElement[bool]
) -> dict[int, list[ModelCall]]:
    query = select(model_calls).where(model_calls.c.job_id == job_id, *where)
    rows = connection.execute(query.order_by(model_calls.c.step, model_calls.c.position)).all()
    texts = get_texts(connection, team_id, [key for row in rows for key in (row.prompt_blob, row.reply_blob)])
    calls: dict[int, list[ModelCall]] = defaultdict(list)
    for row in rows:
        calls[row.step].append(_call(row, texts))
    return calls


def _read_used(connection: Connection, job_id: str) -> dict[int, list[str]]:
    query = select(step_experiences.c.step, step_experiences.c.experience_id)
    query = query.where(step_experiences.c.job_id == job_id)
    used: dict[int, list[str]] = defaultdict(list)
    for row in connection.execute(query.order_by(step_experiences.c.step, step_experiences.c.position)):
        used[row.step].append(row.experience_id)
    return used


def _call(row: Row[Any], texts: dict[str, str]) -> ModelCall:
    prompt = from_data(tuple[ChatMessage, ...], json.loads(texts[row.prompt_blob]))
    return value_of(ModelCall, row, prompt=prompt, reply=texts[row.reply_blob], usage=value_of(Usage, row))


def _step(row: Row[Any], calls: tuple[ModelCall, ...], used: tuple[str, ...]) -> Step:
    plan = None if row.plan is None else loads(PlanFact, row.plan)
    return value_of(Step, row, index=row.step, plan=plan, calls=calls, experiences_used=used)
