"""Whose order a worker takes next, and what the teams' device seconds come to. Functions over the caller's transaction.

A team with work waiting goes first while it holds fewer workers than its weight entitles it to: its part of those that
all teams with work waiting hold, this worker included. The device seconds of any stretch of time are the workers held
during it, so that nobody waits for others to catch up. Among equals goes the team that has used least.

A team's `used_s` is its virtual time on a device (start-time fair queueing, Goyal et al., SIGCOMM 1996): the seconds
that it used, divided by its weight. An order is charged what the team's orders of its
kind took lately when it is taken, and what it really took when it ends, so that a team cannot take every free worker
at once. Kinds are told apart because validations take seconds and evaluations may take minutes: a mean of both lets a
team take ten evaluations for the price of one, and then wait while all others catch up. For the same reason an order
that runs for longer than it was charged counts with every second that it does. A team that asked for nothing
meanwhile saves up no more than `CREDIT_S`.
"""

from __future__ import annotations

import functools
from datetime import datetime
from typing import Any

from sqlalchemy import (
    CTE,
    BindParameter,
    ColumnElement,
    Connection,
    Float,
    Row,
    Select,
    Text,
    and_,
    bindparam,
    case,
    extract,
    func,
    not_,
    or_,
    select,
    update,
)

from services.domain.nodes import Offer
from services.domain.work import CREDIT_S, FIRST_S, LEARNED, WorkStatus
from storage.db.statements import insert_new
from storage.tables import device_shares, jobs, teams, work_orders

Device = str | BindParameter[str]
OWNER, DEVICE, EVALUATOR = (bindparam(name, type_=Text()) for name in ("owner", "device", "evaluator"))
BACKENDS: BindParameter[Any] = bindparam("backends", expanding=True)
NOW: BindParameter[Any] = bindparam("now")
NOW_S = bindparam("now_s", type_=Float())
COMPILATION, VALIDATION = "compilation", "validation"


def next_order(connection: Connection, owner: str, offer: Offer, now: datetime) -> Row[Any] | None:
    """The open order that a worker takes next, its row locked, and the seconds that it will take as `expected_s`; None
    where there is none for its offer.

    What the worker's earlier process died on comes first. Then teams that hold fewer workers than they are entitled to,
    of these the team with the fewest device seconds, its most urgent job, its oldest order."""
    asked = {
        "owner": owner,
        "device": offer.device,
        "backends": offer.backends,
        "evaluator": offer.evaluator,
        "now": now,
        "now_s": now.timestamp(),
    }
    return connection.execute(_next_order(), asked).one_or_none()


@functools.cache
def _next_order() -> Select[Any]:
    """The statement for `next_order`, whose parameters are named as there: to build it takes as long as to run it."""
    waiting = _waiting()
    turn = _turn(DEVICE, func.coalesce(waiting.c.late_s / waiting.c.weight, 0.0))
    query = (
        select(work_orders, _expected(DEVICE).label("expected_s"))
        .outerjoin(
            device_shares,
            and_(device_shares.c.team_id == work_orders.c.team_id, device_shares.c.device == work_orders.c.device),
        )
        .outerjoin(waiting, waiting.c.team_id == work_orders.c.team_id)
        .outerjoin(jobs, jobs.c.id == work_orders.c.job_id)
        .where(work_orders.c.device == DEVICE, work_orders.c.backend.in_(BACKENDS))
        .where(or_(unclaimed(NOW), _own()), _comparable())
        .order_by(case((_own(), 0), else_=1), func.coalesce(waiting.c.has_its_part, 0), turn)
        .order_by(func.coalesce(jobs.c.rank, 0))
        .order_by(work_orders.c.created_at, work_orders.c.id)
        .limit(1)
    )
    # Two workers on PostgreSQL look past one another's choice; SQLite has one writer at a time anyway.
    return query.with_for_update(of=work_orders, skip_locked=True)


def unclaimed(now: datetime | BindParameter[Any]) -> ColumnElement[bool]:
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


