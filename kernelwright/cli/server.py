"""`kernelwright serve`, `api`, `orchestrator`, `worker`: the parts that keep running."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelwright.cli.output import say
from kernelwright.cli.spool import check_spool_exists
from kernelwright.cli.spool import work as work_at_spool
from services.domain.errors import ConfigurationError, InfrastructureError, UserError
from services.domain.work import COMPILE
from services.runtime.garbage import collect_less
from services.runtime.periodic import repeating

if TYPE_CHECKING:
    import uvicorn

    from kernelwright.settings import Settings
    from kernelwright.wiring.installation import Installation
    from web.context import WebServices

GRACE_S = 5
"""How long open requests may go on after the server was told to stop."""
LOOK_S = 5.0
COUNT_S = 60.0
"""How often the API counts what limited teams have used: limits may be set by others."""
"""How often workers are asked what they offer, and teams' quotas what is left of them."""
SPOOL = "At a spool"
Port = Annotated[
    int | None, typer.Option(min=0, max=65535, help="Port to listen on (default 8000; 0 for any free port).")
]
Host = Annotated[str | None, typer.Option(help="Address to listen on (default 127.0.0.1).")]


def serve(port: Port = None, host: Host = None) -> None:
    """Start API, web UI, orchestrator and worker in one process."""
    asyncio.run(_serve(port, host, alone=False))


def api(port: Port = None, host: Host = None) -> None:
    """Start only the API."""
    asyncio.run(_serve(port, host, alone=True))


def orchestrator() -> None:
    """Start only an orchestrator, which claims and drives jobs."""
    asyncio.run(_orchestrate())


def worker(
    device: Annotated[
        str,
        typer.Option(
            help="Device to evaluate on; `compile` for a worker that only compiles, `all` for a worker per NVIDIA GPU."
        ),
    ] = "cpu",
    server: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="Take orders from this server's API, with a node's token (KERNELWRIGHT_TOKEN)."
        ),
    ] = None,
    spool: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Take orders from this directory instead of Redis.", rich_help_panel=SPOOL),
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Key file of the spool (default: KERNELWRIGHT_SPOOL_KEY, or spool.key at home).",
            rich_help_panel=SPOOL,
        ),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Evaluate the orders that are waiting, then exit.", rich_help_panel=SPOOL)
    ] = False,
    idle_exit: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0,
            help="Exit after this many seconds without an order (default: never).",
            rich_help_panel=SPOOL,
        ),
    ] = None,
) -> None:
    """Start only a worker, which takes evaluations from Redis.

    With --server it takes them from the API, and needs neither the database nor Redis. With --spool it takes them from
    a directory, needs no network, and leaves signed reports there.

    On SIGTERM it finishes the current one, then exits. With --spool, a second SIGTERM returns that one to the
    directory and exits at once."""
    from kernelwright.settings import load_settings

    settings = load_settings()
    if server is not None and spool is not None:
        raise ConfigurationError("use either --server or --spool")
    if spool is None and (once or idle_exit is not None or key is not None):
        raise ConfigurationError(
            "--once, --idle-exit and --key work only with a spool: name its directory with --spool"
        )
    if device == "all":
        raise typer.Exit(_work_on_every_card(settings, server, spool, key, once=once, idle_exit_s=idle_exit))
    if spool is not None:
        if device == COMPILE:
            raise ConfigurationError("a compile worker has no device to judge on: leave out --spool, or name a device")
        check_spool_exists(spool)
        _observe(settings, "worker")
        work_at_spool(settings, spool, device, key, once=once, idle_exit_s=idle_exit)
    elif server is not None:
        _work_for_server(settings, server, device)
    else:
        _work_for_broker(settings, device)


def _work_on_every_card(
    settings: Settings,
    server: str | None,
    spool: Path | None,
    key: Path | None,
    *,
    once: bool,
    idle_exit_s: float | None,
) -> int:
    from kernelwright.cli.gpu_workers import every_card, work_on_every_card
    from kernelwright.wiring.refusals import forget_refusal, refusal_listed
    from services.telemetry.logs import configure_logs

    configure_logs(settings.log_format, settings.log_level)
    options = {"--server": server, "--spool": spool, "--key": key, "--idle-exit": idle_exit_s}
    arguments = [part for name, value in options.items() if value is not None for part in (name, str(value))]
    ends = once or idle_exit_s is not None
    listed = server is not None or (spool is None and settings.queue == "celery")
    with refusal_listed(settings, "all", server) if listed else contextlib.nullcontext():
        gpus = every_card()
    if listed:
        forget_refusal(settings, "all", server)
    return work_on_every_card(
        gpus, [*arguments, *(["--once"] if once else [])], metrics_port=settings.metrics_port, again=not ends
    )


