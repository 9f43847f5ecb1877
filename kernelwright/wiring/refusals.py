"""Which workers must not begin, and where they leave the reason: with the installation's nodes, where people look."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from kernelwright.admission import acquire_slot, broker_time, check_clock, check_version
from kernelwright.distribution import version
from kernelwright.settings import Settings
from kernelwright.wiring.database import open_database
from kernelwright.wiring.workers import open_registry, worker_node
from services.domain.errors import ConfigurationError, InfrastructureError, KernelwrightError, UserError
from services.domain.nodes import NodeRole, as_fault
from services.domain.work import COMPILE
from services.ports.work import NodePresence

log = logging.getLogger(__name__)
Act = Callable[[NodePresence, str], Awaitable[None]]
TELL_S = 15.0
"""So long a worker that ends may take to say why."""


def check_machine(settings: Settings, device: str) -> None:
    """Raise `ConfigurationError` for a device, a sandbox or a toolchain that this machine does not have."""
    from kernelwright.wiring.sandboxes import check_sandbox
    from kernelwright.wiring.workbench import check_has, check_toolchain

    if device == COMPILE and settings.compiled is None:
        raise ConfigurationError("a compile worker needs KERNELWRIGHT_COMPILED, the folder for its output")
    if device != COMPILE:
        check_has(device)
    check_toolchain(device)
    check_sandbox(settings, device)


def check_device_left(device: str) -> None:
    """Raise `DeviceLostError` where the card of a worker that has ended is gone."""
    from workers.devices.cards import check_present, find_gpu

    if device not in ("cpu", COMPILE):
        check_present(find_gpu(device))  # as it was found when the worker began


async def admit(settings: Settings) -> None:
    """Refuse a worker that would harm the installation. Raises `ConfigurationError`, `InfrastructureError`."""
    from services.runtime.clock import SystemClock
    from storage.nodes import SqlNodeRegistry

    clock = SystemClock()
    if (told := broker_time(settings.broker)) is not None:
        check_clock(clock.now(), told, "the message broker's")
    async with open_database(settings) as database:
        await database.check()
        if (server := await database.server_time()) is not None:
            check_clock(clock.now(), server, "the database's")
        check_version(version(), await SqlNodeRegistry(database, clock).living(NodeRole.ORCHESTRATOR))


@contextmanager
def refusal_listed(settings: Settings, device: str, server: str | None = None) -> Iterator[None]:
    """What keeps a device's worker from beginning is listed with the nodes, of a server or in the database; then it is
    raised. A registry that cannot be reached is only logged."""
    try:
        yield
    except (UserError, InfrastructureError) as error:
        fault = as_fault(error)
        _tell(settings, device, server, lambda presence, name: presence.refuse(worker_node(device, name), fault))
        raise


def forget_refusal(settings: Settings, device: str, server: str | None = None) -> None:
    """What kept it from beginning is over, and no worker of its own name registers."""
    _tell(settings, device, server, lambda presence, name: presence.leave(name))


def _tell(settings: Settings, device: str, server: str | None, act: Act) -> None:
    try:
        slot = acquire_slot(device)  # the name that it has when it begins, which overwrites the refusal
        with slot.socket:
            asyncio.run(_act(settings, server, slot.name, act))
    except (KernelwrightError, TimeoutError) as error:
        log.warning("the others do not learn whether this worker can begin: %s", error or "no answer in time")


async def _act(settings: Settings, server: str | None, name: str, act: Act) -> None:
    async with asyncio.timeout(TELL_S), _registry(settings, server) as presence:
        if presence is not None:
            await act(presence, name)


@asynccontextmanager
async def _registry(settings: Settings, server: str | None) -> AsyncIterator[NodePresence | None]:
    """Where this worker is listed; None where nobody would know it."""
    if server is None:
        async with open_registry(settings) as nodes:
            yield nodes
    elif settings.token is None:
        yield None
    else:
        from services.adapters.node_api.connection import NodeConnection
        from services.adapters.node_api.presence import ApiPresence

        async with NodeConnection(server, settings.token) as connection:
            yield ApiPresence(connection)
