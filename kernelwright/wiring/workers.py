"""What a worker is made of, and how it and the other processes of an installation say that they are there."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from kernelwright.distribution import version
from kernelwright.settings import Settings
from kernelwright.wiring.database import open_database
from kernelwright.wiring.sandboxes import sandbox_maker
from kernelwright.wiring.workbench import (
    MEMORY_BYTES,
    backends,
    compile_backends,
    make_compile_bench,
    make_workbench,
)
from services.domain.errors import ConfigurationError, InfrastructureError
from services.domain.nodes import NodeRole, NodeState, ServiceNode
from services.domain.work import COMPILE
from services.runtime.clock import SystemClock
from services.runtime.periodic import repeating

if TYPE_CHECKING:
    from celery import Celery

    from services.ports.jobs import ArtefactStore
    from services.ports.runtime import Clock
    from services.ports.work import NodeRegistry, WorkClaims
    from workers.evaluation.evaluator import Evaluator
    from workers.queue.compile_worker import CompileBench
    from workers.queue.heartbeat import Heartbeat
    from workers.queue.orders import WorkerContext
    from workers.queue.tasks import CelerySettings

BEAT_S = 5.0
"""How often an orchestrator says that it is there."""


def open_workbench(settings: Settings, device: str = "cpu") -> Evaluator:
    """What judges candidates on a device of this machine."""
    return make_workbench(
        settings.directory,
        device,
        make=sandbox_maker(settings),
        baselines_max_age_s=settings.baselines_max_age_s,
        compiled=settings.compiled,
    )


def open_compile_bench(settings: Settings) -> CompileBench:
    """What compiles on this machine. Raises `ConfigurationError`."""
    if settings.compiled is None:
        raise ConfigurationError("a compile worker needs KERNELWRIGHT_COMPILED, the folder that it builds into")
    return make_compile_bench(settings.compiled, make=sandbox_maker(settings))


def celery_settings(settings: Settings) -> CelerySettings:
    """How this installation's workers and those who ring for them meet."""
    from workers.queue.tasks import CelerySettings

    return CelerySettings(broker_url=settings.broker, key_prefix=settings.redis_prefix, claim_ttl_s=settings.claim_s)


def make_celery_worker(settings: Settings, device: str, name: str) -> Celery:
    """The Celery application of this machine's worker; its context opens in the child that works."""
    from workers.queue.tasks import create_app

    def open_context() -> WorkerContext:
        from storage.contents.blobs import SqlArtefactStore
        from storage.contents.files import open_files
        from storage.database import Database
        from storage.jobs.work_orders import SqlWorkStore

        database, clock = Database(settings.database), SystemClock()
        artefacts = SqlArtefactStore(database, clock, files=open_files(settings.artefacts))
        return worker_context(settings, device, SqlWorkStore(database, clock), artefacts)

    def open_heartbeat() -> Heartbeat:
        from workers.queue.heartbeat import Heartbeat

        return Heartbeat(worker_node(device, name), lambda: open_registry(settings))

    # A device worker's first order is a validation, which it has time to become warm for; a compile worker's is a
    # candidate that a device waits for.
    return create_app(celery_settings(settings), open_context, open_heartbeat, ready=device == COMPILE)


def worker_context(
    settings: Settings, device: str, orders: WorkClaims, artefacts: ArtefactStore | None = None
) -> WorkerContext:
    """What this machine works with. One that only compiles has no device to know or to look after."""
    from workers.queue.compile_worker import CompileBench
    from workers.queue.device_check import DeviceCheck
    from workers.queue.orders import WorkerContext

    bench = open_compile_bench(settings) if device == COMPILE else open_workbench(settings, device)
    context = WorkerContext(
        orders=orders, workbench=bench, offer=bench.offer, isolation=bench.isolation, artefacts=artefacts
    )
    if isinstance(bench, CompileBench):
        return context
    return replace(context, sheet=bench.device, lacking=bench.lacking, device=DeviceCheck(bench.check_device))


def worker_node(device: str, name: str) -> ServiceNode:
    """This machine's worker as it registers before its device is measured."""
    now = SystemClock().now()
    return ServiceNode(
        name=name,
        role=NodeRole.WORKER,
        version=version(),
        state=NodeState.READY,
        device=device,
        backends=compile_backends() if device == COMPILE else backends(device),
        units=os.cpu_count() or 1,
        memory_bytes=MEMORY_BYTES,
        started_at=now,
        seen_at=now,
    )


@asynccontextmanager
async def open_registry(settings: Settings) -> AsyncIterator[NodeRegistry]:
    """The registry of nodes over a database connection of its own."""
    from storage.nodes import SqlNodeRegistry

    async with open_database(settings) as database:
        yield SqlNodeRegistry(database, SystemClock())


@asynccontextmanager
async def present(nodes: NodeRegistry, clock: Clock, name: str) -> AsyncIterator[None]:
    """An orchestrator is seen by the others while the context lasts."""
    now = clock.now()
    node = ServiceNode(
        name=name, role=NodeRole.ORCHESTRATOR, version=version(), state=NodeState.READY, started_at=now, seen_at=now
    )
    beat = functools.partial(_beat, nodes, node)
    try:
        async with repeating("this orchestrator's heartbeat", beat, BEAT_S, clock):
            yield
    finally:
        with contextlib.suppress(InfrastructureError):
            await nodes.leave(name)


async def _beat(nodes: NodeRegistry, node: ServiceNode) -> None:
    if not await nodes.beat(node.name, load=os.getloadavg()[0] / (os.cpu_count() or 1)):
        await nodes.register(node)
