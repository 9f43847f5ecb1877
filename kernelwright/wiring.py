"""The composition root: the only place where settings become objects. Heavy parts are imported where they are built."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib.util
import logging
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from kernelwright.access import bring_up, make_access, make_identity, make_quotas, public_names
from kernelwright.owners import is_gone, own_name
from kernelwright.provider_options import ProviderOptions
from kernelwright.sandboxing import sandbox_maker
from kernelwright.settings import LOOPBACK, Settings
from kernelwright.streaming import delta_events
from kernelwright.workbench import (
    MEMORY_BYTES,
    EveryDevice,
    LocalWorkbench,
    backends,
    compile_backends,
    devices,
    known_sheet,
    make_compile_bench,
    make_workbench,
    read_problem,
)
from services.catalogue import Catalogue
from services.clock import SystemClock
from services.domain.compilations import COMPILE
from services.domain.errors import ConfigurationError, InfrastructureError
from services.domain.jobs import LOCAL_TEAM
from services.domain.nodes import Node, NodeRole, NodeState
from services.domain.problems import Problem
from services.experiences import ExperienceService, VectorSpace
from services.exports import Exporter
from services.housekeeping import Housekeeper
from services.jobs import JobService
from services.nodes import Roster
from services.problems import public_source
from services.quotas import QuotaService
from services.rates import LocalBuckets, RateLimiter
from services.seeding import seed_experiences

log = logging.getLogger(__name__)

if TYPE_CHECKING:
    from celery import Celery
    from fastapi import FastAPI

    from agents.context import Stores
    from services.access import AccessService
    from services.adapters.llm.registry import ModelRegistry
    from services.adapters.llm.remote import DeltaListener
    from services.adapters.llm.settings import ProviderSettings
    from services.ports import ChatModel, Embedder, EvaluationQueue, NodeRegistry, RequestStore
    from services.requests import RequestService
    from services.retention import Keeper
    from services.reverification import Reverification, Today
    from services.sharing import ShareService
    from services.trajectories import TrajectoryService
    from services.webhooks import WebhookService
    from storage.database import Database
    from storage.memory import SqlMemory
    from storage.memory_records import SqlMemoryRecords
    from web.context import WebServices, WorkerInfo
    from workers.compiling import CompileBench
    from workers.orchestrator import Orchestrator
    from workers.presence import Presence
    from workers.tasks import CelerySettings

log = logging.getLogger(__name__)


CONFIRMATIONS = 2
"""Leading kernels that a job measures a second time before it reports one."""


@dataclass(frozen=True, kw_only=True)
class Installation:
    """The stores and use cases over one database."""

    settings: Settings
    clock: SystemClock
    database: Database
    stores: Stores
    models: ModelRegistry
    service: JobService
    exporter: Exporter
    experiences: ExperienceService
    records: SqlMemoryRecords
    nodes: NodeRegistry
    roster: Roster
    memory: SqlMemory
    access: AccessService
    quotas: QuotaService


@asynccontextmanager
async def open_installation(settings: Settings) -> AsyncIterator[Installation]:
    """Connect to the database; an embedded one is made and brought up to date first. Raises `StorageError`."""
    from storage.database import Database
    from storage.events import SqlEventLog
    from storage.requests import SqlRequestStore

    database = Database(settings.database)
    clock = SystemClock()
    requests = SqlRequestStore(database, clock)
    models = make_models(settings, clock, delta_events(SqlEventLog(database, clock)), requests)
    try:
        await bring_up(database)
        installation = _installation(settings, database, models, clock)
        await installation.records.seed(seed_experiences(LOCAL_TEAM))
        try:
            yield installation
        finally:
            await installation.memory.close()
    finally:
        await models.aclose()
        await database.close()


def make_models(
    settings: Settings,
    clock: SystemClock,
    listener: DeltaListener | None = None,
    requests: RequestStore | None = None,
) -> ModelRegistry:
    """The chat models that this installation can reach; nothing is connected to before the first call. `listener` is
    told of replies as they are written. Without a store of requests there is no manual model."""
    from agents.playbook.model import PlaybookModel
    from services.adapters.llm import manual
    from services.adapters.llm.registry import ModelRegistry
    from services.adapters.llm.settings import ModelSettings

    providers = {name: _provider(settings, name) for name in ("openai", "anthropic", "compatible")}
    offline: dict[str, Callable[[], ChatModel]] = {"playbook": PlaybookModel}
    if requests is not None:
        timeout_s = settings.manual_timeout_s
        offline[manual.NAME] = lambda: manual.ManualModel(requests, clock, timeout_s=timeout_s)
    return ModelRegistry(ModelSettings(providers=providers), clock, offline=offline, listener=listener)


def _provider(settings: Settings, name: str) -> ProviderSettings:
    """One provider of chat models, as the settings have it."""
    from services.adapters.llm.settings import ProviderSettings, TokenPrice

    options: ProviderOptions = getattr(settings, name)
    price = None
    if options.price_input is not None and options.price_output is not None:
        price = TokenPrice(input=options.price_input, cached=options.price_cached, output=options.price_output)
    return ProviderSettings(
        api_key=getattr(settings, f"{name}_api_key"),
        base_url=getattr(settings, f"{name}_base_url"),
        forbid_private_hosts=settings.forbid_private_hosts,
        price=price,
        **options.model_dump(exclude={"price_input", "price_cached", "price_output"}),
    )


def make_requests(installation: Installation) -> RequestService:
    """The requests of manual models."""
    from agents.answers import check_answer
    from services.requests import RequestService
    from storage.requests import SqlRequestStore

    store = SqlRequestStore(installation.database, installation.clock)
    return RequestService(store, check_answer, installation.clock)


def make_shares(installation: Installation) -> ShareService:
    """Links to reports."""
    from services.sharing import ShareService
    from storage.shares import SqlShareStore

    store = SqlShareStore(installation.database, installation.clock)
    return ShareService(store, installation.service, installation.exporter, installation.clock)


def make_webhooks(installation: Installation) -> WebhookService:
    """A team's webhooks."""
    from services.adapters.webhooks.sender import check_address
    from services.webhooks import WebhookService
    from storage.webhooks import SqlWebhookStore

    check = functools.partial(check_address, private_hosts=installation.settings.webhook_private_hosts)
    return WebhookService(SqlWebhookStore(installation.database, installation.clock), check, installation.clock)


