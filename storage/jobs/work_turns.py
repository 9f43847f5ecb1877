"""Whose order a worker takes next, and what the teams' device seconds come to. Functions over the caller's transaction.

A team's `used_s` is its virtual time on a device (start-time fair queueing, Goyal et al., SIGCOMM 1996): who has
used least goes next. An order is charged what the team's orders took lately when it is taken, and what it really took
when it ends, so that a team cannot take every free worker at once. A team that asked for nothing meanwhile saves up
no more than `CREDIT_S`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, case, func, or_, select, update

from services.domain.nodes import Offer
from services.domain.work import CREDIT_S, FIRST_S, LEARNED, WorkStatus
from storage.db.statements import insert_new
from storage.tables import device_shares, jobs, work_orders

COMPILATION = "compilation"


def next_order(connection: Connection, owner: str, offer: Offer, now: datetime) -> Row[Any] | None:
    """The open order that a worker takes next, its row locked; None where there is none for its offer.

    What the worker's earlier process died on comes first. Then the team with the fewest device seconds, its most
    urgent job, its oldest order."""
    turn = _turn(offer.device)
    query = (
        select(work_orders)
        .outerjoin(
            device_shares,
            and_(device_shares.c.team_id == work_orders.c.team_id, device_shares.c.device == work_orders.c.device),
        )
        .outerjoin(jobs, jobs.c.id == work_orders.c.job_id)
        .where(work_orders.c.device == offer.device, work_orders.c.backend.in_(offer.backends))
        .where(or_(unclaimed(now), _own(owner)), _comparable(offer))
        .order_by(case((_own(owner), 0), else_=1), turn, func.coalesce(jobs.c.rank, 0))
        .order_by(work_orders.c.created_at, work_orders.c.id)
        .limit(1)
    )
    # Two workers on PostgreSQL look past one another's choice; SQLite has one writer at a time anyway.
    return connection.execute(query.with_for_update(of=work_orders, skip_locked=True)).one_or_none()


def unclaimed(now: datetime) -> ColumnElement[bool]:
    """Open, and no living claim on it."""
    expired = and_(work_orders.c.status == WorkStatus.RUNNING, work_orders.c.claim_expires_at <= now)
    return or_(work_orders.c.status == WorkStatus.QUEUED, expired)


def charge(connection: Connection, team_id: str, device: str) -> float:
    """Charge a team for an order that is taken; how many seconds that were."""
    began = _turn(device)
    own = and_(device_shares.c.team_id == team_id, device_shares.c.device == device)
    cost = case((device_shares.c.mean_s > 0, device_shares.c.mean_s), else_=FIRST_S)
    taken = update(device_shares).where(own).values(began_s=began, used_s=began + cost).returning(cost)
    charged = connection.execute(taken).scalar_one_or_none()
    if charged is None:
        row = {"team_id": team_id, "device": device, "used_s": 0.0, "began_s": 0.0, "mean_s": 0.0}
        insert_new(connection, device_shares, [row])
        charged = connection.execute(taken).scalar_one()
    return float(charged)


def settle(connection: Connection, ended: Row[Any], now: datetime) -> None:
    """Charge what an order really took; nothing for one that nobody had taken."""
    if ended.taken_at is None:
        return
    seconds = max(0.0, (now - ended.taken_at).total_seconds())
    mean = device_shares.c.mean_s
    learned = case((mean > 0, (1 - LEARNED) * mean + LEARNED * seconds), else_=seconds)
    own = and_(device_shares.c.team_id == ended.team_id, device_shares.c.device == ended.device)
    used = device_shares.c.used_s + (seconds - ended.charged_s)
    connection.execute(update(device_shares).where(own).values(used_s=used, mean_s=learned))


SETTLED = (work_orders.c.team_id, work_orders.c.device, work_orders.c.taken_at, work_orders.c.charged_s)
"""What `settle` reads of an order."""


def _turn(device: str) -> ColumnElement[float]:
    """A team's device seconds, as far as they count: not further behind than `CREDIT_S`."""
    others = device_shares.alias()
    latest = select(func.max(others.c.began_s)).where(others.c.device == device).scalar_subquery()
    floor = func.coalesce(latest, 0.0) - CREDIT_S
    used = func.coalesce(device_shares.c.used_s, 0.0)
    return case((used > floor, used), else_=floor)


def _own(owner: str) -> ColumnElement[bool]:
    """What an earlier process of this worker held: it is dead then, for a worker does one order at a time."""
    return and_(work_orders.c.status == WorkStatus.RUNNING, work_orders.c.claim_owner == owner)


def _comparable(offer: Offer) -> ColumnElement[bool]:
    """Whether no other evaluator has answered for the same job. A compilation mixes with anything."""
    answered = work_orders.alias()
    other: Select[Any] = select(answered.c.id).where(
        answered.c.job_id == work_orders.c.job_id,
        answered.c.kind != COMPILATION,
        answered.c.status == WorkStatus.DONE,
        answered.c.evaluator.is_not(None),
        answered.c.evaluator != offer.evaluator,
    )
    return or_(work_orders.c.kind == COMPILATION, ~other.exists())
