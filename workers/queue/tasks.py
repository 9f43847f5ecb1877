"""The Celery application of device workers: a task that takes the order whose turn it is and does it, and one that
frees what is kept warm for a job that has ended."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from celery import Celery, Task, signals
from kombu.common import Broadcast

from services.adapters.queueing.notifier import ENDED_QUEUE, ENDED_TASK, TASK, device_queue, ended_exchange
from services.domain.devices import DeviceSheet
from services.domain.errors import InfrastructureError, StorageError
from services.domain.evaluations import EvaluationReport, EvaluationRequest, Verdict
from services.domain.nodes import Offer
from services.domain.work import Report, WorkClaim
from services.machine_code import with_machine_code_kept
from services.ports.jobs import ArtefactStore
from services.ports.work import Workbench, WorkStore
from services.telemetry.logs import log_context
from services.telemetry.traces import order_span
from workers.queue import health_check
from workers.queue.compile_worker import do
from workers.queue.connection import SteadyConnection, transport_options
from workers.queue.heartbeat import Heartbeat
from workers.queue.pool import TaskPool

log = logging.getLogger(__name__)
ANSWER_RETRY_S = 600.0
"""So long an answer is kept for a database that is away."""


@dataclass(frozen=True, kw_only=True)
class CelerySettings:
    """How workers and those who ring for them reach one another."""

    broker_url: str
    """For example `redis://127.0.0.1:6379/0` or `amqp://user:password@127.0.0.1:5672/vhost`."""
    key_prefix: str = ""
    """Put before every key in Redis, so that installations can share one."""
    claim_ttl_s: float = 30.0
    """How long a worker may be silent before its order is given to another."""
    beat_s: float = 1.0
    """How often a worker renews its claim, and so learns that its order was cancelled."""
    hard_limit_s: float = 1800.0
    """Seconds after which Celery kills the child: a last resort, workbenches have limits of their own."""
    soft_shutdown_s: float = 60.0
    """How long a worker that was told twice to stop may still work."""


@dataclass(frozen=True, kw_only=True)
class WorkerContext:
    """What a worker process works with."""

    orders: WorkStore
    workbench: Workbench
    offer: Offer
    """What the worker takes."""
    sheet: DeviceSheet | None = None
    """What was measured of the worker's device, where it has one."""
    isolation: str | None = None
    """The level that its sandbox reached."""
    artefacts: ArtefactStore | None = None
    """Keeps the machine code that comes with reports."""


def create_app(
    settings: CelerySettings,
    open_context: Callable[[], WorkerContext] | None = None,
    open_heartbeat: Callable[[], Heartbeat] | None = None,
    *,
    ready: bool = False,
) -> Celery:
    """The application: with `open_context` for workers (called in the child that works), without for those who ring.
    With `open_heartbeat` the child says that it is there. `ready`: it opens its context when it starts.

    Start workers as `worker_options` says.
    """
    app = Celery("kernelwright", broker=settings.broker_url, set_as_current=False)
    app.conf.update(_configuration(settings, works=open_context is not None))
    app.amqp.Connection = SteadyConnection
    if open_context is not None:
        _register(app, WorkerProcess(settings, open_context, open_heartbeat, ready=ready))
    return app


def queues_of(device: str) -> str:
    """What a worker of a device listens to, as Celery's option `-Q` takes it."""
    return f"{device_queue(device)},{ENDED_QUEUE}"


def worker_options(device: str, name: str) -> list[str]:
    """Celery's options for a worker; its claims are held under its name, which is its alone."""
    # Workers know of one another from the database: without mingle a worker is ready a second sooner.
    return ["--concurrency", "1", "-n", name, "-Q", queues_of(device), "--without-gossip", "--without-mingle"]


class WorkerProcess:
    """The child process of a worker: opens its context at the first order, or before it where `ready`, and keeps it.

    Opening takes seconds (a sandbox is tried, torch is imported), and on a device it may measure for a minute."""

    def __init__(
        self,
        settings: CelerySettings,
        open_context: Callable[[], WorkerContext],
        open_heartbeat: Callable[[], Heartbeat] | None = None,
        *,
        ready: bool = False,
    ) -> None:
        self._ready = ready
        self._settings = settings
        self._open_context = open_context
        self._open_heartbeat = open_heartbeat
        self._heartbeat: Heartbeat | None = None
        self._context: WorkerContext | None = None
        self._runner: asyncio.Runner | None = None

    def begin(self) -> None:
        """Say that this process is there; to be called once, in the child."""
        if self._open_heartbeat is not None:
            self._heartbeat = self._open_heartbeat()
            self._heartbeat.start()
        if self._ready:
            try:
                self._opened()
            except InfrastructureError as error:
                log.warning("the worker will try again at its first order: %s", error)

    def run(self, owner: str) -> None:
        """Take an order and do it, if there is one."""
        context = self._opened()
        if self._runner is None:
            self._runner = asyncio.Runner()
        began = time.monotonic()
        if self._runner.run(execute(context, owner, self._settings)) and self._heartbeat is not None:
            self._heartbeat.worked(time.monotonic() - began)

    def _opened(self) -> WorkerContext:
        if self._context is None:
            self._context = self._open_context()
            if self._heartbeat is not None:
                self._heartbeat.measured(self._context.offer, self._context.sheet, self._context.isolation)
        return self._context

    def job_ended(self, job_id: str) -> None:
        """Free what is kept warm for a job."""
        if self._context is not None:
            self._context.workbench.close_job(job_id)

    def close(self) -> None:
        """Free what the process holds."""
        if self._heartbeat is not None:
            self._heartbeat.stop()
        if self._context is not None:
            self._context.workbench.close()
        if self._runner is not None:
            self._runner.close()
        self._context = self._runner = None