@asynccontextmanager
async def dispatching(installation: Installation) -> AsyncIterator[None]:
    """Messages of webhooks are sent while the context lasts."""
    from services.adapters.webhooks.sender import WebhookSender
    from services.webhooks import Dispatcher
    from storage.webhooks import SqlWebhookStore

    store = SqlWebhookStore(installation.database, installation.clock)
    sender = WebhookSender(f"kernelwright/{version()}", private_hosts=installation.settings.webhook_private_hosts)
    sending = asyncio.create_task(Dispatcher(store, sender, installation.clock).serve())
    try:
        yield
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        await sender.aclose()


def make_trajectories(installation: Installation) -> TrajectoryService:
    """Training data from what jobs have recorded."""
    from services.trajectories import TrajectoryService

    return TrajectoryService(installation.service, installation.records)


def make_catalogue(models: ModelRegistry, elsewhere: Callable[[], Mapping[str, tuple[str, ...]]] = dict) -> Catalogue:
    """The names that jobs may ask for."""
    from agents.strategies.registry import STRATEGIES

    have = devices()
    return Catalogue(
        backends=tuple(dict.fromkeys(backend for device in have for backend in backends(device))),
        devices=have,
        backends_of={device: backends(device) for device in have},
        strategies=tuple(sorted(STRATEGIES)),
        models=models.names,
        resolve_model=models.resolve,
        elsewhere=elsewhere,
    )


def make_embedder(settings: Settings) -> Embedder:
    """What turns experiences into vectors. Raises `ConfigurationError` where MiniLM is asked for and not installed, or
    a service without its address."""
    from services.adapters.embeddings.hashing import HashingEmbedder
    from services.adapters.embeddings.minilm import MiniLmEmbedder, minilm_or

    if settings.embedder == "hashing":
        return HashingEmbedder()
    if settings.embedder == "minilm":
        return MiniLmEmbedder()
    local = minilm_or(HashingEmbedder())[0]
    return local if settings.embedder == "auto" else _remote_embedder(settings, local)


