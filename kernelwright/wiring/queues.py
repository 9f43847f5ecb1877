"""The evaluation queue that the settings name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kernelwright.wiring.installation import Installation
from kernelwright.wiring.spool import spool_devices, spool_key, spooled_orders
from kernelwright.wiring.workbench import WorkbenchPool
from kernelwright.wiring.workers import celery_settings, open_workbench

if TYPE_CHECKING:
    from services.ports.work import EvaluationQueue


@asynccontextmanager
async def open_queue(installation: Installation) -> AsyncIterator[EvaluationQueue]:
    """The evaluation queue that the settings name. Raises `InfrastructureError`."""
    queue = _make_queue(installation)
    try:
        yield queue
    finally:
        await queue.close()


def _make_queue(installation: Installation) -> EvaluationQueue:
    settings = installation.settings
    others = _celery_queue(installation) if settings.queue == "celery" else _in_process_queue(installation)
    if settings.spool is None:
        return others
    from services.adapters.queues.by_device import DeviceRouter

    return DeviceRouter(settings.spool_device, _spool_queue(installation, settings.spool), others)


def _in_process_queue(installation: Installation) -> EvaluationQueue:
    from services.adapters.queues.in_process import InProcessQueue

    settings = installation.settings
    at_once = () if "cpu" in spool_devices(settings) else ("cpu",)
    workbenches = WorkbenchPool(lambda device: open_workbench(settings, device), *at_once)
    return InProcessQueue(workbenches, installation.stores.candidates, installation.stores.artefacts)


def _spool_queue(installation: Installation, root: Path) -> EvaluationQueue:
    from services.adapters.spool.queue import SpoolQueue

    settings, stores = installation.settings, installation.stores
    orders = spooled_orders(settings, root.absolute(), spool_key(settings))
    orders.open()
    return SpoolQueue(orders, installation.clock, stores.candidates, stores.artefacts)


def _celery_queue(installation: Installation) -> EvaluationQueue:
    from services.adapters.queues.celery_queue import CeleryQueue
    from services.adapters.queues.compile_ahead import CompileAhead
    from storage.jobs.work_orders import SqlWorkStore
    from workers.queue.tasks import create_app

    app = create_app(celery_settings(installation.settings))
    orders = SqlWorkStore(installation.database, installation.clock)
    return CeleryQueue(app, orders, installation.clock, ahead=CompileAhead(installation.nodes))
