"""The `WorkStore` port over the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, Select, Update, func, select, update

from services.domain.codec import dumps, loads
from services.domain.errors import NotFoundError
from services.domain.evaluations import EvaluationReport, EvaluationRequest
from services.domain.nodes import NODE_TTL_S, NodeRole, Offer
from services.domain.validations import ValidationReport, ValidationRequest
from services.domain.work import (
    ATTEMPTS,
    CompileReport,
    CompileRequest,
    Report,
    Request,
    WorkClaim,
    WorkOrder,
    WorkState,
    WorkStatus,
)
from services.ports.runtime import Clock
from storage.contents.blobs import ensure_team, get_order_texts, put_texts
from storage.database import Database
from storage.db.mapping import row_of
from storage.db.statements import insert_one_new
from storage.db.transactions import reads, writes
from storage.jobs.work_turns import (
    COMPILATION,
    SETTLED,
    VALIDATION,
    charge,
    next_order,
    refund,
    settle,
    unclaimed,
)
from storage.tables import nodes, work_orders

EVALUATION = "evaluation"
_AGAIN = {WorkStatus.FAILED, WorkStatus.CANCELLED}
_OPEN = {WorkStatus.QUEUED, WorkStatus.RUNNING}


class SqlWorkStore:
    """Work orders; each method is one transaction."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def place(self, order: WorkOrder) -> WorkState:
        """Store an order as queued; one that is known stays as it is, unless it failed or was cancelled."""
        now = self._clock.now()
        queued = {"status": str(WorkStatus.QUEUED), "attempts": 0, "fault": None, "updated_at": now}
        queued |= {"taken_at": None, "charged_s": 0.0}

        team_id = order.request.team_id

        def work(connection: Connection) -> WorkState:
            if team_id not in self._database.known_teams:
                ensure_team(connection, team_id, now)
            if insert_one_new(connection, work_orders, _to_row(connection, order) | queued | {"created_at": now}):
                return WorkState(status=WorkStatus.QUEUED)
            again = update(work_orders).where(work_orders.c.id == order.id, work_orders.c.status.in_(_AGAIN))
            connection.execute(again.values(queued))
            return _state(_row(connection, order.id))

        state = await self._database.write(work)
        self._database.known_teams.add(team_id)
        return state

    async def state(self, order_id: str) -> WorkState:
        """What is known about an order. Raises `NotFoundError`."""
        return await self._database.read(lambda connection: _state(_row(connection, order_id)))

    @reads
    def held(self, connection: Connection, order_id: str, owner: str, token: int) -> WorkClaim | None:
        """The claim on an order, where it is this owner's and the current one."""
        query = select(work_orders).where(
            work_orders.c.id == order_id,
            work_orders.c.claim_owner == owner,
            work_orders.c.claim_token == token,
            work_orders.c.status == WorkStatus.RUNNING,
        )
        row = connection.execute(query).one_or_none()
        if row is None:
            return None
        order = _order(connection, row)
        return WorkClaim(order=order, owner=owner, token=token, expires_at=row.claim_expires_at)

    @writes
    def take(self, connection: Connection, owner: str, ttl_s: float, offer: Offer) -> WorkClaim | None:
        """Claim the order whose turn it is, of those that the offer fits; None where there is none."""
        now = self._clock.now()
        while (row := next_order(connection, owner, offer, now)) is not None:
            if row.attempts < ATTEMPTS:
                return _claimed(connection, row, owner, offer, now, ttl_s)
            fault = f"the worker died {row.attempts} times on it"
            _change(connection, row.id, status=str(WorkStatus.FAILED), fault=fault, updated_at=now)
        return None

    async def ended(self, order_ids: Sequence[str]) -> Mapping[str, WorkState]:
        """Those of some orders that have ended."""
        if not order_ids:
            return {}
        query = select(work_orders).where(work_orders.c.id.in_(order_ids), work_orders.c.status.not_in(_OPEN))
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return {row.id: _state(row) for row in rows}

    async def waiting(self) -> Mapping[str, int]:
        """How many open orders nobody works on, by device."""
        query = select(work_orders.c.device, func.count()).where(unclaimed(self._clock.now()))
        query = query.group_by(work_orders.c.device)
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return {row[0]: row[1] for row in rows}

    @writes
    def expire(self, connection: Connection, older_s: float) -> int:
        """Fail orders queued for so long whose job another evaluator began that no worker has any more."""
        now = self._clock.now()
        without_worker: Sequence[Any] = connection.execute(_without_worker(now, older_s)).all()
        for order_id, evaluator in without_worker:
            fault = (
                f"the job was begun under the evaluator {evaluator!r}, and no worker with it is left: start one, "
                "or submit the job again"
            )
            _change(connection, order_id, status=str(WorkStatus.FAILED), fault=fault, updated_at=now)
        return len(without_worker)

    async def renew(self, claim: WorkClaim, ttl_s: float) -> bool:
        """Extend a claim; False when the order was cancelled or taken over."""
        now = self._clock.now()
        query = _held(claim).values(claim_expires_at=now + timedelta(seconds=ttl_s), updated_at=now)
        return await self._database.write_one(lambda connection: connection.execute(query).rowcount == 1)

    async def finish(self, claim: WorkClaim, result: Report) -> bool:
        """Store the answer; False when the claim is not the current one."""
        return await self._end(_held(claim), status=str(WorkStatus.DONE), result=dumps(result), fault=None) == 1

    async def fail(self, claim: WorkClaim, fault: str) -> bool:
        """Store that the machine failed; False when the claim is not the current one."""
        return await self._end(_held(claim), status=str(WorkStatus.FAILED), fault=fault) == 1

    @writes
    def release(self, connection: Connection, claim: WorkClaim) -> bool:
        """Put an order back as if nobody had claimed it; False when the claim is not the current one."""
        now = self._clock.now()
        put_back = _held(claim).values(
            status=str(WorkStatus.QUEUED), attempts=work_orders.c.attempts - 1, taken_at=None, updated_at=now
        )
        released = connection.execute(put_back.returning(*SETTLED)).one_or_none()
        if released is None:
            return False
        refund(connection, released)
        _change(connection, claim.order.id, charged_s=0.0)
        return True

    async def cancel(self, job_id: str) -> None:
        """End the job's orders that are not done."""
        query = update(work_orders).where(work_orders.c.job_id == job_id, work_orders.c.status.in_(_OPEN))
        await self._end(query, status=str(WorkStatus.CANCELLED), fault="the job was cancelled")

    async def _end(self, orders: Update, **values: Any) -> int:
        """Write how orders end and settle what their teams used; how many there were."""
        now = self._clock.now()
        query = orders.values(**values, updated_at=now).returning(*SETTLED)

        def work(connection: Connection) -> int:
            ended = connection.execute(query).all()
            for row in ended:
                settle(connection, row, now)
            return len(ended)

        return await self._database.write(work)


