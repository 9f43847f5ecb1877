"""Jobs over the real stores whose models are a fake server's, and what such a server answers to be of use."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from orchestrator import JobRules, Orchestrator, RetryPolicy, Stores
from services.adapters.embeddings.hashing import HashingEmbedder
from services.domain.evaluations import Verdict
from services.domain.jobs import Budget, JobSpec
from services.domain.problems import Problem
from services.domain.usage import Usage
from services.ports.models import ChatModel
from services.ports.work import EvaluationQueue
from services.runtime.clock import SystemClock
from storage.contents.blobs import SqlArtefactStore
from storage.contents.files import Directory
from storage.database import Database
from storage.jobs.candidates import SqlCandidateStore
from storage.jobs.checkpoints import SqlCheckpointSaver
from storage.jobs.events import SqlEventLog
from storage.jobs.store import SqlJobStore
from storage.memory.store import SqlMemory
from tests.doubles import FakeQueue, a_job, a_problem, a_report
from tests.fakes.chat_protocols import by_path
from tests.fakes.chat_replies import an_example
from tests.fakes.chat_servers import Act, Script, Seen

PATIENCE = RetryPolicy(backoff_s=0.0)


def a_useful_reply(seen: Seen, variant: object) -> str:
    """An answer to any agent's request; a Coder's reply is the candidate of that variant."""
    protocol = by_path(seen.path)
    assert protocol is not None
    _, schema = protocol.format_of(seen.body)
    reply: Any = an_example(schema, schema)
    if "source" in reply:
        reply = {**reply, "source": f"class ModelNew:\n    VARIANT = {variant!r}\n", "edits": None}
    if "unable" in reply:
        reply = {**reply, "unable": None, "start_point": None}
    return json.dumps(reply)


def a_working_model() -> Script:
    """Answers every agent; each Coder's reply is a candidate of its own."""
    numbers = itertools.count()
    return lambda _number, seen: Act(text=a_useful_reply(seen, next(numbers)))


class Place:
    """A database on disk and the orchestrator over it."""

    def __init__(self, folder: Path, models: Callable[[str], ChatModel], queue: EvaluationQueue | None = None) -> None:
        self.database = Database(f"sqlite:///{folder}/kernelwright.db")
        clock = SystemClock()
        self.stores = Stores(
            jobs=SqlJobStore(self.database, clock),
            candidates=SqlCandidateStore(self.database, clock),
            events=SqlEventLog(self.database, clock),
            memory=SqlMemory(self.database, HashingEmbedder()),
            artefacts=SqlArtefactStore(self.database, clock, files=Directory(folder)),
        )
        self.orchestrator = Orchestrator(
            stores=self.stores,
            queue=queue or FakeQueue([a_report(Verdict.REJECTED), *[a_report(median_us=90.0)] * 40]),
            models=models,
            public_source=lambda problem: problem.source,
            checkpoints=SqlCheckpointSaver(self.database),
            clock=clock,
            owner="bench",
            rules=JobRules(model_retries=PATIENCE, worker_retries=PATIENCE),
        )

    async def submit(
        self, model: str, budget: Budget, job_id: str = "job-1", *, problem: Problem | None = None
    ) -> None:
        """Queue a job."""
        spec = JobSpec(problem=problem or a_problem(), model=model, budget=budget)
        await self.stores.jobs.create(a_job(job_id, spec=spec))

    async def used(self, job_id: str) -> Usage:
        """What a job has used: its recorded steps, and calls without an answer in the one where it stopped."""
        steps = await self.stores.jobs.steps("local", job_id)
        lost = await self.stores.jobs.kept_calls("local", job_id)
        calls = (*(call for step in steps for call in step.calls), *(call for one in lost.values() for call in one))
        return sum((call.usage for call in calls), Usage())
