"""Work orders: what distributed workers are asked to do, building ahead included. The stored order is the truth, a
message only wakes a worker."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from services.domain.evaluations import EvaluationReport, EvaluationRequest
from services.domain.validations import ValidationReport, ValidationRequest

COMPILE = "compile"
"""What compile workers are called where others have a device; also the name of their queue."""


@dataclass(frozen=True, kw_only=True)
class CompileRequest:
    """Ask a compile worker to build what a candidate asks for. `id` makes it idempotent."""

    id: str
    job_id: str
    team_id: str
    source: str
    """The candidate's module."""
    backend: str
    device: str = COMPILE
    architecture: str | None = None
    """GPU that CUDA is compiled for, as device sheets name it (`sm_90`); None for code that needs none."""


@dataclass(frozen=True, kw_only=True)
class CompileReport:
    """What came of it. The verdict on the candidate is the device worker's, whatever this says."""

    ok: bool
    libraries: int
    """Built, or found built."""
    seconds: float


Request = ValidationRequest | EvaluationRequest | CompileRequest
Report = ValidationReport | EvaluationReport | CompileReport

ATTEMPTS = 3
"""How many claims an order gets before it counts as poison."""
CREDIT_S = 30.0
"""Device seconds, for each unit of its weight, that a team may lie behind the others at most, however long it asked for
nothing."""
FIRST_S = 1.0
"""What an order is charged until it ends, where no team has had one of its kind on the device."""
LEARNED = 0.3
"""Weight of the newest order in what a team's next one of the same kind is charged."""


class WorkStatus(StrEnum):
    """Where an order is. The last three are ends; placing a failed or cancelled order again queues it again."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, kw_only=True)
class WorkOrder:
    """One validation or evaluation for a device, or a compilation."""

    id: str
    request: Request


@dataclass(frozen=True, kw_only=True)
class WorkClaim:
    """A worker's right to answer an order. A result under an older token is refused."""

    order: WorkOrder
    owner: str
    """The worker's unique name."""
    token: int
    """Fencing token: grows by one with each claim."""
    expires_at: datetime


@dataclass(frozen=True, kw_only=True)
class WorkState:
    """What is known about an order."""

    status: WorkStatus
    result: Report | None = None
    """Set when done."""
    fault: str | None = None
    """Why it failed or was cancelled."""
    claim_expires_at: datetime | None = None
    """Until when the running worker holds it."""


def report_kind(request: Request) -> type[Report]:
    """What answers a request."""
    if isinstance(request, ValidationRequest):
        return ValidationReport
    return CompileReport if isinstance(request, CompileRequest) else EvaluationReport


def order_of(request: Request) -> WorkOrder:
    """The order for a request: the same id each time, so that nothing is done twice."""
    if isinstance(request, ValidationRequest):
        return WorkOrder(id=f"val-{request.job_id}", request=request)
    if isinstance(request, CompileRequest):
        return WorkOrder(id=request.id, request=request)
    return WorkOrder(id=request.evaluation_id, request=request)