def _remote_embedder(settings: Settings, local: Embedder) -> Embedder:
    """The service that the settings name, with a local embedder for while it fails."""
    from services.adapters.embeddings.openai_compatible import CompatibleEmbedder, FallbackEmbedder

    model, dimensions = settings.embedder.removeprefix("compatible:").rsplit(":", 1)
    address = settings.embedder_base_url or settings.compatible_base_url
    if address is None:
        raise ConfigurationError(
            "KERNELWRIGHT_EMBEDDER names a service: set KERNELWRIGHT_EMBEDDER_BASE_URL to its root, ending in /v1"
        )
    key = settings.embedder_api_key or settings.compatible_api_key
    service = CompatibleEmbedder(
        address,
        model,
        int(dimensions),
        api_key=None if key is None else key.get_secret_value(),
        timeout_s=settings.embedder_timeout_s,
    )
    return FallbackEmbedder(service, local, notice=log.warning)


@asynccontextmanager
async def open_queue(installation: Installation) -> AsyncIterator[EvaluationQueue]:
    """The evaluation queue that the settings name. Raises `InfrastructureError`."""
    from services.telemetry.observed import ObservedQueue

    queue = ObservedQueue(_make_queue(installation))
    try:
        yield queue
    finally:
        await queue.close()


def make_orchestrator(installation: Installation, queue: EvaluationQueue, owner: str | None = None) -> Orchestrator:
    """An orchestrator with a name of its own (or the given one) over an installation and a queue."""
    os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")
    from agents.asking import Patience
    from services.telemetry.observed import observed_model
    from storage.checkpoints import SqlCheckpointSaver
    from workers.orchestrator import Orchestrator, Pace

    # A worker's host that restarts its Docker daemon is back within two minutes: 1 + 2 + 4 + … s.
    host_patience = Patience(attempts=8)
    settings = installation.settings
    return Orchestrator(
        stores=installation.stores,
        queue=queue,
        models=lambda name: observed_model(installation.models.resolve(name)),
        public_source=public_source,
        checkpoints=SqlCheckpointSaver(installation.database),
        clock=installation.clock,
        owner=owner or own_name(),
        is_gone=is_gone,
        machine_patience=host_patience if settings.queue == "celery" else None,
        pace=Pace(lease_ttl_s=settings.lease_s),
        evaluation_timeout_s=settings.evaluation_timeout_s,
        holdout_share=settings.holdout,
        confirmations=CONFIRMATIONS,
        team_cap=settings.team_concurrency,
        after_job=Housekeeper(installation.records, cap=settings.memory_cap).after_job,
    )


def make_keeper(installation: Installation) -> Keeper:
    """What removes expired parts of jobs, and files of contents that are gone."""
    from services.domain.deletion import Retention
    from services.retention import Keeper
    from storage.artefact_files import open_files
    from storage.expiry import SqlExpiry

    settings = installation.settings
    kept = Retention(
        events_days=settings.keep_events_days,
        trajectories_days=settings.keep_trajectories_days,
        artefacts_days=settings.keep_artefacts_days,
    )
    expiry = SqlExpiry(installation.database, installation.clock, files=open_files(settings.artefacts))
    return Keeper(expiry, kept, installation.clock)


def make_reverification(installation: Installation, today: Today) -> Reverification:
    """What judges accepted results again; `today` tells what this machine would judge them under."""
    from services.reverification import Reverification
    from storage.verdicts import SqlVerdictStore

    verdicts = SqlVerdictStore(installation.database, installation.clock)
    return Reverification(verdicts, installation.records, today)


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
    from web.context import WebServices, WorkerInfo

    settings, started = installation.settings, installation.clock.now()

    async def workers() -> tuple[WorkerInfo, ...]:
        if settings.queue == "celery":
            return tuple(_worker_info(node) for node in await installation.nodes.living(NodeRole.WORKER))
        if not local_worker:
            return ()
        return tuple(
            WorkerInfo(
                name=socket.gethostname(),
                device=device,
                backends=backends(device),
                isolation=None,
                sheet=known_sheet(settings.directory, device),
                node=_here(device, started),
            )
            for device in devices()
        )

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
        ui=built_ui(),
        examples=examples,
        workers=workers,
        nodes=installation.nodes.living,
        ready=installation.database.check,
        version=version(),
        access=installation.access,
        quotas=installation.quotas,
        rates=rates,
        identity=make_identity(settings),
        public_url=None if settings.public_url is None else settings.public_url.rstrip("/"),
        token=settings.token,
        open_here=settings.is_open(host),
        hosts=public_names(settings) if host in LOOPBACK else None,
        metrics=_metrics(installation),
    )


