"""Work for device nodes that reach the API and nothing else: orders to take, claims to keep, answers to give.

A node holds a token that names its devices. It sees the orders that it claimed, one at a time, and nothing else of any
team; what it says about itself and its claims is kept under the token's id, so that no other token can speak for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace

from services.domain.access import Principal
from services.domain.errors import ConflictError, ForbiddenError, NotFoundError
from services.domain.evaluations import EvaluationReport, EvaluationRequest
from services.domain.nodes import NodeRole, NodeState, Offer, ServiceNode
from services.domain.work import Report, WorkClaim, report_kind
from services.jobs.machine_code import with_machine_code_kept
from services.ports.jobs import ArtefactStore, JobStore
from services.ports.runtime import Clock
from services.ports.work import NodeRegistry, WorkStore

log = logging.getLogger(__name__)
LOOK_S = 0.25
"""Pause between checks for an order that a node waits for; all nodes share the checks."""
LEAST_TTL_S, MOST_TTL_S = 3.0, 600.0


class NodeWork:
    """What a node may do at the API."""

    def __init__(
        self,
        orders: WorkStore,
        nodes: NodeRegistry,
        jobs: JobStore,
        artefacts: ArtefactStore,
        clock: Clock,
        version: str,
    ) -> None:
        """`version` is the program's: figures of other versions are not comparable."""
        self._orders = orders
        self._nodes = nodes
        self._jobs = jobs
        self._artefacts = artefacts
        self._clock = clock
        self._version = version
        self._looked_at: float | None = None
        self._waiting: Mapping[str, int] = {}

    def check_version(self, caller: Principal, name: str, version: str) -> None:
        """Raise `ConflictError` for a node of another version."""
        if version != self._version:
            why = (
                f"this node is version {version}, and the server {self._version}: install the same version on the node"
            )
            log.warning("refused the node %s: %s", _owned(caller, name), why)
            raise ConflictError(why)

    async def take(
        self, caller: Principal, name: str, ttl_s: float, offer: Offer, *, wait_s: float, stopping: asyncio.Event
    ) -> WorkClaim | None:
        """Claim the order whose turn it is; if there is none, wait a while for one.

        Raises `ForbiddenError` for a device that is not the token's."""
        _check_device(caller, offer.device)
        owner, ttl_s = _owned(caller, name), min(max(ttl_s, LEAST_TTL_S), MOST_TTL_S)
        until = self._clock.monotonic() + wait_s
        claim = await self._orders.take(owner, ttl_s, offer)
        while claim is None and self._clock.monotonic() < until and not stopping.is_set():
            await self._clock.sleep(LOOK_S)
            if await self._may_find(offer.device):
                claim = await self._orders.take(owner, ttl_s, offer)
        if claim is not None:
            log.info("%s took %s of job %s", owner, claim.order.id, claim.order.request.job_id)
        return claim

    async def renew(self, caller: Principal, name: str, order_id: str, token: int, ttl_s: float) -> bool:
        """Keep a claim; False where it is gone: stop working on it."""
        claim = await self._orders.held(order_id, _owned(caller, name), token)
        return claim is not None and await self._orders.renew(claim, min(max(ttl_s, LEAST_TTL_S), MOST_TTL_S))

    async def finish(self, caller: Principal, name: str, order_id: str, token: int, report: Report) -> bool:
        """Store an answer; False where the claim is gone. Raises `ConflictError` for an answer to another question."""
        claim = await self._orders.held(order_id, _owned(caller, name), token)
        if claim is None:
            log.warning("refused a report of %s on %s: it does not hold it", _owned(caller, name), order_id)
            return False
        request = claim.order.request
        if not isinstance(report, report_kind(request)):
            raise ConflictError(f"the order {order_id} asks for another kind of report")
        if isinstance(report, EvaluationReport) and isinstance(request, EvaluationRequest):
            report = await with_machine_code_kept(report, request, self._artefacts)
        return await self._orders.finish(claim, report)

    async def fail(self, caller: Principal, name: str, order_id: str, token: int, fault: str) -> bool:
        """Store that the node's machine failed; False where the claim is gone."""
        claim = await self._orders.held(order_id, _owned(caller, name), token)
        return claim is not None and await self._orders.fail(claim, fault)

    async def release(self, caller: Principal, name: str, order_id: str, token: int) -> bool:
        """Put an order back for other nodes; False where the claim is gone."""
        claim = await self._orders.held(order_id, _owned(caller, name), token)
        if claim is None or not await self._orders.release(claim):
            return False
        log.warning("%s put %s back", claim.owner, order_id)
        return True

    async def ended(self, jobs: Iterable[tuple[str, str]]) -> tuple[str, ...]:
        """Which of the given jobs, as team and id, have ended: nothing needs to be kept warm for them."""
        return tuple([job_id for team_id, job_id in jobs if await self._is_over(team_id, job_id)])

    async def register(self, caller: Principal, node: ServiceNode) -> None:
        """Show a node among the workers. Raises `ForbiddenError`, and `ConflictError` for one of another version."""
        _check_device(caller, node.device or "")
        self.check_version(caller, node.name, node.version)
        await self._forget_refusals(node.name)
        await self._nodes.register(replace(node, name=_owned(caller, node.name), role=NodeRole.WORKER))

    async def refuse(self, caller: Principal, name: str, *, version: str, device: str, fault: str) -> None:
        """Show a node that could not begin, with the reason; that may be its version, or a device that is not the
        token's."""
        now = self._clock.now()
        log.warning("the node %s did not begin: %s", _owned(caller, name), fault)
        node = ServiceNode(
            name=_owned(caller, name),
            role=NodeRole.WORKER,
            version=version,
            state=NodeState.REFUSED,
            device=device,
            started_at=now,
            seen_at=now,
        )
        await self._nodes.refuse(node, fault)

    async def beat(self, caller: Principal, name: str, *, load: float, busy_s: float, done: int) -> bool:
        """Record that a node is alive; False if it is not known and must register again."""
        return await self._nodes.beat(_owned(caller, name), load=load, busy_s=busy_s, done=done)

    async def drain(self, caller: Principal, name: str) -> None:
        """A node takes nothing new."""
        await self._nodes.drain(_owned(caller, name))

    async def leave(self, caller: Principal, name: str) -> None:
        """A node is gone."""
        await self._nodes.leave(_owned(caller, name))

    async def _forget_refusals(self, name: str) -> None:
        """A node that begins was perhaps refused before, with another token."""
        for node in await self._nodes.living(NodeRole.WORKER):
            if node.state is NodeState.REFUSED and node.name.startswith(f"{name} ("):
                await self._nodes.leave(node.name)

    async def _may_find(self, device: str) -> bool:
        """Whether an order waits for a device, by a check that all waiting nodes share."""
        now = self._clock.monotonic()
        if self._looked_at is None or now - self._looked_at >= LOOK_S:
            self._looked_at = now
            self._waiting = await self._orders.waiting()
        return bool(self._waiting.get(device))

    async def _is_over(self, team_id: str, job_id: str) -> bool:
        try:
            return (await self._jobs.get(team_id, job_id)).status.is_final
        except NotFoundError:
            return True


def _check_device(caller: Principal, device: str) -> None:
    if device not in caller.devices:
        raise ForbiddenError(f"this token is for {', '.join(caller.devices)}, not for the device {device!r}")


def _owned(caller: Principal, name: str) -> str:
    """A node's name, which no node with another token can have."""
    return f"{name} ({caller.token_id})"
