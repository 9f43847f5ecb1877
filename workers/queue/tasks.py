"""The Celery application of device workers: a task that takes the order whose turn it is and does it, and one that
frees what is kept warm for a job that has ended."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from celery import Celery, Task, signals
from kombu.common import Broadcast

from services.adapters.queues.notifier import ENDED_QUEUE, ENDED_TASK, TASK, device_queue, ended_exchange
from services.domain.errors import DeviceLostError, InfrastructureError, KernelwrightError
from services.domain.nodes import as_fault
from workers.queue import health_check
from workers.queue.connection import SteadyConnection, transport_options
from workers.queue.heartbeat import Heartbeat
from workers.queue.orders import ClaimPace, WorkerContext, execute
from workers.queue.pool import TaskPool

log = logging.getLogger(__name__)


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

    @property
    def pace(self) -> ClaimPace:
        """How claims are kept."""
        return ClaimPace(ttl_s=self.claim_ttl_s, beat_s=self.beat_s)


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
        end_worker: Callable[[], object] = lambda: os.kill(os.getppid(), signal.SIGTERM),
    ) -> None:
        """`end_worker` tells the worker, whose child this is, to take nothing more and end."""
        self._ready = ready
        self._end_worker = end_worker
        self._lost = False
        """Whether the device is gone: nothing is taken any more."""
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
        """Take an order and do it, if there is one. Where the device is gone, nothing is taken and the worker ends."""
        if self._lost:
            return  # woken before the worker heard that it shall end; others are woken again
        try:
            self._run(owner)
        except DeviceLostError as error:
            self._lost = True
            log.critical("this worker takes no more orders and ends: %s", error)
            if self._heartbeat is not None:
                self._heartbeat.troubled(as_fault(error))
            self._end_worker()

    def _run(self, owner: str) -> None:
        context = self._opened()
        if self._runner is None:
            self._runner = asyncio.Runner()
        began = time.monotonic()
        if self._runner.run(execute(context, owner, self._settings.pace)) and self._heartbeat is not None:
            self._heartbeat.worked(time.monotonic() - began)

    def _opened(self) -> WorkerContext:
        if self._context is None:
            try:
                self._context = self._open_context()
            except KernelwrightError as error:
                if self._heartbeat is not None:
                    self._heartbeat.troubled(as_fault(error))
                raise
            if self._heartbeat is not None:
                known = self._context
                self._heartbeat.measured(known.offer, known.sheet, known.isolation, lacking=known.lacking)
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
