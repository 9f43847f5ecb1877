"""The orchestrator over the real stores: a whole job, and one whose orchestrator is killed and followed by another."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from orchestrator import JobRules, Orchestrator, PollingIntervals, RetryPolicy, Stores
from services.adapters.embeddings.hashing import HashingEmbedder
from services.domain.evaluations import Verdict
from services.domain.events import EventKind
from services.domain.jobs import Budget, JobStatus
from services.runtime.clock import SystemClock
from storage.contents.blobs import SqlArtefactStore
from storage.contents.files import Directory
from storage.database import Database
from storage.jobs.candidates import SqlCandidateStore
from storage.jobs.checkpoints import SqlCheckpointSaver
from storage.jobs.events import SqlEventLog
from storage.jobs.store import SqlJobStore
from storage.memory.store import SqlMemory
from storage.memory.value_log import read_log
from tests.doubles import FakeQueue, ScriptedModel, a_job, a_report, agreeable_answers
from tests.unit.orchestrator.world import Fuse, KilledError, fused, only

pytestmark = pytest.mark.integration

AT_ONCE = RetryPolicy(backoff_s=0.0)


class Place:
    """A database on disk, with the model and the queue that outlive an orchestrator."""

    def __init__(self, folder: Path) -> None:
        self.database = Database(f"sqlite:///{folder}/kernelwright.db")
        clock = SystemClock()
        self.stores = Stores(
            jobs=SqlJobStore(self.database, clock),
            candidates=SqlCandidateStore(self.database, clock),
            events=SqlEventLog(self.database, clock),
            memory=SqlMemory(self.database, HashingEmbedder()),
            artefacts=SqlArtefactStore(self.database, clock, files=Directory(folder)),
        )
        self.model = ScriptedModel(agreeable_answers)
        self.queue = FakeQueue([a_report(Verdict.REJECTED), a_report(median_us=90.0)])
        self.checkpoints = SqlCheckpointSaver(self.database)
        self.rules = JobRules(model_retries=AT_ONCE, worker_retries=AT_ONCE)

    def orchestrator(self, owner: str, fuse: Fuse) -> Orchestrator:
        return Orchestrator(
            stores=Stores(
                jobs=fused(self.stores.jobs, fuse),
                candidates=fused(self.stores.candidates, fuse),
                events=fused(self.stores.events, fuse),
                memory=fused(self.stores.memory, fuse),
                artefacts=fused(self.stores.artefacts, fuse),
            ),
            queue=fused(self.queue, fuse),
            models=only(fused(self.model, fuse)),
            public_source=lambda problem: problem.source,
            checkpoints=self.checkpoints,
            clock=SystemClock(),
            owner=owner,
            rules=self.rules,
            polling=PollingIntervals(lease_ttl_s=0.3, poll_s=0.05),
        )


async def test_a_whole_job_leaves_its_trajectory_and_no_checkpoint(tmp_path: Path) -> None:
    place = Place(tmp_path)
    await place.database.upgrade()
    await place.stores.jobs.create(a_job(budget=Budget(rounds=2)))

    job = await place.orchestrator("one", Fuse()).run_job("job-1")

    assert job.status in (JobStatus.SOLVED, JobStatus.NO_GAIN)
    steps = await place.stores.jobs.steps("local", "job-1")
    assert [step.verdict for step in steps] == [Verdict.REJECTED, Verdict.ACCEPTED]
    assert [len(step.calls) for step in steps] == [3, 4]
    assert all(call.prompt and call.reply for step in steps for call in step.calls)
    saver = SqlCheckpointSaver(place.database)
    assert await saver.aget_tuple({"configurable": {"thread_id": "job-1", "checkpoint_ns": ""}}) is None
    await place.database.close()


@pytest.mark.parametrize("operations", [30, 55, 80, 105, 130])
async def test_a_killed_job_goes_on_in_another_orchestrator(tmp_path: Path, operations: int) -> None:
    place = Place(tmp_path)
    await place.database.upgrade()
    await place.stores.jobs.create(a_job(budget=Budget(rounds=2)))
    with pytest.raises(KilledError):
        await place.orchestrator("first", Fuse(operations)).run_job("job-1")

    job = await asyncio.wait_for(place.orchestrator("second", Fuse()).run_job("job-1"), 60)

    assert job.status in (JobStatus.SOLVED, JobStatus.NO_GAIN)
    assert [step.index for step in await place.stores.jobs.steps("local", "job-1")] == [0, 1]
    assert len(place.model.requests) <= 8
    assert len(place.queue.evaluated) == 2
    events = await place.stores.events.read("job-1")
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    told = Counter(
        (event.kind, event.data.get("step"), event.data.get("agent"))
        for event in events
        if event.kind is not EventKind.JOB_STATUS
    )
    assert max(told.values()) == 1
    learned = await place.database.read(lambda connection: read_log(connection, "local"))
    assert [getattr(entry, "step", None) for entry in learned] == [0, 1], "each evaluation is learned from once"
    await place.database.close()
