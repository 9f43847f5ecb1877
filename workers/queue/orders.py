"""What a worker does with an order: takes it, keeps its claim alive while the workbench works, and answers."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from services.domain.devices import DeviceSheet
from services.domain.errors import DeviceLostError, InfrastructureError, StorageError, UserError
from services.domain.evaluations import EvaluationReport, EvaluationRequest, Verdict
from services.domain.nodes import Offer
from services.domain.validations import ValidationRequest
from services.domain.work import CompileRequest, Report, Request, WorkClaim, WorkOrder
from services.jobs.machine_code import with_machine_code_kept
from services.ports.jobs import ArtefactStore
from services.ports.work import Workbench, WorkClaims
from services.telemetry.logs import log_context
from services.telemetry.traces import order_span
from workers.queue.compile_worker import CompileBench
from workers.queue.device_check import DeviceCheck

log = logging.getLogger(__name__)
ANSWER_RETRY_S = 600.0
"""So long an answer is kept for a store that is away."""


@dataclass(frozen=True, kw_only=True)
class ClaimPace:
    """How a worker keeps its claims."""

    ttl_s: float = 30.0
    """How long it may be silent before its order is given to another."""
    beat_s: float = 1.0
    """How often it renews its claim, and so learns that its order was cancelled."""


@dataclass(frozen=True, kw_only=True)
class WorkerContext:
    """What a worker process works with."""

    orders: WorkClaims
    workbench: Workbench
    offer: Offer
    """What the worker takes."""
    sheet: DeviceSheet | None = None
    """What was measured of the worker's device, where it has one."""
    isolation: str | None = None
    """The level that its sandbox reached."""
    artefacts: ArtefactStore | None = None
    """Keeps the machine code that comes with reports; None where whoever gets the report does."""
    lacking: str | None = None
    """Which orders for its device the worker leaves to others, and why."""
    device: DeviceCheck | None = None
    """None where there is nothing that could go: a worker that only compiles."""


async def execute(context: WorkerContext, owner: str, pace: ClaimPace) -> WorkOrder | None:
    """Take an order, work on it while its claim is kept alive, and store the answer under the claim's token; the order,
    if there was one.

    Raises `DeviceLostError` where the device is gone; then nothing was taken, or it was put back."""
    if context.device is not None:
        await asyncio.to_thread(context.device.now_and_then)
    claim = await context.orders.take(owner, pace.ttl_s, context.offer)
    if claim is None:
        return None
    with log_context(job=claim.order.request.job_id, order=claim.order.id), order_span(claim.order):
        await _execute(context, claim, pace)
    return claim.order


async def _execute(context: WorkerContext, claim: WorkClaim, pace: ClaimPace) -> None:
    stopped = threading.Event()
    keeping = asyncio.create_task(_keep(context.orders, claim, pace, stopped))
    try:
        result = await asyncio.to_thread(_done, context.workbench, claim.order.request, stopped.is_set)
    except DeviceLostError as error:
        log.critical("putting %s back for another worker: %s", claim.order.id, error)
        await _stored(lambda: context.orders.release(claim))
        raise
    except InfrastructureError as error:
        await _fail(context.orders, claim, str(error))
    except Exception as error:
        log.exception("order %s failed for a fault of this program", claim.order.id)
        await _fail(context.orders, claim, f"internal error: {type(error).__name__}: {error}")
    else:
        request = claim.order.request
        keeps = context.artefacts is not None
        if keeps and isinstance(result, EvaluationReport) and isinstance(request, EvaluationRequest):
            result = await with_machine_code_kept(result, request, context.artefacts)
        await _answer(context.orders, claim, result)
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
    if stopped.is_set():
        await asyncio.to_thread(context.workbench.close_job, claim.order.request.job_id)


def _done(bench: Workbench, request: Request, stopped: Callable[[], bool]) -> Report:
    """What an order asks for. Raises `InfrastructureError`."""
    if isinstance(request, CompileRequest):
        if not isinstance(bench, CompileBench):
            raise InfrastructureError("this worker compiles for its own device only")
        return bench.compile(request, stopped)
    if isinstance(request, ValidationRequest):
        return bench.validate(request, stopped)
    return bench.evaluate(request, stopped)


async def _answer(orders: WorkClaims, claim: WorkClaim, result: Report) -> None:
    if isinstance(result, EvaluationReport) and result.verdict is Verdict.INFRASTRUCTURE_ERROR:
        reasons = "; ".join(gate.detail for gate in result.gates if gate.detail)
        await _fail(orders, claim, reasons or "the worker could not evaluate it")
    elif not await _stored(lambda: orders.finish(claim, result)):
        log.warning("the answer to %s came too late: its claim %d is not the current one", claim.order.id, claim.token)


async def _fail(orders: WorkClaims, claim: WorkClaim, fault: str) -> None:
    await _stored(lambda: orders.fail(claim, fault))


async def _stored(write: Callable[[], Awaitable[bool]]) -> bool:
    """Write an answer that cost minutes, again while its store is away; the token keeps a late one harmless."""
    deadline = time.monotonic() + ANSWER_RETRY_S
    while True:
        try:
            return await write()
        except StorageError as error:
            if time.monotonic() > deadline:
                raise
            log.warning("the answer waits: %s", error)
        await asyncio.sleep(1.0)


async def _keep(orders: WorkClaims, claim: WorkClaim, pace: ClaimPace, stopped: threading.Event) -> None:
    """Renew the claim until it is refused; a store out of reach for a moment is no reason to stop."""
    while True:
        await asyncio.sleep(pace.beat_s)
        try:
            if not await orders.renew(claim, pace.ttl_s):
                stopped.set()
                return
        except InfrastructureError as error:
            log.warning("could not renew the claim on %s: %s", claim.order.id, error)
        except UserError as error:  # the server lets this worker do nothing any more
            log.error("giving up %s: %s", claim.order.id, error)  # noqa: TRY400 - told in full
            stopped.set()
            return