def _work_for_server(settings: Settings, server: str, device: str) -> None:
    from kernelwright.wiring.node import work_for_server
    from kernelwright.wiring.refusals import check_machine, refusal_listed

    _observe(settings, "worker")
    with refusal_listed(settings, device, server):
        check_machine(settings, device)
        done = asyncio.run(work_for_server(settings, server, device))
    _tell(settings, f"finished {done} orders")


def _work_for_broker(settings: Settings, device: str) -> None:
    from kernelwright.admission import acquire_slot
    from kernelwright.wiring.refusals import admit, check_device_left, check_machine, refusal_listed
    from kernelwright.wiring.workers import make_celery_worker
    from workers.queue.tasks import worker_options

    if settings.queue != "celery":
        raise ConfigurationError(
            "a separate worker needs KERNELWRIGHT_QUEUE=celery, --server URL or --spool DIR (serve includes one)"
        )
    _observe(settings, "worker")
    with refusal_listed(settings, device):
        check_machine(settings, device)
        asyncio.run(admit(settings))
    slot = acquire_slot(device)
    quiet = ["--quiet"] if settings.log_format == "json" else []  # its banner is no JSON
    options = [*worker_options(device, slot.name), "--loglevel", settings.log_level]
    app = make_celery_worker(settings, device, slot.name)
    _drain_when_told(settings, slot.name)
    _keep_logs()
    try:
        app.worker_main([*quiet, "worker", *options])
    finally:
        slot.socket.close()
        with refusal_listed(settings, device):
            check_device_left(device)  # a child of it found that; the process that is listed is this one


def _keep_logs() -> None:
    """Celery leaves the logs as they are: whoever hears this signal has configured them."""
    from celery import signals

    def configured(**_: object) -> None:
        """Nothing is left to do."""

    signals.setup_logging.connect(configured, weak=False)


def _drain_when_told(settings: Settings, name: str) -> None:
    """Say that the worker takes nothing new as soon as it begins to shut down."""
    from celery import signals

    from kernelwright.wiring.workers import open_registry

    async def drain() -> None:
        async with open_registry(settings) as registry:
            await registry.drain(name)

    def draining(**_: object) -> None:
        with contextlib.suppress(InfrastructureError):
            asyncio.run(drain())

    signals.worker_shutting_down.connect(draining, weak=False)


def _observe(settings: Settings, part: str) -> None:
    """Logs, traces and metrics of a process that keeps running."""
    from kernelwright.distribution import version
    from services.telemetry.logs import configure_logs

    configure_logs(settings.log_format, settings.log_level)
    if settings.traces_endpoint:
        from services.telemetry.traces import configure_traces

        configure_traces(settings.traces_endpoint, f"kernelwright-{part}", version())
    if settings.metrics_port and part in ("worker", "orchestrator"):
        from services.telemetry.metrics import serve_metrics

        serve_metrics(settings.metrics_port, settings.host)


async def _serve(port: int | None, host: str | None, *, alone: bool) -> None:
    from kernelwright.settings import load_settings
    from kernelwright.wiring.installation import dispatching, open_installation
    from kernelwright.wiring.web import limiting, make_web_services

    settings = load_settings()
    host = settings.host if host is None else host
    settings.check_bind(host)
    _observe(settings, "api" if alone else "serve")
    with listening(host, settings.port if port is None else port) as listener:
        async with (
            open_installation(settings) as installation,
            dispatching(installation),
            limiting(installation) as rates,
        ):
            await installation.quotas.count()  # else the first submission of each limited team waits for it
            services = make_web_services(installation, host=host, local_worker=not alone, rates=rates)
            stop = asyncio.Event()
            async with (
                contextlib.nullcontext() if alone else _orchestrating(installation, stop),
                _calling_roll(installation),
                repeating("quota counts", installation.quotas.count, COUNT_S, installation.clock),
            ):
                await _answer(settings, services, listener, stop)


