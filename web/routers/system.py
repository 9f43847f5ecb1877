"""The server itself: health, readiness, workers, the caller."""

from __future__ import annotations

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse

from services.domain.access import Principal
from web.context import Observer, Reader, Services, Team, WebServices
from web.errors import responses
from web.schemas.access import in_order
from web.schemas.base import Page, page
from web.schemas.installation import HealthView, MeView, NodeView, WorkerView

METRICS_TYPE = "text/plain; version=1.0.0; charset=utf-8"
health = APIRouter(tags=["health"])
router = APIRouter(tags=["installation"])


@health.get("/healthz")
async def healthz() -> HealthView:
    """The process answers."""
    return HealthView(status="ok")


@health.get("/readyz", responses=responses(503))
async def readyz(services: Services) -> HealthView:
    """Requests can be served: the database answers at this program's version."""
    await services.ready()
    return HealthView(status="ready")


@health.get("/metrics", response_class=PlainTextResponse, responses=responses(401, 403, 404, 503))
async def metrics(_caller: Observer, services: Services) -> Response:
    """Metrics in Prometheus's text format."""
    return Response(await services.metrics(), media_type=METRICS_TYPE)


@router.get("/workers", responses=responses(503))
async def list_workers(_team: Team, services: Services) -> Page[WorkerView]:
    """Workers that take evaluations, and those that could not begin within the last hour, with the reason."""
    return page(WorkerView.model_validate(worker) for worker in await services.workers())


@router.get("/nodes", responses=responses(503))
async def list_nodes(_team: Team, services: Services) -> Page[NodeView]:
    """Processes seen within the last half minute (orchestrators, and workers of their own), and workers refused within
    the last hour."""
    return page(NodeView.model_validate(node) for node in await services.nodes())


@router.get("/me")
async def me(caller: Reader, services: Services) -> MeView:
    """Who is calling, and the names a job may ask for."""
    known = services.jobs.catalogue
    return MeView(
        team=caller.team_id,
        user=None if caller.user is None else caller.user.login,
        role=caller.role,
        scopes=in_order(caller.scopes & caller.role.scopes),
        teams=await _teams(caller, services),
        by="token" if caller.token_id else "local" if caller.user is None else "session",
        version=services.version,
        backends=known.backends,
        devices=known.devices,
        models=known.models,
        strategies=known.strategies,
    )


async def _teams(caller: Principal, services: WebServices) -> tuple[str, ...]:
    if caller.user is None or caller.token_id is not None:
        return (caller.team_id,)
    return tuple(member.team_id for member in await services.access.teams_of(caller.user))