def _worker_info(node: Node) -> WorkerInfo:
    from web.context import WorkerInfo

    return WorkerInfo(
        name=node.name, device=node.device or "", backends=node.backends, isolation=node.isolation, node=node
    )


def _here(device: str, started: datetime) -> Node:
    """The worker inside this process, which answers for itself."""
    node = worker_node(device, socket.gethostname())
    return replace(node, load=os.getloadavg()[0] / (os.cpu_count() or 1), started_at=started)


def _metrics(installation: Installation) -> Callable[[], Awaitable[bytes]]:
    """What `/metrics` answers: this process's own counters, and a census of the database."""
    from services.telemetry import metrics
    from storage.census import DatabaseCensus

    census = DatabaseCensus(installation.database, installation.clock, installation.experiences.effect)

    async def answer() -> bytes:
        return metrics.exposition() + await census.exposition()

    return answer


def make_app(services: WebServices) -> FastAPI:
    """The ASGI app."""
    from web.app import create_app

    return create_app(services)


def version() -> str:
    """The program's version; `0+unknown` in a checkout that was never installed."""
    try:
        return metadata.version("kernelwright")
    except metadata.PackageNotFoundError:
        return "0+unknown"


def examples() -> tuple[Problem, ...]:
    """The example problems of a checkout; none in an installed wheel."""
    folder = Path(__file__).parents[1] / "examples" / "problems"
    return tuple(read_problem(path) for path in sorted(folder.glob("*.py")))


def built_ui() -> Path | None:
    """The folder of the web UI's build; None where `make web` was never run."""
    folder = Path(__file__).parents[1] / "web" / "ui" / "dist"
    return folder if (folder / "index.html").is_file() else None


def runtime_module() -> Path:
    """The file of `kernelwright_rt`, found without importing it."""
    spec = importlib.util.find_spec("kernelwright_rt")
    if spec is None or spec.origin is None:
        raise ConfigurationError("the module kernelwright_rt is missing: reinstall kernelwright")
    return Path(spec.origin)


def _installation(settings: Settings, database: Database, models: ModelRegistry, clock: SystemClock) -> Installation:
    from agents.context import Stores
    from storage.artefact_files import open_files
    from storage.blobs import SqlArtefactStore
    from storage.candidates import SqlCandidateStore
    from storage.events import SqlEventLog
    from storage.jobs import SqlJobStore
    from storage.memory import SqlMemory
    from storage.memory_records import SqlMemoryRecords
    from storage.nodes import SqlNodeRegistry

    embedder = make_embedder(settings)
    memory = SqlMemory(database, embedder)
    stores = Stores(
        jobs=SqlJobStore(database, clock),
        candidates=SqlCandidateStore(database, clock),
        events=SqlEventLog(database, clock),
        memory=memory,
        artefacts=SqlArtefactStore(database, clock, files=open_files(settings.artefacts)),
    )
    records = SqlMemoryRecords(database, memory, embedder.name, clock)
    nodes = SqlNodeRegistry(database, clock)
    roster = Roster(nodes)
    space = VectorSpace(name=embedder.name, dimensions=embedder.dimensions)
    quotas = make_quotas(database, clock)
    service = JobService(stores.jobs, stores.candidates, make_catalogue(models, roster.devices), clock, quotas)
    return Installation(
        settings=settings,
        clock=clock,
        database=database,
        stores=stores,
        models=models,
        service=service,
        exporter=Exporter(service, runtime_module()),
        experiences=ExperienceService(memory, records, space, clock),
        records=records,
        nodes=nodes,
        roster=roster,
        memory=memory,
        access=make_access(database, clock),
        quotas=quotas,
    )


def _make_queue(installation: Installation) -> EvaluationQueue:
    factories: Mapping[str, Callable[[Installation], EvaluationQueue]] = {
        "in-process": _in_process_queue,
        "celery": _celery_queue,
    }
    return factories[installation.settings.queue](installation)