@contextlib.asynccontextmanager
async def _calling_roll(installation: Installation) -> AsyncIterator[None]:
    """It is known what the workers offer, so that jobs for their devices are taken."""
    if installation.settings.queue != "celery":
        yield
        return
    async with repeating("the worker registry", installation.registry.refresh, LOOK_S, installation.clock):
        yield


async def _answer(settings: Settings, services: WebServices, listener: socket.socket, stop: asyncio.Event) -> None:
    import uvicorn

    from web.app import create_app

    config = uvicorn.Config(
        create_app(services),
        log_config=None,  # uvicorn's lines look like all others
        timeout_graceful_shutdown=GRACE_S,
        access_log=False,  # `web.access_log` says more
    )
    server = uvicorn.Server(config)
    collect_less()
    address, port = listener.getsockname()[:2]
    shown = address if ":" not in address else f"[{address}]"
    _tell(settings, f"Kernelwright at http://{shown}:{port}  (API: /docs)")
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    watching = asyncio.create_task(_watch(server, services, stop))
    try:
        await asyncio.shield(serving)
    finally:
        server.should_exit = True
        await asyncio.gather(serving, return_exceptions=True)
        watching.cancel()
        stop.set()


async def _watch(server: uvicorn.Server, services: WebServices, stop: asyncio.Event) -> None:
    """Tell event streams and the orchestrator as soon as the server was told to stop."""
    while not server.should_exit:  # noqa: ASYNC110 - uvicorn offers a flag, not an event
        await asyncio.sleep(0.1)
    services.stopping.set()
    stop.set()


@contextlib.asynccontextmanager
async def _orchestrating(
    installation: Installation, stop: asyncio.Event, *, drain_s: float = 0.0
) -> AsyncIterator[None]:
    """An orchestrator over this process's queue, beside what the caller does."""
    from kernelwright.orchestrator_names import own_name
    from kernelwright.wiring.installation import make_orchestrator, make_retention
    from kernelwright.wiring.queues import open_queue
    from kernelwright.wiring.workers import present
    from storage.jobs.retention import PAUSE_S

    name, concurrency = own_name(), installation.settings.concurrency
    async with present(installation.nodes, installation.clock, name), open_queue(installation) as queue:
        orchestrator = make_orchestrator(installation, queue, name)
        running = asyncio.create_task(orchestrator.serve(stop, concurrency, drain_s=drain_s))
        enforce = functools.partial(installation.quotas.enforce, installation.stores.jobs, installation.stores.events)
        try:
            async with (
                repeating("retention", make_retention(installation).expire_all, PAUSE_S, installation.clock),
                repeating("quotas", enforce, LOOK_S, installation.clock),
            ):
                yield
        finally:
            stop.set()
            await running


async def _orchestrate() -> None:
    from kernelwright.settings import load_settings
    from kernelwright.wiring.installation import open_installation

    settings = load_settings()
    _observe(settings, "orchestrator")
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with (
        open_installation(settings) as installation,
        _orchestrating(installation, stop, drain_s=settings.drain_s),
    ):
        collect_less()
        _tell(settings, f"orchestrating jobs of {_shown(settings)}")
        await stop.wait()
        _tell(settings, "draining; jobs continue with the next orchestrator")


@contextlib.contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A listening socket. Raises `UserError` when the port is busy or the address is not ours."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.create_server(address[:2], family=family, backlog=1024)
    except OSError as error:
        reason = error.strerror or error
        raise UserError(f"cannot listen on {host}:{port}: {reason}; choose another with --port") from None
    with listener:
        # asyncio switches Nagle's algorithm off only on sockets that name their protocol, which this one does not:
        # each answer on a kept connection would wait 40 ms for the client's delayed acknowledgement.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield listener


def _tell(settings: Settings, message: str) -> None:
    """Say how a part stands: on standard output, or as a log line where lines are read by programs."""
    if settings.log_format == "json":
        logging.getLogger(__name__).info(message)
    else:
        say(message)


def _shown(settings: Settings) -> str:
    from sqlalchemy import make_url

    return make_url(settings.database).render_as_string(hide_password=True)
