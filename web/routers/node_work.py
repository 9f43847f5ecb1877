"""Work orders for device nodes: taken and answered with a node's token, which opens nothing else."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Path

from services.domain.codec import CodecError, from_data, to_data
from services.domain.errors import ConfigurationError, ConflictError
from services.domain.evaluations import EvaluationReport
from services.domain.nodes import ServiceNode
from services.domain.validations import ValidationReport
from services.domain.work import CompileReport, Report
from services.jobs.node_work import NodeWork
from web.context import Node, Services
from web.errors import responses
from web.schemas.node_work import (
    BeatBody,
    ClaimBody,
    EndedView,
    FaultBody,
    HeldBody,
    HeldView,
    NameBody,
    NodeBody,
    RefusalBody,
    RenewBody,
    ReportBody,
    ServerView,
    TakenView,
    WarmBody,
    claim_view,
)

T = TypeVar("T")
router = APIRouter(prefix="/work", tags=["nodes"], responses=responses(409, 422, 503))
OrderId = Annotated[str, Path(max_length=200)]
_REPORTS: dict[str, type[Report]] = {
    kind.__name__: kind for kind in (EvaluationReport, ValidationReport, CompileReport)
}


def work_of(services: Services) -> NodeWork:
    """The orders that nodes come for. Raises `ConflictError` where there are none."""
    if services.node_work is None:
        raise ConflictError(
            "this server evaluates in its own process and has no orders for nodes: set KERNELWRIGHT_QUEUE=celery"
        )
    return services.node_work


Work = Annotated[NodeWork, Depends(work_of)]


@router.get("/server")
async def work_server(caller: Node, _work: Work, services: Services) -> ServerView:
    """The server's version, and what the token is for."""
    return ServerView(version=services.version, devices=caller.devices)


@router.post("/claims")
async def take_order(body: ClaimBody, caller: Node, work: Work, services: Services) -> TakenView:
    """Claim the order whose turn it is; waits a few seconds if there is none."""
    work.check_version(caller, body.name, body.version)
    claim = await work.take(caller, body.name, body.ttl_s, body.offer, wait_s=body.wait_s, stopping=services.stopping)
    return TakenView(claim=None if claim is None else claim_view(claim, to_data(claim.order.request)))


@router.post("/claims/{order_id}/renew")
async def renew_order(order_id: OrderId, body: RenewBody, caller: Node, work: Work) -> HeldView:
    """Renew a claim; if it is no longer held, stop working on the order."""
    return HeldView(held=await work.renew(caller, body.name, order_id, body.token, body.ttl_s))


@router.post("/claims/{order_id}/report")
async def report_order(order_id: OrderId, body: ReportBody, caller: Node, work: Work) -> HeldView:
    """Answer an order; if the claim is no longer held, nothing is written."""
    kind, data = body.report.get("kind"), body.report.get("data")
    if kind not in _REPORTS:
        raise ConfigurationError(f"a report's kind is one of {', '.join(_REPORTS)}")
    report = _read(_REPORTS[kind], data)
    return HeldView(held=await work.finish(caller, body.name, order_id, body.token, report))


@router.post("/claims/{order_id}/fault")
async def fail_order(order_id: OrderId, body: FaultBody, caller: Node, work: Work) -> HeldView:
    """Report that the node's machine could not carry out an order."""
    return HeldView(held=await work.fail(caller, body.name, order_id, body.token, body.fault))


@router.post("/claims/{order_id}/release")
async def release_order(order_id: OrderId, body: HeldBody, caller: Node, work: Work) -> HeldView:
    """Put an order back that the node cannot carry out; another node takes it."""
    return HeldView(held=await work.release(caller, body.name, order_id, body.token))


@router.post("/ended")
async def ended_jobs(body: WarmBody, _caller: Node, work: Work) -> EndedView:
    """Return which of the given jobs have ended, so that the node can free what it keeps for them."""
    return EndedView(ended=await work.ended((job.team_id, job.job_id) for job in body.jobs))


@router.post("/nodes", status_code=204)
async def register_node(body: NodeBody, caller: Node, work: Work) -> None:
    """Register a node, which then appears among the workers."""
    await work.register(caller, _read(ServiceNode, body.node))


@router.post("/nodes/refuse", status_code=204)
async def refuse_node(body: RefusalBody, caller: Node, work: Work) -> None:
    """Show a node that could not begin, with the reason; of any version, and for any device."""
    await work.refuse(caller, body.name, version=body.version, device=body.device, fault=body.fault)


@router.post("/nodes/beat")
async def beat_node(body: BeatBody, caller: Node, work: Work) -> HeldView:
    """Report that a node is alive; a node that is not known must register again."""
    known = await work.beat(caller, body.name, load=body.load, busy_s=body.busy_s, done=body.done)
    return HeldView(held=known)


@router.post("/nodes/drain", status_code=204)
async def drain_node(body: NameBody, caller: Node, work: Work) -> None:
    """Report that a node takes no new orders."""
    await work.drain(caller, body.name)


@router.post("/nodes/leave", status_code=204)
async def leave_node(body: NameBody, caller: Node, work: Work) -> None:
    """Remove a node from the workers."""
    await work.leave(caller, body.name)


def _read(kind: type[T], data: Any) -> T:
    try:
        return from_data(kind, data)
    except CodecError as error:
        raise ConfigurationError(f"not a {kind.__name__}: {error}") from None
