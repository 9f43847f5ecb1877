"""The composition root: the only place where settings become objects. Heavy parts are imported where they are built."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelwright.distribution import runtime_module, version
from kernelwright.orchestrator_names import is_gone, own_name
from kernelwright.provider_options import ProviderOptions
from kernelwright.settings import Settings
from kernelwright.wiring.access import make_access, make_quotas
from kernelwright.wiring.database import open_current_database
from kernelwright.wiring.reply_events import delta_events
from kernelwright.wiring.spool import spool_devices, spool_nodes
from kernelwright.wiring.workbench import backends, devices
from services.domain.errors import ConfigurationError
from services.domain.jobs import LOCAL_TEAM
from services.exports import Exporter
from services.jobs.catalogue import Catalogue, WorkerRegistry
from services.jobs.service import JobService
from services.problems.lint import public_source
from services.runtime.clock import SystemClock
from services.team_memory.maintenance import MemoryMaintenance
from services.team_memory.seeds import seed_experiences
from services.team_memory.service import ExperienceService, VectorSpace
from services.teams.quotas import QuotaService

if TYPE_CHECKING:
    from agents.workflow.context import Stores
    from orchestrator import Orchestrator
    from services.adapters.llm.registry import ModelRegistry
    from services.adapters.llm.remote import DeltaListener
    from services.adapters.llm.settings import ProviderSettings
    from services.exports.report_links import ShareService
    from services.jobs.requests import RequestService
    from services.jobs.reverification import Reverification, Today
    from services.jobs.trajectories import TrajectoryService
    from services.ports.models import ChatModel, Embedder, RequestStore
    from services.ports.work import EvaluationQueue, NodeRegistry
    from services.teams.access import AccessService
    from services.teams.webhooks import WebhookService
    from storage.database import Database
    from storage.jobs.retention import RetentionRounds
    from storage.memory.records import SqlMemoryRecords
    from storage.memory.store import SqlMemory
    from storage.teams.encryption import SecretSealer
    from storage.teams.webhooks import SqlWebhookStore


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
    registry: WorkerRegistry
    memory: SqlMemory
    access: AccessService
    quotas: QuotaService


@asynccontextmanager
async def open_installation(settings: Settings) -> AsyncIterator[Installation]:
    """Connect to the database; an embedded one is made and brought up to date first. Raises `StorageError`."""
    from storage.jobs.events import SqlEventLog
    from storage.jobs.requests import SqlRequestStore

    clock = SystemClock()
    async with open_current_database(settings) as database:
        requests = SqlRequestStore(database, clock)
        models = make_models(settings, clock, delta_events(SqlEventLog(database, clock)), requests)
        async with contextlib.aclosing(models):
            installation = _installation(settings, database, models, clock)
            await installation.records.seed(seed_experiences(LOCAL_TEAM))
            try:
                yield installation
            finally:
                await installation.memory.close()


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
    from agents.roles.external_replies import check_answer
    from services.jobs.requests import RequestService
    from storage.jobs.requests import SqlRequestStore

    store = SqlRequestStore(installation.database, installation.clock)
    return RequestService(store, check_answer, installation.clock)


def make_shares(installation: Installation) -> ShareService:
    """Links to reports."""
    from services.exports.report_links import ShareService
    from storage.teams.report_links import SqlShareStore

    store = SqlShareStore(installation.database, installation.clock)
    return ShareService(store, installation.service, installation.exporter, installation.clock)


def open_sealer(settings: Settings) -> SecretSealer:
    """What encrypts secrets in the database. Raises `ConfigurationError` for a key that is none."""
    from storage.teams.encryption import SecretSealer

    given = "" if settings.secrets_key is None else settings.secrets_key.get_secret_value()
    return SecretSealer([key.strip() for key in given.split(",") if key.strip()])


def make_webhooks(installation: Installation) -> WebhookService:
    """A team's webhooks."""
    from services.adapters.webhooks.sender import check_address
    from services.teams.webhooks import WebhookService

    check = functools.partial(check_address, private_hosts=installation.settings.webhook_private_hosts)
    return WebhookService(_webhook_store(installation), check, installation.clock)


def _webhook_store(installation: Installation) -> SqlWebhookStore:
    from storage.teams.webhooks import SqlWebhookStore

    return SqlWebhookStore(installation.database, installation.clock, open_sealer(installation.settings))


@asynccontextmanager
async def dispatching(installation: Installation) -> AsyncIterator[None]:
    """Messages of webhooks are sent while the context lasts."""
    from services.adapters.webhooks.sender import WebhookSender
    from services.runtime.periodic import repeating
    from services.teams.webhooks import POLL_S, Dispatcher

    sender = WebhookSender(f"kernelwright/{version()}", private_hosts=installation.settings.webhook_private_hosts)
    dispatcher = Dispatcher(_webhook_store(installation), sender, installation.clock)
    try:
        async with repeating("webhooks", dispatcher.begin_all, POLL_S, installation.clock):
            yield
    finally:
        await dispatcher.aclose()
        await sender.aclose()


