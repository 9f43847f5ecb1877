"""Whose order a worker takes next, and what the teams' device seconds come to. Functions over the caller's transaction.

A team's `used_s` is its virtual time on a device (start-time fair queueing, Goyal et al., SIGCOMM 1996): the seconds
that it used, divided by its weight. Who has used least goes next. An order is charged what the team's orders of its
kind took lately when it is taken, and what it really took when it ends, so that a team cannot take every free worker
at once. Kinds are told apart because validations take seconds and evaluations may take minutes: a mean of both lets a
team take ten evaluations for the price of one, and then wait while all others catch up. For the same reason an order
that runs for longer than it was charged counts with every second that it does. A team that asked for nothing
meanwhile saves up no more than `CREDIT_S`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, Subquery, and_, case, extract, func, or_, select, update

from services.domain.nodes import Offer
from services.domain.work import CREDIT_S, FIRST_S, LEARNED, WorkStatus
from storage.db.statements import insert_new
from storage.tables import device_shares, jobs, teams, work_orders

COMPILATION, VALIDATION = "compilation", "validation"


def next_order(connection: Connection, owner: str, offer: Offer, now: datetime) -> Row[Any] | None:
    """The open order that a worker takes next, its row locked, and the seconds that it will take as `expected_s`; None
    where there is none for its offer.

    What the worker's earlier process died on comes first. Then the team with the fewest device seconds, its most
    urgent job, its oldest order."""
    late = _late(offer.device, now)
    turn = _turn(offer.device, func.coalesce(late.c.late_s / late.c.weight, 0.0))
    query = (
        select(work_orders, _expected(offer.device).label("expected_s"))
        .outerjoin(
            device_shares,
            and_(device_shares.c.team_id == work_orders.c.team_id, device_shares.c.device == work_orders.c.device),
        )
        .outerjoin(late, late.c.team_id == work_orders.c.team_id)
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


def charge(connection: Connection, team_id: str, device: str, expected_s: float) -> None:
    """Charge a team for an order that is taken."""
    own = and_(device_shares.c.team_id == team_id, device_shares.c.device == device)
    began = _turn(device)
    used = began + expected_s / _weight(team_id)
    taken = update(device_shares).where(own).values(began_s=began, used_s=used)
    if connection.execute(taken).rowcount == 0:
        row = {"team_id": team_id, "device": device, "used_s": 0.0, "began_s": 0.0, "mean_s": 0.0, "validation_s": 0.0}
        insert_new(connection, device_shares, [row])
        connection.execute(taken)


def settle(connection: Connection, ended: Row[Any], now: datetime) -> None:
    """Charge what an order really took; nothing for one that nobody had taken."""
    if ended.taken_at is None:
        return
    seconds = max(0.0, (now - ended.taken_at).total_seconds())
    mean = device_shares.c.validation_s if ended.kind == VALIDATION else device_shares.c.mean_s
    learned = case((mean > 0, (1 - LEARNED) * mean + LEARNED * seconds), else_=seconds)
    own = and_(device_shares.c.team_id == ended.team_id, device_shares.c.device == ended.device)
    used = device_shares.c.used_s + (seconds - ended.charged_s) / _weight(ended.team_id)
    connection.execute(update(device_shares).where(own).values({"used_s": used, mean.name: learned}))


SETTLED = (
    work_orders.c.team_id,
    work_orders.c.device,
    work_orders.c.kind,
    work_orders.c.taken_at,
    work_orders.c.charged_s,
)
"""What `settle` reads of an order."""


def _expected(device: str) -> ColumnElement[float]:
    """What an order will take: as the team's own of its kind did lately, else as other teams' do, else a guess."""
    checks = work_orders.c.kind == VALIDATION
    return case((checks, _usual(device, "validation_s")), else_=_usual(device, "mean_s"))


def _usual(device: str, mean: str) -> ColumnElement[float]:
    others = device_shares.alias()
    own, theirs = device_shares.c[mean], others.c[mean]
    usual = select(func.avg(theirs)).where(others.c.device == device, theirs > 0).scalar_subquery()
    return case((own > 0, own), else_=func.coalesce(usual, FIRST_S))


def _late(device: str, now: datetime) -> Subquery:
    """By team, the seconds that its living claims have taken beyond what they were charged, and its weight."""
    late = now.timestamp() - extract("epoch", work_orders.c.taken_at) - work_orders.c.charged_s
    return (
        select(work_orders.c.team_id, teams.c.weight, func.sum(late).label("late_s"))
        .join(teams, teams.c.id == work_orders.c.team_id)
        .where(work_orders.c.device == device, work_orders.c.status == WorkStatus.RUNNING)
        .where(work_orders.c.claim_expires_at > now, late > 0)
        .group_by(work_orders.c.team_id, teams.c.weight)
        .subquery()
    )


def _turn(device: str, late: ColumnElement[float] | float = 0.0) -> ColumnElement[float]:
    """A team's device seconds by its weight, as far as they count: not further behind than `CREDIT_S`."""
    others = device_shares.alias()
    latest = select(func.max(others.c.began_s)).where(others.c.device == device).scalar_subquery()
    floor = func.coalesce(latest, 0.0) - CREDIT_S
    used = func.coalesce(device_shares.c.used_s, 0.0) + late
    return case((used > floor, used), else_=floor)


def _weight(team_id: str) -> ColumnElement[float]:
    """The team's share beside the others'."""
    return select(teams.c.weight).where(teams.c.id == team_id).scalar_subquery()


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
