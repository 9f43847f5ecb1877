"""A worker that reaches the API and nothing else: no database, no broker."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from kernelwright.admission import acquire_slot
from kernelwright.distribution import version
from kernelwright.settings import Settings
from kernelwright.wiring.workers import worker_context, worker_node
from services.adapters.node_api.claims import ApiClaims
from services.adapters.node_api.connection import NodeConnection
from services.adapters.node_api.presence import ApiPresence
from services.domain.errors import ConfigurationError, InfrastructureError
from services.ports.work import NodePresence, WorkClaims
from workers.queue.api_worker import ApiWorker
from workers.queue.heartbeat import Heartbeat
from workers.queue.orders import ClaimPace, WorkerContext

WAIT_S = 5.0
"""How long the server holds a request for an order: a worker that was told to stop ends that soon."""


async def work_for_server(
    settings: Settings, server: str, device: str, open_context: Callable[[WorkClaims], WorkerContext] | None = None
) -> int:
    """Do a server's orders until told to stop; how many ended. `open_context` makes what works on them, by default what
    the settings name.

    Raises `ConfigurationError`, `UserError`, `InfrastructureError`."""
    if settings.token is None:
        raise ConfigurationError(
            "--server needs a node's token in KERNELWRIGHT_TOKEN_FILE or KERNELWRIGHT_TOKEN: "
            "create one with `kernelwright token create NAME --node DEVICE` on the server"
        )
    open_context = open_context or functools.partial(worker_context, settings, device)
    async with NodeConnection(server, settings.token) as connection:
        await _admitted(connection, device)
        slot = acquire_slot(device)
        beating = _heartbeat(settings.token, server, device, slot.name)
        beating.start()
        try:
            claims = ApiClaims(connection, version(), wait_s=WAIT_S)
            context = await asyncio.to_thread(open_context, claims)
            beating.measured(context.offer, context.sheet, context.isolation, lacking=context.lacking)
            pace = ClaimPace(ttl_s=settings.claim_s, beat_s=settings.claim_s / 10)
            worker = ApiWorker(claims, context, slot.name, pace, beating)
            try:
                return await _until_stopped(worker, ApiPresence(connection), slot.name)
            finally:
                context.workbench.close()
        finally:
            beating.stop()
            slot.socket.close()


async def _admitted(connection: NodeConnection, device: str) -> None:
    """Refuse a node that the server would refuse, before its device is measured. Raises `ConfigurationError`."""
    told = await connection.get("/server")
    if told["version"] != version():
        raise ConfigurationError(
            f"this node is version {version()}, and the server {told['version']}: install the same version here"
        )
    if device not in told["devices"]:
        raise ConfigurationError(f"this token is for {', '.join(told['devices'])}, not for the device {device!r}")


def _heartbeat(token: str, server: str, device: str, name: str) -> Heartbeat:
    @asynccontextmanager
    async def opened() -> AsyncIterator[NodePresence]:
        async with NodeConnection(server, token) as connection:  # in the heartbeat's own thread
            yield ApiPresence(connection)

    return Heartbeat(worker_node(device, name), opened)


async def _until_stopped(worker: ApiWorker, presence: NodePresence, name: str) -> int:
    """Work; at the first signal nothing new is taken, at the second the order at hand is given up: the server gives it
    to another node, or to this one when it starts again."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    working = asyncio.create_task(worker.run(stop))

    def told() -> None:
        if stop.is_set():
            working.cancel()
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, told)
    draining = asyncio.create_task(_drain(stop, presence, name))
    try:
        return await working
    except asyncio.CancelledError:
        return worker.done
    finally:
        draining.cancel()


async def _drain(stop: asyncio.Event, presence: NodePresence, name: str) -> None:
    """Say that the worker takes nothing new as soon as it begins to shut down."""
    await stop.wait()
    with contextlib.suppress(InfrastructureError):
        await presence.drain(name)