def make_trajectories(installation: Installation) -> TrajectoryService:
    """Training data from what jobs have recorded."""
    from services.jobs.trajectories import TrajectoryService

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


def make_orchestrator(installation: Installation, queue: EvaluationQueue, owner: str | None = None) -> Orchestrator:
    """An orchestrator with a name of its own (or the given one) over an installation and a queue."""
    os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")
    from agents.workflow.rules import RetryPolicy
    from orchestrator import JobRules, Orchestrator, PollingIntervals
    from services.telemetry.observed import observed_model
    from storage.jobs.checkpoints import SqlCheckpointSaver

    # A worker's host that restarts its Docker daemon is back within two minutes: 1 + 2 + 4 + … s.
    host_retry_policy = RetryPolicy(attempts=8)
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
        rules=JobRules(
            worker_retries=host_retry_policy if settings.queue == "celery" else RetryPolicy(),
            evaluation_timeout_s=settings.evaluation_timeout_s,
            holdout_share=settings.holdout,
            confirmations=CONFIRMATIONS,
            practices=settings.practices,
            team_cap=settings.team_concurrency,
        ),
        polling=PollingIntervals(lease_ttl_s=settings.lease_s),
        after_job=MemoryMaintenance(installation.records, cap=settings.memory_cap).after_job,
    )


def make_retention(installation: Installation) -> RetentionRounds:
    """What removes expired parts of jobs, and files of contents that are gone."""
    from services.domain.deletion import Retention
    from storage.contents.files import open_files
    from storage.jobs.retention import RetentionRounds

    settings = installation.settings
    kept = Retention(
        events_days=settings.keep_events_days,
        trajectories_days=settings.keep_trajectories_days,
        artefacts_days=settings.keep_artefacts_days,
    )
    files = open_files(settings.artefacts)
    return RetentionRounds(installation.database, installation.clock, kept, files=files)


def make_reverification(installation: Installation, today: Today) -> Reverification:
    """What judges accepted results again; `today` tells what this machine would judge them under."""
    from services.jobs.reverification import Reverification
    from storage.jobs.verdicts import SqlVerdictStore

    verdicts = SqlVerdictStore(installation.database, installation.clock)
    return Reverification(verdicts, installation.records, today)


def _installation(settings: Settings, database: Database, models: ModelRegistry, clock: SystemClock) -> Installation:
    from agents.workflow.context import Stores
    from storage.contents.blobs import SqlArtefactStore
    from storage.contents.files import open_files
    from storage.jobs.candidates import SqlCandidateStore
    from storage.jobs.events import SqlEventLog
    from storage.jobs.store import SqlJobStore
    from storage.memory.records import SqlMemoryRecords
    from storage.memory.store import SqlMemory
    from storage.nodes import SqlNodeRegistry

    embedder = make_embedder(settings)
    memory = SqlMemory(database, embedder, seeds=seed_experiences)
    stores = Stores(
        jobs=SqlJobStore(database, clock),
        candidates=SqlCandidateStore(database, clock),
        events=SqlEventLog(database, clock),
        memory=memory,
        artefacts=SqlArtefactStore(database, clock, files=open_files(settings.artefacts)),
    )
    records = SqlMemoryRecords(database, memory, embedder.name, clock)
    nodes = _with_spool(SqlNodeRegistry(database, clock), settings)
    registry = WorkerRegistry(nodes)
    space = VectorSpace(name=embedder.name, dimensions=embedder.dimensions)
    quotas = make_quotas(database, clock)
    service = JobService(
        stores.jobs,
        stores.candidates,
        make_catalogue(models, _elsewhere(settings, registry)),
        clock,
        quotas,
        evaluation_timeout_s=settings.evaluation_timeout_s,
    )
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
        registry=registry,
        memory=memory,
        access=make_access(database, clock),
        quotas=quotas,
    )


def _with_spool(registry: NodeRegistry, settings: Settings) -> NodeRegistry:
    """The registry of nodes, with those of the spool where there is one."""
    nodes = spool_nodes(settings)
    if nodes is None:
        return registry
    from services.adapters.spool.nodes import SpoolNodeRegistry

    return SpoolNodeRegistry(registry, nodes)


def _elsewhere(settings: Settings, registry: WorkerRegistry) -> Callable[[], Mapping[str, tuple[str, ...]]]:
    """Devices that are not this machine's."""
    spooled = spool_devices(settings)
    return lambda: {**registry.devices(), **spooled}
