"""Doubles of the ports, and builders of domain values, for tests and benchmarks."""

from services.testing.artefacts import InMemoryArtefactStore
from services.testing.audit import InMemoryAuditLog
from services.testing.builders import (
    a_candidate,
    a_device,
    a_job,
    a_latency,
    a_problem,
    a_report,
    a_step,
    an_analysis,
    an_evaluation_request,
    an_experience,
)
from services.testing.candidates import InMemoryCandidateStore
from services.testing.clock import FrozenClock, LoopClock
from services.testing.database import InMemoryDatabase
from services.testing.events import InMemoryEventLog
from services.testing.identity import FakeIdentityProvider
from services.testing.jobs import InMemoryJobStore
from services.testing.memory import InMemoryMemory
from services.testing.memory_records import InMemoryMemoryRecords
from services.testing.messages import ScriptedSender
from services.testing.model import ScriptedModel, agreeable_answers
from services.testing.nodes import InMemoryNodeRegistry
from services.testing.queue import FakeQueue
from services.testing.quotas import InMemoryQuotaStore
from services.testing.requests import InMemoryRequestStore
from services.testing.shares import InMemoryShareStore
from services.testing.teams import InMemoryKeyStore, InMemoryTeamStore
from services.testing.verdicts import InMemoryVerdictStore
from services.testing.webhooks import InMemoryWebhookStore
from services.testing.work import InMemoryWorkStore

__all__ = [
    "FakeIdentityProvider",
    "FakeQueue",
    "FrozenClock",
    "InMemoryArtefactStore",
    "InMemoryAuditLog",
    "InMemoryCandidateStore",
    "InMemoryDatabase",
    "InMemoryEventLog",
    "InMemoryJobStore",
    "InMemoryKeyStore",
    "InMemoryMemory",
    "InMemoryMemoryRecords",
    "InMemoryNodeRegistry",
    "InMemoryQuotaStore",
    "InMemoryRequestStore",
    "InMemoryShareStore",
    "InMemoryTeamStore",
    "InMemoryVerdictStore",
    "InMemoryWebhookStore",
    "InMemoryWorkStore",
    "LoopClock",
    "ScriptedModel",
    "ScriptedSender",
    "a_candidate",
    "a_device",
    "a_job",
    "a_latency",
    "a_problem",
    "a_report",
    "a_step",
    "agreeable_answers",
    "an_analysis",
    "an_evaluation_request",
    "an_experience",
]
