"""What the REST API is made of."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from kernelwright.distribution import built_ui, examples, version
from kernelwright.settings import LOOPBACK
from kernelwright.wiring.access import make_identity, public_names
from kernelwright.wiring.installation import Installation, make_requests, make_shares, make_trajectories, make_webhooks
from kernelwright.wiring.spool import spool_devices
from kernelwright.wiring.workbench import devices, known_sheet
from kernelwright.wiring.workers import worker_node
from services.domain.nodes import NodeRole, ServiceNode
from services.teams.rate_limits import LocalBuckets, RateLimiter

if TYPE_CHECKING:
    from services.client import Client
    from services.jobs.node_work import NodeWork
    from services.jobs.playground import PlaygroundService
    from web.context import WebServices, WorkerInfo


@asynccontextmanager
async def limiting(installation: Installation) -> AsyncIterator[RateLimiter]:
    """Rate limits, over all API processes where they share a Redis."""
    settings, alone = installation.settings, LocalBuckets(installation.clock)
    limits = {"per_caller": settings.rate_limit, "per_team": settings.team_rate_limit}
    if settings.queue != "celery":
        yield RateLimiter(alone, **limits)
        return
    from services.adapters.rates.redis_buckets import RedisBuckets

    shared = RedisBuckets(settings.redis_url, installation.clock, alone, prefix=settings.redis_prefix)
    try:
        yield RateLimiter(shared, **limits)
    finally:
        await shared.aclose()


def make_web_services(installation: Installation, *, host: str, local_worker: bool, rates: RateLimiter) -> WebServices:
    """What the REST API needs."""
    from agents.strategies.population import population
    from web.context import WebServices

    settings, started = installation.settings, installation.clock.now()

    async def workers() -> tuple[WorkerInfo, ...]:
        apart = tuple(_worker_info(node) for node in await _workers_apart(installation))
        if settings.queue == "celery" or not local_worker:
            return apart
        here = tuple(
            replace(_worker_info(_here(device, started)), sheet=known_sheet(settings.directory, device))
            for device in devices()
            if device not in spool_devices(settings)
        )
        return here + apart

    return WebServices(
        jobs=installation.service,
        events=installation.stores.events,
        exporter=installation.exporter,
        experiences=installation.experiences,
        requests=make_requests(installation),
        trajectories=make_trajectories(installation),
        shares=make_shares(installation),
        webhooks=make_webhooks(installation),
        artefacts=installation.stores.artefacts,
        playground=make_playground(installation),
        populations=population,
        compiler_draft=settings.compiler_draft,
        ui=built_ui(),
        examples=examples,
        workers=workers,
        nodes=installation.nodes.living,
        ready=installation.database.check,
        version=version(),
        access=installation.access,
        quotas=installation.quotas,
        node_work=_node_work(installation),
        rates=rates,
        identity=make_identity(settings),
        public_url=None if settings.public_url is None else settings.public_url.rstrip("/"),
        token=settings.token,
        open_here=settings.is_open(host),
        hosts=public_names(settings) if host in LOOPBACK else None,
        metrics=_metrics(installation),
    )


def _node_work(installation: Installation) -> NodeWork | None:
    """Orders for nodes that come for them at the API, where orders are kept as rows."""
    if installation.settings.queue != "celery":
        return None
    from services.jobs.node_work import NodeWork
    from storage.jobs.work_orders import SqlWorkStore

    stores, clock = installation.stores, installation.clock
    orders = SqlWorkStore(installation.database, clock)
    return NodeWork(orders, installation.nodes, stores.jobs, stores.artefacts, clock, version())


def make_playground(installation: Installation) -> PlaygroundService:
    """Recorded prompts sent again."""
    from agents.roles.recorded_replies import RecordedForms
    from services.jobs.playground import PlaygroundService
    from services.telemetry.observed import observed_model

    return PlaygroundService(
        installation.service,
        lambda name: observed_model(installation.models.resolve(name)),
        RecordedForms(),
        installation.clock,
        quotas=installation.quotas,
        offline=frozenset({"playbook", "manual"}),
    )


async def _workers_apart(installation: Installation) -> tuple[ServiceNode, ...]:
    """Workers that are processes of their own: at the broker, or at the spool."""
    settings = installation.settings
    if settings.queue != "celery" and settings.spool is None:
        return ()
    return await installation.nodes.living(NodeRole.WORKER)


def _worker_info(node: ServiceNode) -> WorkerInfo:
    from web.context import WorkerInfo

    return WorkerInfo(
        name=node.name,
        device=node.device or "",
        backends=node.backends,
        isolation=node.isolation,
        sheet=node.sheet,
        node=node,
    )


def _here(device: str, started: datetime) -> ServiceNode:
    """The worker inside this process, which answers for itself."""
    node = worker_node(device, socket.gethostname())
    return replace(node, load=os.getloadavg()[0] / (os.cpu_count() or 1), started_at=started)


def _metrics(installation: Installation) -> Callable[[], Awaitable[bytes]]:
    """What `/metrics` answers: this process's own counters, and figures of the database."""
    from services.telemetry import metrics
    from storage.metrics import DatabaseMetrics

    collector = DatabaseMetrics(installation.database, installation.clock, installation.experiences.effect)

    async def answer() -> bytes:
        return metrics.exposition() + await collector.exposition()

    return answer


@asynccontextmanager
async def open_local_client(installation: Installation) -> AsyncIterator[Client]:
    """A client of the REST API in this process, as its one user; call it in other threads than the event loop's."""
    import httpx

    from services.client import Client
    from services.client.in_process import AppTransport
    from web.app import create_app

    address = LOOPBACK[0]
    async with limiting(installation) as rates:
        services = make_web_services(installation, host=address, local_worker=True, rates=rates)
        app = httpx.ASGITransport(create_app(replace(services, token=None, open_here=True)))
        with Client(f"http://{address}", transport=AppTransport(app, asyncio.get_running_loop())) as client:
            yield client