def _held(claim: WorkClaim) -> Update:
    """A change of the order that a claim is for, while the claim is the current one."""
    return update(work_orders).where(
        work_orders.c.id == claim.order.id,
        work_orders.c.team_id == claim.order.request.team_id,
        work_orders.c.claim_token == claim.token,
        work_orders.c.status == WorkStatus.RUNNING,
    )


def _claimed(connection: Connection, row: Row[Any], owner: str, offer: Offer, now: datetime, ttl_s: float) -> WorkClaim:
    expires_at, token = now + timedelta(seconds=ttl_s), row.claim_token + 1
    _change(
        connection,
        row.id,
        status=str(WorkStatus.RUNNING),
        claim_owner=owner,
        claim_token=token,
        claim_expires_at=expires_at,
        attempts=row.attempts + 1,
        evaluator=offer.evaluator,
        taken_at=now,
        charged_s=row.expected_s,
        updated_at=now,
    )
    order = _order(connection, row)
    # Last: other claims of the team wait for its share's row.
    charge(connection, row.team_id, row.device, row.expected_s)
    return WorkClaim(order=order, owner=owner, token=token, expires_at=expires_at)


def _without_worker(now: datetime, older_s: float) -> Select[Any]:
    answered = work_orders.alias()
    seen = now - timedelta(seconds=NODE_TTL_S)
    has = select(nodes.c.name).where(
        nodes.c.role == NodeRole.WORKER, nodes.c.evaluator == answered.c.evaluator, nodes.c.seen_at > seen
    )
    return (
        select(work_orders.c.id, answered.c.evaluator)
        .join(answered, answered.c.job_id == work_orders.c.job_id)
        .where(
            work_orders.c.status == WorkStatus.QUEUED,
            work_orders.c.kind != COMPILATION,
            answered.c.kind != COMPILATION,
            work_orders.c.updated_at <= now - timedelta(seconds=older_s),
            answered.c.status == WorkStatus.DONE,
            answered.c.evaluator.is_not(None),
            ~has.exists(),
        )
        .distinct()
        .limit(100)
    )


def _row(connection: Connection, order_id: str) -> Row[Any]:
    row = connection.execute(select(work_orders).where(work_orders.c.id == order_id)).one_or_none()
    if row is None:
        raise NotFoundError(f"no work order {order_id}")
    return row


def _change(connection: Connection, order_id: str, **values: Any) -> None:
    connection.execute(update(work_orders).where(work_orders.c.id == order_id).values(**values))


def _to_row(connection: Connection, order: WorkOrder) -> dict[str, Any]:
    request = order.request
    problem = None if isinstance(request, CompileRequest) else request.problem.source
    source = None if isinstance(request, ValidationRequest) else request.source
    hashes = put_texts(connection, request.team_id, [text for text in (problem, source) if text is not None])
    return row_of(
        work_orders,
        request,
        id=order.id,
        kind=next(kind for kind, (asked, _) in _KINDS.items() if isinstance(request, asked)),
        request=dumps(_with_texts(request, "", "")),
        problem_hash=hashes[0],  # of a compilation, which has no problem, its source's
        source_hash=None if source is None else hashes[-1],
    )


def _order(connection: Connection, row: Row[Any]) -> WorkOrder:
    texts = get_order_texts(connection, row.team_id, [row.problem_hash, row.source_hash])
    bare = loads(_KINDS[row.kind][0], row.request)
    return WorkOrder(id=row.id, request=_with_texts(bare, texts[row.problem_hash], texts.get(row.source_hash, "")))


def _with_texts(request: Request, problem: str, source: str) -> Request:
    """A request with these texts of its problem and its candidate, as far as its kind has them."""
    if isinstance(request, CompileRequest):
        return replace(request, source=source)
    whole = replace(request, problem=replace(request.problem, source=problem))
    return whole if isinstance(whole, ValidationRequest) else replace(whole, source=source)


_KINDS: dict[str, tuple[type[Request], type[Report]]] = {
    VALIDATION: (ValidationRequest, ValidationReport),
    EVALUATION: (EvaluationRequest, EvaluationReport),
    COMPILATION: (CompileRequest, CompileReport),
}
"""What is asked by an order of each kind, and what answers it."""


def _state(row: Row[Any]) -> WorkState:
    result: Report | None = None if row.result is None else loads(_KINDS[row.kind][1], row.result)
    return WorkState(
        status=WorkStatus(row.status), result=result, fault=row.fault, claim_expires_at=row.claim_expires_at
    )
