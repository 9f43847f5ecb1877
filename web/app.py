"""The ASGI app: routes, errors and the gate before them."""

from __future__ import annotations

from functools import cache
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.middleware.gzip import GZipMiddleware
from pydantic.json_schema import models_json_schema
from starlette.routing import BaseRoute

from web import error_types, errors
from web.access_log import AccessLog
from web.api_reference import add_api_reference
from web.bare_lists import BareLists
from web.context import WebServices
from web.frontend import SafeHeaders, add_frontend
from web.gate import MAX_BODY_BYTES, RequestGuard
from web.rate_headers import RateHeaders
from web.routers import (
    access,
    candidates,
    events,
    experiences,
    jobs,
    node_work,
    playground,
    problems,
    reports,
    requests,
    sign_in,
    system,
    trajectories,
    webhooks,
)
from web.schemas.base import ProblemDocument

PREFIX = "/api/v1"
TAGS = {
    "jobs": "Submit, list, steer and delete jobs, and read what they made.",
    "candidates": "Kernels with their reports, differences and machine code.",
    "evaluations": "Have a kernel judged without any search.",
    "playground": "Recorded prompts sent again, apart from their job's record.",
    "experiences": "What jobs learned: search, retract, share, import and export.",
    "requests": "Requests of manual models, for people and agents to answer.",
    "webhooks": "Who is told of events, and the log of what was told.",
    "problems": "Example problems, and a check that reads one without running it.",
    "reports": "A job's report as a page, and links that show it to others.",
    "training": "Trajectories and batches of evaluations for training.",
    "team": "Members, tokens, quotas and the audit log.",
    "installation": "Who is calling, and what the installation has: workers, processes, models.",
    "nodes": "For device nodes with a token of their own: take and answer work orders.",
    "health": "Whether the server answers.",
}


def create_app(services: WebServices, *, max_body_bytes: int = MAX_BODY_BYTES) -> FastAPI:
    """The REST API over some services."""
    app = FastAPI(
        title="Kernelwright",
        version=services.version,
        description="Writes, proves and speeds up compute kernels.",
        openapi_tags=[{"name": name, "description": words} for name, words in TAGS.items()],
        servers=[{"url": "/", "description": "this installation"}],
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
        routes=list(_routes()),
    )
    app.state.services = services
    add_api_reference(app)
    add_frontend(app, services.ui)
    errors.install(app)
    app.add_middleware(BareLists)
    app.add_middleware(GZipMiddleware, minimum_size=1024, compresslevel=5)
    app.add_middleware(RateHeaders)
    app.add_middleware(SafeHeaders)
    app.add_middleware(RequestGuard, hosts=services.hosts, max_body_bytes=max_body_bytes)
    app.add_middleware(AccessLog)
    _document_problems(app)
    return app


@cache
def _routes() -> tuple[BaseRoute, ...]:
    """What every application serves. FastAPI reads their signatures at the first request, and a process that makes many
    applications would do so for each."""
    every = APIRouter(generate_unique_id_function=lambda route: route.name)
    for router in (
        jobs.router,
        playground.router,
        events.router,
        reports.router,
        candidates.router,
        experiences.router,
        requests.router,
        trajectories.router,
        webhooks.router,
        problems.router,
        access.router,
        node_work.router,
        system.router,
    ):
        every.include_router(router, prefix=PREFIX, responses=errors.responses(400, 401, 403, 413, 429, 500))
    every.include_router(system.health)
    every.include_router(reports.public)
    every.include_router(sign_in.router, responses=errors.responses(429, 500))
    every.include_router(error_types.pages)
    return tuple(every.routes)


def _document_problems(app: FastAPI) -> None:
    """Add the problem document, which routes refer to by name, to the OpenAPI schemas."""
    original = app.openapi

    def openapi() -> dict[str, Any]:
        document = original()
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        if "ProblemDocument" not in schemas:
            _, definitions = models_json_schema(
                [(ProblemDocument, "serialization")], ref_template="#/components/schemas/{model}"
            )
            schemas.update(definitions["$defs"])
            for unused in ("HTTPValidationError", "ValidationError"):
                schemas.pop(unused, None)
            document["components"]["schemas"] = dict(sorted(schemas.items()))
            _refer_to_problems(document)
        return document

    app.openapi = openapi  # type: ignore[method-assign]


def _refer_to_problems(document: dict[str, Any]) -> None:
    """A route that says nothing about 422 gets FastAPI's own document, which this API never answers with."""
    for path in document["paths"].values():
        for operation in path.values():
            answer = operation["responses"].get("422", {})
            if "HTTPValidationError" in str(answer):
                operation["responses"].update({"422": errors.responses(422)[422]})
