"""The `RequestStore` port over the database: what manual models were asked, and the answers."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, Select, delete, select, update

from services.domain.chat import AgentRole, ChatMessage, ChatRequest, ModelRequest, request_id
from services.domain.codec import dumps, from_data
from services.domain.errors import ConflictError, NotFoundError
from services.domain.jobs import FINAL_STATUSES, JobStatus
from services.ports.runtime import Clock
from storage.contents.blobs import get_texts, put_texts
from storage.database import Database
from storage.db.mapping import row_of, value_of
from storage.db.statements import insert_one_new
from storage.db.transactions import reads, writes
from storage.tables import jobs, model_requests

_WITH_STATUS = select(model_requests, jobs.c.status.label("job_status")).join(
    jobs, jobs.c.id == model_requests.c.job_id
)


class SqlRequestStore:
    """Requests of manual models; each method is one transaction."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    @writes
    def open(self, connection: Connection, request: ChatRequest, ttl_s: float) -> ModelRequest:
        """Store a request, or find the one that the same call made before; an expired one is open again.

        An unanswered request under the same key with another prompt is withdrawn. Raises `NotFoundError` where its job
        is unknown."""
        now, own = self._clock.now(), request_id(request)
        row = _new_row(connection, request, now, now + timedelta(seconds=ttl_s))
        connection.execute(
            delete(model_requests).where(
                model_requests.c.job_id == request.facts.job_id,
                model_requests.c.key == request.key,
                model_requests.c.id != own,
                model_requests.c.reply_blob.is_(None),
            )
        )
        if not insert_one_new(connection, model_requests, row):
            expired = (model_requests.c.id == own) & (model_requests.c.expires_at <= now)
            connection.execute(update(model_requests).where(expired).values(expires_at=row["expires_at"]))
        return _request(connection, _row(connection, str(row["team_id"]), own))

    async def get(self, team_id: str, request_id: str) -> ModelRequest:
        """One request. Raises `NotFoundError`."""
        return await self._database.read(lambda connection: _request(connection, _row(connection, team_id, request_id)))

    @reads
    def waiting(
        self,
        connection: Connection,
        team_id: str,
        *,
        job_id: str | None = None,
        role: AgentRole | None = None,
        limit: int = 50,
    ) -> tuple[ModelRequest, ...]:
        """Open requests of jobs that go on, oldest first."""
        query = _open(team_id, self._clock.now())
        if job_id is not None:
            query = query.where(model_requests.c.job_id == job_id)
        if role is not None:
            query = query.where(model_requests.c.role == str(role))
        return tuple(_request(connection, row) for row in connection.execute(query.limit(limit)).all())

    @writes
    def answer(self, connection: Connection, team_id: str, request_id: str, text: str, by: str) -> ModelRequest:
        """Store an answer; the same one again changes nothing. Raises `NotFoundError`, `ConflictError`."""
        now = self._clock.now()
        row = _row(connection, team_id, request_id, lock=True)
        found = _request(connection, row)
        if found.reply is None:
            _check_open(row, now)
            blob = put_texts(connection, team_id, [text])[0]
            values = {"reply_blob": blob, "answered_by": by, "answered_at": now}
            connection.execute(update(model_requests).where(model_requests.c.id == request_id).values(values))
        elif found.reply != text:
            raise ConflictError(f"request {request_id} was answered by {found.answered_by}: ask for the next one")
        return _request(connection, _row(connection, team_id, request_id))


def _open(team_id: str, now: datetime) -> Select[Any]:
    return (
        _WITH_STATUS.where(model_requests.c.team_id == team_id, model_requests.c.reply_blob.is_(None))
        .where(model_requests.c.expires_at > now, jobs.c.status.not_in(FINAL_STATUSES))
        .order_by(model_requests.c.created_at, model_requests.c.id)
    )


def _check_open(row: Row[Any], now: datetime) -> None:
    if JobStatus(row.job_status).is_final:
        raise ConflictError(f"job {row.job_id} is {row.job_status}: its request {row.id} is not open any more")
    if row.expires_at <= now:
        raise ConflictError(f"request {row.id} has expired: resume job {row.job_id}, which asks again")


def _row(connection: Connection, team_id: str, request_id: str, *, lock: bool = False) -> Row[Any]:
    query = _WITH_STATUS.where(model_requests.c.id == request_id, model_requests.c.team_id == team_id)
    row = connection.execute(query.with_for_update(of=model_requests) if lock else query).one_or_none()
    if row is None:
        raise NotFoundError(f"no request {request_id}")
    return row


def _new_row(connection: Connection, request: ChatRequest, now: datetime, expires_at: datetime) -> dict[str, Any]:
    facts = request.facts
    team_id = connection.execute(select(jobs.c.team_id).where(jobs.c.id == facts.job_id)).scalar_one_or_none()
    if team_id is None:
        raise NotFoundError(f"no job {facts.job_id}")
    source = facts.start_point.source if facts.start_point is not None else None
    prompt, *start = put_texts(connection, team_id, [dumps(request.messages), *([] if source is None else [source])])
    return row_of(
        model_requests,
        request,
        id=request_id(request),
        team_id=team_id,
        job_id=facts.job_id,
        step=facts.step,
        schema=json.dumps(request.schema),
        prompt_blob=prompt,
        start_blob=start[0] if start else None,
        created_at=now,
        expires_at=expires_at,
    )


def _request(connection: Connection, row: Row[Any]) -> ModelRequest:
    texts = get_texts(connection, row.team_id, [row.prompt_blob, row.start_blob, row.reply_blob])
    return value_of(
        ModelRequest,
        row,
        messages=from_data(tuple[ChatMessage, ...], json.loads(texts[row.prompt_blob])),
        schema=json.loads(row.schema),
        start_source=texts.get(row.start_blob),
        reply=texts.get(row.reply_blob),
    )
