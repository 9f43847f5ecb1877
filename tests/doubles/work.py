"""Work orders and nodes in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from services.domain.errors import NotFoundError
from services.domain.nodes import FAULT_TTL_S, NODE_TTL_S, NodeRole, NodeState, Offer, ServiceNode
from services.domain.validations import ValidationRequest
from services.domain.work import (
    ATTEMPTS,
    CREDIT_S,
    FIRST_S,
    LEARNED,
    CompileRequest,
    Report,
    Request,
    WorkClaim,
    WorkOrder,
    WorkState,
    WorkStatus,
)
from services.ports.work import NodeRegistry, WorkStore
from tests.doubles.database import InMemoryDatabase

_OPEN = (WorkStatus.QUEUED, WorkStatus.RUNNING)


@dataclass(kw_only=True)
class _Placed:
    """An order with what became of it so far."""

    order: WorkOrder
    placed_at: datetime
    updated_at: datetime
    status: WorkStatus = WorkStatus.QUEUED
    result: Report | None = None
    fault: str | None = None
    owner: str | None = None
    token: int = 0
    expires_at: datetime | None = None
    attempts: int = 0
    evaluator: str | None = None
    taken_at: datetime | None = None
    charged_s: float = 0.0

    @property
    def mixes(self) -> bool:
        """Whether it may be done by any evaluator."""
        return isinstance(self.order.request, CompileRequest)

    @property
    def state(self) -> WorkState:
        """As others see it."""
        return WorkState(status=self.status, result=self.result, fault=self.fault, claim_expires_at=self.expires_at)


@dataclass(kw_only=True)
class _Share:
    """What a team has used of a device, divided by its weight."""

    used_s: float = 0.0
    began_s: float = 0.0
    """What it had used when it took its last order."""
    means_s: dict[bool, float] = field(default_factory=dict)
    """What its orders took lately: validations, and others."""


class InMemoryWorkStore(WorkStore):
    """A `WorkStore` with claims, fencing and turns by team."""

    def __init__(self, database: InMemoryDatabase) -> None:
        self._database = database
        self._orders: dict[str, _Placed] = {}
        self._shares: dict[tuple[str, str], _Share] = {}
        """By team and device."""

    async def place(self, order: WorkOrder) -> WorkState:
        """Store an order as queued; one that is known stays as it is, unless it failed or was cancelled."""
        now, known = self._database.clock.now(), self._orders.get(order.id)
        if known is None:
            known = self._orders[order.id] = _Placed(order=order, placed_at=now, updated_at=now)
        elif known.status in (WorkStatus.FAILED, WorkStatus.CANCELLED):
            known.status, known.fault, known.attempts = WorkStatus.QUEUED, None, 0
            known.taken_at, known.charged_s, known.updated_at = None, 0.0, now
        return known.state

    async def state(self, order_id: str) -> WorkState:
        """What is known about an order. Raises `NotFoundError`."""
        if order_id not in self._orders:
            raise NotFoundError(f"no work order {order_id}")
        return self._orders[order_id].state

    async def held(self, order_id: str, owner: str, token: int) -> WorkClaim | None:
        """The claim on an order, where it is this owner's and the current one."""
        placed = self._orders.get(order_id)
        if placed is None or placed.status is not WorkStatus.RUNNING or placed.expires_at is None:
            return None
        if (placed.owner, placed.token) != (owner, token):
            return None
        return WorkClaim(order=placed.order, owner=owner, token=token, expires_at=placed.expires_at)

    async def take(self, owner: str, ttl_s: float, offer: Offer) -> WorkClaim | None:
        """Claim the order whose turn it is, of those that the offer fits."""
        while waiting := list(self._waiting_for(owner, offer)):
            content = self._content(offer)
            placed = min(waiting, key=lambda one: self._rank(one, owner, content))
            if placed.attempts < ATTEMPTS:
                return self._claim(placed, owner, ttl_s, offer)
            placed.status, placed.fault = WorkStatus.FAILED, f"the worker died {placed.attempts} times on it"
        return None

    async def ended(self, order_ids: Sequence[str]) -> Mapping[str, WorkState]:
        """Those of some orders that have ended."""
        known = {name: self._orders[name] for name in order_ids if name in self._orders}
        return {name: placed.state for name, placed in known.items() if placed.status not in _OPEN}

    async def waiting(self) -> Mapping[str, int]:
        """How many open orders nobody works on, by device."""
        return Counter(placed.order.request.device for placed in self._orders.values() if self._unclaimed(placed))

    async def expire(self, older_s: float) -> int:
        """Fail orders queued for so long whose job another evaluator began that no worker has any more."""
        now, failed = self._database.clock.now(), 0
        for placed in self._orders.values():
            gone = self._evaluators_of(placed) - self._present()
            old = placed.updated_at <= now - timedelta(seconds=older_s)
            if placed.status is WorkStatus.QUEUED and old and gone and not placed.mixes:
                placed.status, placed.updated_at, failed = WorkStatus.FAILED, now, failed + 1
                placed.fault = (
                    f"the job was begun under the evaluator {min(gone)!r}, and no worker with it is left: start one, "
                    "or submit the job again"
                )
        return failed

    async def renew(self, claim: WorkClaim, ttl_s: float) -> bool:
        """Extend a claim; False when the order was cancelled or taken over."""
        placed = self._held(claim)
        if placed is None:
            return False
        placed.updated_at = self._database.clock.now()
        placed.expires_at = placed.updated_at + timedelta(seconds=ttl_s)
        return True

    async def finish(self, claim: WorkClaim, result: Report) -> bool:
        """Store the answer; False when the claim is not the current one."""
        placed = self._held(claim)
        if placed is None:
            return False
        placed.result = result
        self._end(placed, WorkStatus.DONE, None)
        return True

    async def fail(self, claim: WorkClaim, fault: str) -> bool:
        """Store that the machine failed; False when the claim is not the current one."""
        placed = self._held(claim)
        if placed is None:
            return False
        self._end(placed, WorkStatus.FAILED, fault)
        return True

    async def release(self, claim: WorkClaim) -> bool:
        """Put an order back as if nobody had claimed it; False when the claim is not the current one."""
        placed = self._held(claim)
        if placed is None:
            return False
        request = placed.order.request
        share = self._shares[request.team_id, request.device]
        share.used_s -= placed.charged_s / self._database.weight(request.team_id)
        placed.status, placed.attempts = WorkStatus.QUEUED, placed.attempts - 1
        placed.taken_at, placed.charged_s, placed.updated_at = None, 0.0, self._database.clock.now()
        return True

    async def cancel(self, job_id: str) -> None:
        """End the job's orders that are not done."""
        for placed in self._orders.values():
            if placed.order.request.job_id == job_id and placed.status in _OPEN:
                self._end(placed, WorkStatus.CANCELLED, "the job was cancelled")

    def _held(self, claim: WorkClaim) -> _Placed | None:
        placed = self._orders[claim.order.id]
        return placed if placed.token == claim.token and placed.status is WorkStatus.RUNNING else None

    def _unclaimed(self, placed: _Placed) -> bool:
        silent = placed.expires_at is not None and placed.expires_at <= self._database.clock.now()
        return placed.status is WorkStatus.QUEUED or (placed.status is WorkStatus.RUNNING and silent)

    def _waiting_for(self, owner: str, offer: Offer) -> Iterator[_Placed]:
        for placed in self._orders.values():
            request = placed.order.request
            fits = request.device == offer.device and request.backend in offer.backends
            comparable = placed.mixes or self._evaluators_of(placed) <= {offer.evaluator}
            if fits and comparable and (self._unclaimed(placed) or _is_own(placed, owner)):
                yield placed

    def _evaluators_of(self, placed: _Placed) -> set[str]:
        """Who has answered for an order's job."""
        job = placed.order.request.job_id
        done = (one for one in self._orders.values() if one.status is WorkStatus.DONE and not one.mixes)
        return {one.evaluator for one in done if one.order.request.job_id == job and one.evaluator is not None}

    def _present(self) -> set[str | None]:
        seen = self._database.clock.now() - timedelta(seconds=NODE_TTL_S)
        nodes = self._database.nodes.values()
        return {node.evaluator for node in nodes if node.role is NodeRole.WORKER and node.seen_at > seen}

    def _content(self, offer: Offer) -> set[str]:
        """Teams with work waiting to which one more worker would give more than their part, by weight, of those that
        such teams hold."""
        there = [one for one in self._orders.values() if one.order.request.device == offer.device]
        fitting = (one for one in there if one.order.request.backend in offer.backends)
        waiting = {one.order.request.team_id for one in fitting if self._unclaimed(one)}
        running = (one for one in there if one.status is WorkStatus.RUNNING and not self._unclaimed(one))
        held = Counter(one.order.request.team_id for one in running)
        workers = sum(held[team] for team in waiting) + 1
        weights = {team: self._database.weight(team) for team in waiting}
        return {team for team in waiting if held[team] + 1 > workers * weights[team] / sum(weights.values())}

    def _rank(
        self, placed: _Placed, owner: str, content: Collection[str]
    ) -> tuple[bool, bool, float, int, datetime, str]:
        """First what the worker's earlier process died on, then teams that hold too few workers, of these the least
        served team's most urgent and oldest."""
        request = placed.order.request
        job = self._database.jobs.get(request.job_id)
        urgency = 0 if job is None else -job.spec.priority
        turn = self._turn(request.team_id, request.device, self._late_s(request.team_id, request.device))
        is_content = request.team_id in content
        return not _is_own(placed, owner), is_content, turn, urgency, placed.placed_at, placed.order.id

    def _late_s(self, team_id: str, device: str) -> float:
        """Seconds that a team's living claims have taken beyond what they were charged, by its weight."""
        now, late_s = self._database.clock.now(), 0.0
        for one in self._orders.values():
            request = one.order.request
            if one.status is not WorkStatus.RUNNING or (request.team_id, request.device) != (team_id, device):
                continue
            if one.taken_at is not None and one.expires_at is not None and one.expires_at > now:
                late_s += max(0.0, (now - one.taken_at).total_seconds() - one.charged_s)
        return late_s / self._database.weight(team_id)

    def _turn(self, team_id: str, device: str, late_s: float = 0.0) -> float:
        """A team's device seconds, not further behind the others than `CREDIT_S`."""
        latest = max((share.began_s for (_, name), share in self._shares.items() if name == device), default=0.0)
        return max(self._shares.get((team_id, device), _Share()).used_s + late_s, latest - CREDIT_S)

    def _claim(self, placed: _Placed, owner: str, ttl_s: float, offer: Offer) -> WorkClaim:
        now, request = self._database.clock.now(), placed.order.request
        began = self._turn(request.team_id, request.device)
        share = self._shares.setdefault((request.team_id, request.device), _Share())
        placed.charged_s = self._expected(share, request)
        share.began_s = began
        share.used_s = began + placed.charged_s / self._database.weight(request.team_id)
        placed.status, placed.owner, placed.evaluator = WorkStatus.RUNNING, owner, offer.evaluator
        placed.token, placed.attempts = placed.token + 1, placed.attempts + 1
        placed.taken_at = placed.updated_at = now
        placed.expires_at = now + timedelta(seconds=ttl_s)
        return WorkClaim(order=placed.order, owner=owner, token=placed.token, expires_at=placed.expires_at)

    def _expected(self, own: _Share, request: Request) -> float:
        """What an order will take: as the team's own did lately, else as other teams' do, else a guess."""
        kind = isinstance(request, ValidationRequest)
        if kind in own.means_s:
            return own.means_s[kind]
        shares = (share for (_, device), share in self._shares.items() if device == request.device)
        known = [share.means_s[kind] for share in shares if kind in share.means_s]
        return sum(known) / len(known) if known else FIRST_S

    def _end(self, placed: _Placed, status: WorkStatus, fault: str | None) -> None:
        """Say how an order ended, and charge what it really took."""
        placed.status, placed.fault, placed.updated_at = status, fault, self._database.clock.now()
        if placed.taken_at is None:
            return
        request = placed.order.request
        share = self._shares[request.team_id, request.device]
        seconds = (placed.updated_at - placed.taken_at).total_seconds()
        share.used_s += (seconds - placed.charged_s) / self._database.weight(request.team_id)
        kind = isinstance(request, ValidationRequest)
        mean_s = share.means_s.get(kind)
        share.means_s[kind] = seconds if mean_s is None else (1 - LEARNED) * mean_s + LEARNED * seconds


