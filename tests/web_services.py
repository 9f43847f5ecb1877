"""The services of an app under test: what a test names, and the real ones over doubles for the rest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agents.roles.recorded_replies import RecordedForms
from agents.strategies.population import population
from services.domain.errors import ConfigurationError
from services.exports import Exporter
from services.exports.report_links import ShareService
from services.jobs.playground import PlaygroundService
from services.jobs.requests import RequestService
from services.jobs.service import JobService
from services.jobs.trajectories import TrajectoryService
from services.ports.models import ChatModel
from services.ports.runtime import Clock
from services.team_memory.service import ExperienceService, VectorSpace
from services.teams.access import AccessService
from services.teams.quotas import QuotaService
from services.teams.rate_limits import LocalBuckets, RateLimiter
from services.teams.webhooks import WebhookService
from tests.doubles import (
    InMemoryArtefactStore,
    InMemoryAuditLog,
    InMemoryDatabase,
    InMemoryKeyStore,
    InMemoryMemory,
    InMemoryMemoryRecords,
    InMemoryQuotaStore,
    InMemoryRequestStore,
    InMemoryShareStore,
    InMemoryTeamStore,
    InMemoryWebhookStore,
)
from web.context import WebServices

HOSTS = ("127.0.0.1", "localhost", "[::1]")


def web_services(clock: Clock, jobs: JobService, runtime: Path, **given: Any) -> WebServices:
    """What is kept beside the jobs, in memory, starts empty."""
    beside = InMemoryDatabase(clock=clock)
    memory, records = InMemoryMemory(beside), InMemoryMemoryRecords(beside)
    exporter = Exporter(jobs, runtime)
    return WebServices(
        **{
            "jobs": jobs,
            "exporter": exporter,
            "experiences": ExperienceService(memory, records, VectorSpace(name="none", dimensions=1), clock),
            "requests": RequestService(InMemoryRequestStore(beside), lambda *_: None, clock),
            "trajectories": TrajectoryService(jobs, records),
            "shares": ShareService(InMemoryShareStore(clock), jobs, exporter, clock),
            "webhooks": WebhookService(InMemoryWebhookStore(beside), lambda _url: None, clock),
            "artefacts": InMemoryArtefactStore(beside),
            "playground": PlaygroundService(jobs, _no_model, RecordedForms(), clock),
            "populations": population,
            "compiler_draft": False,
            "ui": None,
            "examples": tuple,
            "workers": _none,
            "nodes": _none,
            "ready": _ready,
            "version": "0",
            "access": AccessService(
                InMemoryTeamStore(beside), InMemoryKeyStore(beside), InMemoryAuditLog(beside), clock
            ),
            "quotas": QuotaService(InMemoryQuotaStore(beside), clock),
            "node_work": None,
            "rates": RateLimiter(LocalBuckets(clock), per_caller=1_000_000, per_team=1_000_000),
            "identity": None,
            "public_url": None,
            "token": None,
            "open_here": True,
            "hosts": HOSTS,
            "metrics": _no_figures,
            **given,
        }
    )


def _no_model(name: str) -> ChatModel:
    raise ConfigurationError(f"unknown model '{name}'")


async def _none() -> Sequence[Any]:
    return ()


async def _ready() -> None:
    return


async def _no_figures() -> bytes:
    return b""