async def execute(context: WorkerContext, owner: str, settings: CelerySettings) -> bool:
    """Take an order, work on it while its claim is kept alive, and store the answer under the claim's token. Whether
    there was something to do."""
    claim = await context.orders.take(owner, settings.claim_ttl_s, context.offer)
    if claim is None:
        return False
    with log_context(job=claim.order.request.job_id, order=claim.order.id), order_span(claim.order):
        await _execute(context, claim, settings)
    return True


async def _execute(context: WorkerContext, claim: WorkClaim, settings: CelerySettings) -> None:
    stopped = threading.Event()
    keeping = asyncio.create_task(_keep(context.orders, claim, settings, stopped))
    try:
        result = await asyncio.to_thread(do, context.workbench, claim.order.request, stopped.is_set)
    except InfrastructureError as error:
        await _fail(context.orders, claim, str(error))
    except Exception as error:
        log.exception("order %s failed for a fault of this program", claim.order.id)
        await _fail(context.orders, claim, f"internal error: {type(error).__name__}: {error}")
    else:
        request = claim.order.request
        if isinstance(result, EvaluationReport) and isinstance(request, EvaluationRequest):
            result = await with_machine_code_kept(result, request, context.artefacts)
        await _answer(context.orders, claim, result)
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
    if stopped.is_set():
        await asyncio.to_thread(context.workbench.close_job, claim.order.request.job_id)


async def _answer(orders: WorkStore, claim: WorkClaim, result: Report) -> None:
    if isinstance(result, EvaluationReport) and result.verdict is Verdict.INFRASTRUCTURE_ERROR:
        reasons = "; ".join(gate.detail for gate in result.gates if gate.detail)
        await _fail(orders, claim, reasons or "the worker could not evaluate it")
    elif not await _stored(lambda: orders.finish(claim, result)):
        log.warning("the answer to %s came too late: its claim %d is not the current one", claim.order.id, claim.token)


async def _fail(orders: WorkStore, claim: WorkClaim, fault: str) -> None:
    await _stored(lambda: orders.fail(claim, fault))


async def _stored(write: Callable[[], Awaitable[bool]]) -> bool:
    """Write an answer that cost minutes, again while the database is away; the token keeps a late one harmless."""
    deadline = time.monotonic() + ANSWER_RETRY_S
    while True:
        try:
            return await write()
        except StorageError as error:
            if time.monotonic() > deadline:
                raise
            log.warning("the answer waits for the database: %s", error)
        await asyncio.sleep(1.0)


async def _keep(orders: WorkStore, claim: WorkClaim, settings: CelerySettings, stopped: threading.Event) -> None:
    """Renew the claim until it is refused; a database out of reach for a moment is no reason to stop."""
    while True:
        await asyncio.sleep(settings.beat_s)
        try:
            if not await orders.renew(claim, settings.claim_ttl_s):
                stopped.set()
                return
        except InfrastructureError as error:
            log.warning("could not renew the claim on %s: %s", claim.order.id, error)


def _register(app: Celery, process: WorkerProcess) -> None:
    def run_order(task: Task[Any, Any], *_of_earlier_versions: str) -> None:
        process.run(str(task.request.hostname))

    # A claim that the database refuses for a moment is no failure of the order: the sweeper rings again.
    app.task(name=TASK, bind=True, max_retries=2, default_retry_delay=0)(run_order)
    app.task(name=ENDED_TASK)(process.job_ended)
    health_check.register(app)

    def begin(**_: object) -> None:
        process.begin()

    def close(**_: object) -> None:
        process.close()

    signals.worker_process_init.connect(begin, weak=False)
    signals.worker_process_shutdown.connect(close, weak=False)


def _configuration(settings: CelerySettings, *, works: bool) -> dict[str, object]:
    return {
        "task_serializer": "json",
        "accept_content": ["json"],
        "task_ignore_result": True,
        "task_queues": [Broadcast(ENDED_QUEUE, exchange=ended_exchange())],
        "worker_pool": f"{TaskPool.__module__}:{TaskPool.__name__}",
        "worker_concurrency": 1,
        # A child that opens its context first is not up within Celery's 4 s.
        "worker_proc_alive_timeout": 60.0,
        "worker_prefetch_multiplier": 1,
        "task_acks_late": True,
        "task_reject_on_worker_lost": True,
        # Without a bound, a poisonous order would kill one child after another.
        "task_retry_on_worker_lost": True,
        "task_time_limit": settings.hard_limit_s,
        "broker_connection_retry_on_startup": True,
        # A worker outlives its broker, however long that is away.
        "broker_connection_max_retries": None,
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        # Told to stop, a worker ends what it has begun; told twice, it has a minute for that.
        "worker_soft_shutdown_timeout": settings.soft_shutdown_s,
        "worker_enable_soft_shutdown_on_idle": False,
        "broker_transport_options": transport_options(
            settings.broker_url, visibility_s=settings.hard_limit_s * 2, key_prefix=settings.key_prefix, works=works
        ),
        "worker_hijack_root_logger": False,
    }
