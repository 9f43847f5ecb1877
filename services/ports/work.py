"""Work for devices: the queue, its orders, the workers that take them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from services.domain.evaluations import EvaluationReport, EvaluationRequest
from services.domain.nodes import NodeRole, Offer, ServiceNode
from services.domain.validations import ValidationReport, ValidationRequest
from services.domain.work import Report, WorkClaim, WorkOrder, WorkState


class EvaluationQueue(Protocol):
    """Where work for devices goes. Asking twice with the same id gives the same answer and does the work once."""

    async def validate(self, request: ValidationRequest) -> ValidationReport:
        """Run the problem's reference. Raises `InfrastructureError` when no worker could do it."""

    async def evaluate(self, request: EvaluationRequest) -> EvaluationReport:
        """Judge a candidate. The machine's failures come back as verdict `infrastructure_error`."""

    async def cancel(self, job_id: str) -> None:
        """Stop what runs for a job; its pending calls end with verdict `infrastructure_error`."""

    async def close(self) -> None:
        """Stop taking work and free workers."""


class WorkClaims(Protocol):
    """Work orders as a worker sees them: taken in turn, kept by renewing, answered under a fencing token."""

    async def take(self, owner: str, ttl_s: float, offer: Offer) -> WorkClaim | None:
        """Claim the order whose turn it is, of those that are queued, or whose claim ran out or is this owner's (whose
        earlier process is dead then): of a team that holds fewer workers than its weight entitles it to, else of the
        one that used the device least; its most urgent job's, its oldest.

        None where nothing waits for this offer: another device or backend, or another evaluator has answered for the
        same job. An order that outlived too many claims fails instead."""

    async def renew(self, claim: WorkClaim, ttl_s: float) -> bool:
        """Extend a claim; False when the order was cancelled or taken over: stop working on it."""

    async def finish(self, claim: WorkClaim, result: Report) -> bool:
        """Store the answer; False when the claim is not the current one, and then nothing was written."""

    async def fail(self, claim: WorkClaim, fault: str) -> bool:
        """Store that the machine failed; False like `finish`."""

    async def release(self, claim: WorkClaim) -> bool:
        """Put an order back that this worker cannot do: queued as if nobody had claimed it; False like `finish`."""


class WorkStore(WorkClaims, Protocol):
    """Work orders as rows: placed by who waits, taken and answered by workers."""

    async def place(self, order: WorkOrder) -> WorkState:
        """Store an order as queued; one that is known stays as it is, unless it failed or was cancelled."""

    async def state(self, order_id: str) -> WorkState:
        """What is known about an order. Raises `NotFoundError`."""

    async def held(self, order_id: str, owner: str, token: int) -> WorkClaim | None:
        """The claim on an order, where it is this owner's and the current one."""

    async def ended(self, order_ids: Sequence[str]) -> Mapping[str, WorkState]:
        """Those of some orders that have ended, in one query."""

    async def waiting(self) -> Mapping[str, int]:
        """How many open orders nobody works on, by device."""

    async def expire(self, older_s: float) -> int:
        """Fail orders queued for so long whose job another evaluator began that no worker has any more; how many."""

    async def cancel(self, job_id: str) -> None:
        """End the job's orders that are not done."""


class NodePresence(Protocol):
    """How a process says that it is there."""

    async def register(self, node: ServiceNode) -> None:
        """Write a node's row, over an earlier one of its name."""

    async def beat(self, name: str, *, load: float = 0.0, busy_s: float = 0.0, done: int = 0) -> bool:
        """Say that a node is there and what it has done; False when its row is gone, or lists it as refused:
        register again."""

    async def drain(self, name: str) -> None:
        """Mark a node that takes nothing new."""

    async def leave(self, name: str) -> None:
        """Remove a node's row; harmless where there is none."""

    async def refuse(self, node: ServiceNode, fault: str) -> None:
        """List a worker that could not begin, with the reason, until it registers or `FAULT_TTL_S` is over."""


class NodeRegistry(NodePresence, Protocol):
    """The processes of an installation, as they say of themselves."""

    async def living(self, role: NodeRole | None = None) -> tuple[ServiceNode, ...]:
        """Nodes seen lately, and those refused not long ago, by name."""


class Workbench(Protocol):
    """What does the work behind an `EvaluationQueue`, beside the device: synchronous, one call at a time."""

    def validate(self, request: ValidationRequest, cancelled: Callable[[], bool] = lambda: False) -> ValidationReport:
        """Run the problem's reference; stops soon after `cancelled()` becomes true. Raises `InfrastructureError`."""

    def evaluate(self, request: EvaluationRequest, cancelled: Callable[[], bool]) -> EvaluationReport:
        """Judge a candidate; stops soon after `cancelled()` becomes true. Raises `InfrastructureError`, or returns that
        verdict; `DeviceLostError` where its device is gone."""

    def close_job(self, job_id: str) -> None:
        """Free what is kept warm for a job; harmless where there is nothing."""

    def close(self) -> None:
        """Free everything. May come from another thread while a call hangs, and must end that call."""


class Workbenches(Protocol):
    """The workbenches of a machine's devices."""

    def of(self, device: str) -> Workbench:
        """The one of a device; it may take a minute to be made. Raises `InfrastructureError`."""

    def close_job(self, job_id: str) -> None:
        """Free what is kept warm for a job; harmless where there is nothing."""

    def close(self) -> None:
        """Free everything. May come from another thread while a call hangs, and must end that call."""