def _workbench(settings: Settings, device: str = "cpu") -> LocalWorkbench:
    return make_workbench(
        settings.directory,
        device,
        make=sandbox_maker(settings),
        baselines_max_age_s=settings.baselines_max_age_s,
        compiled=settings.compiled,
    )


def _compile_bench(settings: Settings) -> CompileBench:
    if settings.compiled is None:
        raise ConfigurationError("a compile worker needs KERNELWRIGHT_COMPILED, the folder that it builds into")
    return make_compile_bench(settings.compiled, make=sandbox_maker(settings))


def _in_process_queue(installation: Installation) -> EvaluationQueue:
    from services.adapters.queueing.in_process import InProcessQueue

    settings = installation.settings
    workbench = EveryDevice({"cpu": _workbench(settings)}, lambda device: _workbench(settings, device))
    return InProcessQueue(workbench, installation.stores.candidates, installation.stores.artefacts)


def _celery_queue(installation: Installation) -> EvaluationQueue:
    from services.adapters.queueing.celery_queue import CeleryQueue
    from services.adapters.queueing.compile_ahead import CompileAhead
    from storage.work import SqlWorkStore
    from workers.tasks import create_app

    app = create_app(celery_settings(installation.settings))
    orders = SqlWorkStore(installation.database, installation.clock)
    return CeleryQueue(app, orders, installation.clock, ahead=CompileAhead(installation.nodes))


def celery_settings(settings: Settings) -> CelerySettings:
    """How this installation's workers and those who ring for them meet."""
    from workers.tasks import CelerySettings

    return CelerySettings(broker_url=settings.redis_url, key_prefix=settings.redis_prefix, claim_ttl_s=settings.claim_s)


def make_celery_worker(settings: Settings, device: str, name: str) -> Celery:
    """The Celery application of this machine's worker; its station opens in the child that works."""
    from workers.tasks import Station, create_app

    def open_station() -> Station:
        from storage.artefact_files import open_files
        from storage.blobs import SqlArtefactStore
        from storage.database import Database
        from storage.work import SqlWorkStore

        workbench = _compile_bench(settings) if device == COMPILE else _workbench(settings, device)
        database, clock = Database(settings.database), SystemClock()
        return Station(
            orders=SqlWorkStore(database, clock),
            workbench=workbench,
            offer=workbench.offer,
            artefacts=SqlArtefactStore(database, clock, files=open_files(settings.artefacts)),
        )

    def open_presence() -> Presence:
        from workers.presence import Presence

        return Presence(worker_node(device, name), lambda: open_registry(settings))

    # A device worker's first order is a validation, which it has time to become warm for; a compile worker's is a
    # candidate that a device waits for.
    return create_app(celery_settings(settings), open_station, open_presence, ready=device == COMPILE)


def worker_node(device: str, name: str) -> Node:
    """This machine's worker as it registers before its device is measured."""
    now = SystemClock().now()
    return Node(
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
    from storage.database import Database
    from storage.nodes import SqlNodeRegistry

    database = Database(settings.database)
    try:
        yield SqlNodeRegistry(database, SystemClock())
    finally:
        await database.close()


@asynccontextmanager
async def present(installation: Installation, name: str) -> AsyncIterator[None]:
    """An orchestrator is seen by the others while the context lasts."""
    now = installation.clock.now()
    node = Node(
        name=name, role=NodeRole.ORCHESTRATOR, version=version(), state=NodeState.READY, started_at=now, seen_at=now
    )
    beating = asyncio.create_task(_beat(installation.nodes, node))
    try:
        yield
    finally:
        beating.cancel()
        await asyncio.gather(beating, return_exceptions=True)
        with contextlib.suppress(InfrastructureError):
            await installation.nodes.leave(name)


async def _beat(nodes: NodeRegistry, node: Node) -> None:
    while True:
        try:
            if not await nodes.beat(node.name, load=os.getloadavg()[0] / (os.cpu_count() or 1)):
                await nodes.register(node)
        except InfrastructureError as error:
            log.warning("could not say that this orchestrator is there: %s", error)
        await asyncio.sleep(5.0)