def _is_own(placed: _Placed, owner: str) -> bool:
    return placed.status is WorkStatus.RUNNING and placed.owner == owner


class InMemoryNodeRegistry(NodeRegistry):
    """A `NodeRegistry` over the doubles' database, whose work orders ask who is there."""

    def __init__(self, database: InMemoryDatabase) -> None:
        self._database = database

    async def register(self, node: ServiceNode) -> None:
        """Keep a node, over an earlier one of its name."""
        self._database.nodes[node.name] = replace(node, seen_at=self._database.clock.now())

    async def beat(self, name: str, *, load: float = 0.0, busy_s: float = 0.0, done: int = 0) -> bool:
        """Say that a node is there; False for an unknown one, or one listed as refused."""
        known, now = self._database.nodes.get(name), self._database.clock.now()
        if known is None or known.state is NodeState.REFUSED:
            return False
        self._database.nodes[name] = replace(known, seen_at=now, load=load, busy_s=busy_s, done=done)
        return True

    async def drain(self, name: str) -> None:
        """Mark a node that takes nothing new."""
        if name in self._database.nodes:
            self._database.nodes[name] = replace(self._database.nodes[name], state=NodeState.DRAINING)

    async def leave(self, name: str) -> None:
        """Remove a node."""
        self._database.nodes.pop(name, None)

    async def refuse(self, node: ServiceNode, fault: str) -> None:
        """Keep a worker that could not begin, with the reason."""
        await self.register(replace(node, state=NodeState.REFUSED, fault=fault))

    async def living(self, role: NodeRole | None = None) -> tuple[ServiceNode, ...]:
        """Nodes seen lately, and those refused not long ago, by name."""
        nodes = sorted(self._database.nodes.values(), key=lambda node: node.name)
        return tuple(node for node in nodes if self._is_listed(node) and role in (None, node.role))

    def _is_listed(self, node: ServiceNode) -> bool:
        ttl_s = FAULT_TTL_S if node.state is NodeState.REFUSED else NODE_TTL_S
        return node.seen_at > self._database.clock.now() - timedelta(seconds=ttl_s)
