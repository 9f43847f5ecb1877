"""An orchestrator over doubles."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from langgraph.checkpoint.memory import InMemorySaver

from orchestrator import JobRules, Orchestrator, PollingIntervals, RetryPolicy, Stores
from services.domain.errors import ConfigurationError
from services.domain.events import Event, EventKind
from services.domain.jobs import Job
from services.domain.problems import Problem
from services.domain.steps import Step
from services.ports.models import ChatModel
from services.ports.runtime import Clock
from services.ports.work import EvaluationQueue
from tests.doubles import (
    FakeQueue,
    FrozenClock,
    InMemoryArtefactStore,
    InMemoryCandidateStore,
    InMemoryDatabase,
    InMemoryEventLog,
    InMemoryJobStore,
    InMemoryMemory,
    ScriptedModel,
    agreeable_answers,
)

T = TypeVar("T")
AT_ONCE = RetryPolicy(attempts=3, backoff_s=0.0)


class KilledError(BaseException):
    """The process is gone."""


class Fuse:
    """Kills after a number of operations; then everything that is tried dies too, as after SIGKILL."""

    def __init__(self, operations: int | None = None) -> None:
        self._left = operations

    def burn(self) -> None:
        if self._left is None:
            return
        if self._left <= 0:
            raise KilledError
        self._left -= 1


class FusedSaver(InMemorySaver):
    """Checkpoints behind a fuse."""

    def __init__(self) -> None:
        super().__init__()
        self.fuse = Fuse()

    async def aput(self, *args: Any, **kwargs: Any) -> Any:
        self.fuse.burn()
        result = await super().aput(*args, **kwargs)
        self.fuse.burn()
        return result

    async def aput_writes(self, *args: Any, **kwargs: Any) -> None:
        self.fuse.burn()
        await super().aput_writes(*args, **kwargs)
        self.fuse.burn()


def fused(port: T, fuse: Fuse) -> T:
    """The port, every coroutine of it behind the fuse, before and after its effect."""
    members = {name: property(_read(name)) for name in dir(type(port)) if name[0] != "_"}
    kind = type("Fused", (_Fused,), members)  # `isinstance` of a protocol asks the class, not `__getattr__`
    return cast("T", kind(port, fuse))


def _read(name: str) -> Callable[[Any], Any]:
    return lambda self: _Fused.__getattr__(self, name)


class _Fused:
    def __init__(self, port: object, fuse: Fuse) -> None:
        self._port = port
        self._fuse = fuse

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if not inspect.iscoroutinefunction(found):
            return found

        async def call(*args: Any, **kwargs: Any) -> Any:
            self._fuse.burn()
            result = await found(*args, **kwargs)
            self._fuse.burn()
            return result

        return call


@dataclass(kw_only=True)
class World:
    """Everything that outlives an orchestrator."""

    clock: Clock = field(default_factory=FrozenClock)
    model: ScriptedModel = field(default_factory=lambda: ScriptedModel(agreeable_answers))
    queue: FakeQueue = field(default_factory=FakeQueue)
    saver: FusedSaver = field(default_factory=FusedSaver)
    polling: PollingIntervals = field(default_factory=PollingIntervals)
    holdout_share: float = 0.0
    confirmations: int = 0
    practices: bool = False
    database: InMemoryDatabase = field(init=False)

    def __post_init__(self) -> None:
        self.database = InMemoryDatabase(clock=self.clock)
        self.jobs = InMemoryJobStore(self.database)
        self.candidates = InMemoryCandidateStore(self.database)
        self.events = InMemoryEventLog(self.database)
        self.memory = InMemoryMemory(self.database)
        self.artefacts = InMemoryArtefactStore(self.database)

    def orchestrator(
        self,
        *,
        owner: str = "one",
        fuse: Fuse | None = None,
        timeout_s: float = 120.0,
        gone: tuple[str, ...] = (),
    ) -> Orchestrator:
        fuse = fuse or Fuse()
        self.saver.fuse = fuse
        stores = Stores(
            jobs=fused(self.jobs, fuse),
            candidates=fused(self.candidates, fuse),
            events=fused(self.events, fuse),
            memory=fused(self.memory, fuse),
            artefacts=fused(self.artefacts, fuse),
        )
        model: ChatModel = fused(self.model, fuse)
        queue: EvaluationQueue = fused(self.queue, fuse)
        return Orchestrator(
            stores=stores,
            queue=queue,
            models=only(model),
            public_source=public_source,
            checkpoints=self.saver,
            clock=self.clock,
            owner=owner,
            is_gone=lambda name: name in gone,
            rules=JobRules(
                model_retries=AT_ONCE,
                worker_retries=AT_ONCE,
                evaluation_timeout_s=timeout_s,
                holdout_share=self.holdout_share,
                confirmations=self.confirmations,
                practices=self.practices,
            ),
            polling=self.polling,
        )

    async def run(self, job: Job, *, timeout_s: float = 120.0) -> Job:
        """Create the job and take it to its end."""
        await self.jobs.create(job)
        return await self.orchestrator(timeout_s=timeout_s).run_job(job.id)

    def steps(self, job_id: str = "job-1") -> list[Step]:
        return self.database.steps[job_id]

    def log(self, kind: EventKind, job_id: str = "job-1") -> list[Event]:
        return [event for event in self.database.events[job_id] if event.kind is kind]


def only(model: ChatModel) -> Callable[[str], ChatModel]:
    def find(name: str) -> ChatModel:
        if name != model.name:
            raise ConfigurationError(f"unknown model {name!r}; known: {model.name}")
        return model

    return find


def public_source(problem: Problem) -> str:
    return problem.source.replace("SECRET", "")
