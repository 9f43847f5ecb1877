"""What a spool is made of on either side: its key, its orders, its worker, its nodes.

A bare node runs this: no database, no broker."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kernelwright.admission import acquire_slot
from kernelwright.distribution import version
from kernelwright.orchestrator_names import is_gone, own_name
from kernelwright.settings import Settings
from kernelwright.wiring.refusals import check_machine
from kernelwright.wiring.workbench import GPU_BACKENDS, backends
from kernelwright.wiring.workers import open_workbench, worker_node
from services.adapters.spool.claims import SpoolClaims
from services.adapters.spool.layout import SpoolLayout
from services.adapters.spool.messages import SpoolKey
from services.adapters.spool.nodes import SpoolNodes, SpoolPresence
from services.adapters.spool.orders import SpooledOrders
from services.adapters.spool.probe import check_service, check_skew, examine
from services.domain.errors import (
    ConfigurationError,
    DeviceLostError,
    InfrastructureError,
    StorageError,
    UserError,
)
from services.domain.nodes import as_fault
from services.runtime.clock import SystemClock

if TYPE_CHECKING:
    from services.adapters.spool.worker import SpoolPace, SpoolWorker
    from services.domain.nodes import Offer, ServiceNode
    from workers.evaluation.evaluator import Evaluator

log = logging.getLogger(__name__)


def key_file(settings: Settings) -> Path:
    """Where the key lies unless it is set."""
    return settings.directory / "spool.key"


def spool_key(settings: Settings, path: Path | None = None) -> SpoolKey:
    """The key in a file, else the one that is set, else the one under `home`. Raises `ConfigurationError`."""
    if path is None and settings.spool_key is not None:
        return SpoolKey(settings.spool_key.get_secret_value())
    file = path or key_file(settings)
    try:
        return SpoolKey(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigurationError(
            f"there is no key at {file}: make one with `kernelwright spool key`, and give the same to service and nodes"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"the spool's key {file} cannot be read: {error}") from None


def new_key(file: Path) -> None:
    """Write a new key that only this user may read. Raises `ConfigurationError` where there is one already."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise ConfigurationError(f"{file} exists already: orders and reports sealed with it would be refused") from None
    with open(opened, "w", encoding="utf-8") as written:  # noqa: PTH123 - a descriptor
        written.write(SpoolKey.new() + "\n")


def spooled_orders(settings: Settings, root: Path, key: SpoolKey) -> SpooledOrders:
    """The service's side of a spool."""
    return SpooledOrders(
        SpoolLayout(root),
        key,
        SystemClock(),
        version=version(),
        sender=own_name(),
        valid_days=settings.spool_days,
    )


def spool_devices(settings: Settings) -> dict[str, tuple[str, ...]]:
    """The device whose orders go through the spool, with its backends: jobs for it are taken whether or not a node is
    there now, since batch systems start nodes later."""
    if settings.spool is None:
        return {}
    return {settings.spool_device: backends("cpu") if settings.spool_device == "cpu" else GPU_BACKENDS}


def spool_nodes(settings: Settings) -> SpoolNodes | None:
    """The nodes of the installation's spool, where it has one."""
    if settings.spool is None:
        return None
    return SpoolNodes(SpoolLayout(settings.spool.absolute()), spool_key(settings), SystemClock(), version())


@contextmanager
def open_spool_worker(
    settings: Settings, root: Path, device: str, key: SpoolKey, pace: SpoolPace
) -> Iterator[SpoolWorker]:
    """This machine's worker at a spool; why it is refused stands in the spool too, where the service sees it.

    Raises `ConfigurationError`, `InfrastructureError`."""
    from services.adapters.spool.worker import SpoolWorker
    from workers.queue.device_check import DeviceCheck

    layout, clock = SpoolLayout(root), SystemClock()
    layout.make()
    slot = acquire_slot(device)
    node = worker_node(device, slot.name)
    with slot.socket:
        with _listed(layout, key, node, UserError, InfrastructureError):
            check_machine(settings, device)
            _admit(layout, key, node)
            bench = open_workbench(settings, device)
        with _listed(layout, key, node, DeviceLostError), contextlib.closing(bench):
            presence = SpoolPresence(layout, key, clock, _measured(node, bench))
            presence.start()
            claims = SpoolClaims(
                layout,
                key,
                clock,
                offer=bench.offer,
                version=version(),
                owner=own_name(),
                is_gone=is_gone,
                lease_s=settings.spool_lease_s,
            )
            try:
                check = DeviceCheck(bench.check_device)
                yield SpoolWorker(claims, bench, clock, pace, presence, check.now_and_then, bench.lacking)
            finally:
                presence.stop()


def _admit(layout: SpoolLayout, key: SpoolKey, node: ServiceNode) -> None:
    """Refuse a node that would refuse every order, or judge wrongly which are valid. Raises `ConfigurationError`."""
    condition = examine(layout)
    check_service(layout, key, node.version)
    check_skew(condition)


@contextmanager
def _listed(
    layout: SpoolLayout, key: SpoolKey, node: ServiceNode, *faults: type[UserError | InfrastructureError]
) -> Iterator[None]:
    """An error of these kinds stands in the spool, where the service sees it; then it is raised."""
    try:
        yield
    except faults as error:
        try:
            SpoolPresence(layout, key, SystemClock(), node).refuse(as_fault(error))
        except StorageError as unwritten:
            log.warning("the service does not learn that this node is refused: %s", unwritten)
        raise


def _measured(node: ServiceNode, bench: Evaluator) -> ServiceNode:
    offer: Offer = bench.offer
    return dataclasses.replace(
        node,
        backends=offer.backends,
        evaluator=offer.evaluator,
        isolation=bench.isolation,
        fault=bench.lacking,
        sheet=bench.device,
        toolchain=bench.device.toolchain,
        units=bench.device.units,
    )