def refund(connection: Connection, released: Row[Any]) -> None:
    """Take back what a team was charged for an order that its worker put back."""
    own = and_(device_shares.c.team_id == released.team_id, device_shares.c.device == released.device)
    used = device_shares.c.used_s - released.charged_s / _weight(released.team_id)
    connection.execute(update(device_shares).where(own).values(used_s=used))


SETTLED = (
    work_orders.c.team_id,
    work_orders.c.device,
    work_orders.c.kind,
    work_orders.c.taken_at,
    work_orders.c.charged_s,
)
"""What `settle` reads of an order."""


def _expected(device: Device) -> ColumnElement[float]:
    """What an order will take: as the team's own of its kind did lately, else as other teams' do, else a guess."""
    checks = work_orders.c.kind == VALIDATION
    return case((checks, _usual(device, "validation_s")), else_=_usual(device, "mean_s"))


def _usual(device: Device, mean: str) -> ColumnElement[float]:
    others = device_shares.alias()
    own, theirs = device_shares.c[mean], others.c[mean]
    usual = select(func.avg(theirs)).where(others.c.device == device, theirs > 0).scalar_subquery()
    return case((own > 0, own), else_=func.coalesce(usual, FIRST_S))


def _waiting() -> CTE:
    """Teams with an order that waits for such a worker: whether one more worker is more than a team is entitled to, the
    seconds that its living claims have taken beyond what they were charged, and its weight.

    Materialised: PostgreSQL, which expects few open orders, would group them again for each."""
    open_ = work_orders.alias()
    living = and_(open_.c.status == WorkStatus.RUNNING, open_.c.claim_expires_at > NOW)
    waits = and_(not_(living), open_.c.backend.in_(BACKENDS))
    late = NOW_S - extract("epoch", open_.c.taken_at) - open_.c.charged_s
    held = func.sum(case((living, 1), else_=0))
    part = (func.sum(held).over() + 1) * teams.c.weight / func.sum(teams.c.weight).over()
    return (
        select(
            open_.c.team_id,
            teams.c.weight,
            case((held + 1 > part, 1), else_=0).label("has_its_part"),
            func.sum(case((and_(living, late > 0), late), else_=0.0)).label("late_s"),
        )
        .join(teams, teams.c.id == open_.c.team_id)
        .where(open_.c.device == DEVICE, open_.c.status.in_((WorkStatus.QUEUED, WorkStatus.RUNNING)))
        .group_by(open_.c.team_id, teams.c.weight)
        .having(func.sum(case((waits, 1), else_=0)) > 0)
        .cte("waiting")
        .prefix_with("MATERIALIZED", dialect="postgresql")
    )


def _turn(device: Device, late: ColumnElement[float] | float = 0.0) -> ColumnElement[float]:
    """A team's device seconds by its weight, as far as they count: not further behind than `CREDIT_S`."""
    others = device_shares.alias()
    latest = select(func.max(others.c.began_s)).where(others.c.device == device).scalar_subquery()
    floor = func.coalesce(latest, 0.0) - CREDIT_S
    used = func.coalesce(device_shares.c.used_s, 0.0) + late
    return case((used > floor, used), else_=floor)


def _weight(team_id: str) -> ColumnElement[float]:
    """The team's share beside the others'."""
    return select(teams.c.weight).where(teams.c.id == team_id).scalar_subquery()


def _own() -> ColumnElement[bool]:
    """What an earlier process of this worker held: it is dead then, for a worker does one order at a time."""
    return and_(work_orders.c.status == WorkStatus.RUNNING, work_orders.c.claim_owner == OWNER)


def _comparable() -> ColumnElement[bool]:
    """Whether no other evaluator has answered for the same job. A compilation mixes with anything."""
    answered = work_orders.alias()
    other: Select[Any] = select(answered.c.id).where(
        answered.c.job_id == work_orders.c.job_id,
        answered.c.kind != COMPILATION,
        answered.c.status == WorkStatus.DONE,
        answered.c.evaluator.is_not(None),
        answered.c.evaluator != EVALUATOR,
    )
    return or_(work_orders.c.kind == COMPILATION, ~other.exists())
