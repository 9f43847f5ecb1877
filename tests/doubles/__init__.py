"""Doubles of the ports, and builders of domain values, for tests and benchmarks."""

from tests.doubles.builders import (
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
from tests.doubles.candidates import InMemoryArtefactStore, InMemoryCandidateStore, InMemoryVerdictStore
from tests.doubles.clock import FrozenClock, LoopClock
from tests.doubles.database import InMemoryDatabase
from tests.doubles.jobs import InMemoryEventLog, InMemoryJobStore
from tests.doubles.memory import InMemoryMemory, InMemoryMemoryRecords
from tests.doubles.models import InMemoryRequestStore, ScriptedModel, agreeable_answers
from tests.doubles.queue import FakeQueue
from tests.doubles.teams import (
    FakeIdentityProvider,
    InMemoryAuditLog,
    InMemoryKeyStore,
    InMemoryQuotaStore,
    InMemoryShareStore,
    InMemoryTeamStore,
)
from tests.doubles.webhooks import InMemoryWebhookStore, ScriptedSender
from tests.doubles.work import InMemoryNodeRegistry, InMemoryWorkStore

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
