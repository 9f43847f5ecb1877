"""A schedule, run with the real orchestrator over the stores in memory."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field, replace

from langgraph.checkpoint.memory import InMemorySaver

from agents.workflow.rules import JobRules
from orchestrator import Orchestrator, PollingIntervals, RetryPolicy, Stores
from services.domain.errors import KernelwrightError
from services.domain.evaluations import EvaluationReport, EvaluationRequest, Verdict
from services.domain.jobs import Budget, Job, JobStatus, Lease
from services.domain.problems import ProblemAnalysis
from services.domain.steps import StepRecord
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
    a_job,
    a_report,
    agreeable_answers,
)
from tests.random_faults.life import FencedSaver, Life, QueueWithin, within
from tests.random_faults.schedule import Kind, Schedule
from tests.unit.orchestrator.world import KilledError, only, public_source

TTL_S = 15.0
RETRIES = RetryPolicy(attempts=4, backoff_s=0.0)
ROUNDS = 2
LAST_LIVES = 3
"""Orchestrators without faults that may follow: a job may have to be let go once more."""
LIMIT_S = 30.0
"""So long a life may take on this machine, whose clock is not the one that jumps."""


class WatchedJobStore(InMemoryJobStore):
    """Keeps under which tokens steps were written, and removes checkpoints with a job's end as the database does."""

    def __init__(self, database: InMemoryDatabase, saver: InMemorySaver) -> None:
        super().__init__(database)
        self._saver = saver
        self.tokens: dict[str, list[int]] = {}

    async def set_status(
        self, lease: Lease, status: JobStatus, *, message: str | None = None, analysis: ProblemAnalysis | None = None
    ) -> Job:
        job = await super().set_status(lease, status, message=message, analysis=analysis)
        if status.is_final and status is not JobStatus.FAILED:
            self._saver.delete_thread(lease.job_id)
        return job

    async def record_step(self, lease: Lease, record: StepRecord) -> bool:
        written = await super().record_step(lease, record)
        self.tokens.setdefault(lease.job_id, []).append(lease.token)
        return written


@dataclass(kw_only=True)
class Ground:
    """What outlives orchestrators."""

    clock: FrozenClock = field(default_factory=FrozenClock)
    model: ScriptedModel = field(default_factory=lambda: ScriptedModel(agreeable_answers))
    saver: InMemorySaver = field(default_factory=InMemorySaver)
    happened: Counter[Kind] = field(default_factory=Counter)
    lives: int = 0

    def __post_init__(self) -> None:
        self.database = InMemoryDatabase(clock=self.clock)
        self.jobs = WatchedJobStore(self.database, self.saver)
        self._judged: dict[str, list[str]] = {}
        self.queue = FakeQueue(self._judge)

    def _judge(self, request: EvaluationRequest) -> EvaluationReport:
        """A job's first candidate is rejected, the others are accepted."""
        known = self._judged.setdefault(request.job_id, [])
        if request.evaluation_id not in known:
            known.append(request.evaluation_id)
        return a_report(Verdict.REJECTED) if known[0] == request.evaluation_id else a_report(median_us=90.0)

    def orchestrator(self, life: Life) -> Orchestrator:
        self.lives += 1
        stores = Stores(
            jobs=within(life, "jobs", self.jobs),
            candidates=within(life, "candidates", InMemoryCandidateStore(self.database)),
            events=within(life, "events", InMemoryEventLog(self.database)),
            memory=within(life, "memory", InMemoryMemory(self.database)),
            artefacts=within(life, "artefacts", InMemoryArtefactStore(self.database)),
        )
        return Orchestrator(
            stores=stores,
            queue=QueueWithin(life, self.queue),
            models=only(within(life, "model", self.model)),
            public_source=public_source,
            checkpoints=FencedSaver(self.saver, self.database, life),
            clock=self.clock,
            owner=f"orchestrator-{self.lives}",
            rules=JobRules(model_retries=RETRIES, worker_retries=RETRIES),
            polling=PollingIntervals(lease_ttl_s=TTL_S),
        )

    def open_jobs(self) -> list[Job]:
        return [job for job in self.database.jobs.values() if not job.status.is_final]


async def run(schedule: Schedule) -> Ground:
    """Everything of a schedule, and then orchestrators without faults until all jobs have ended."""
    ground, suspended = Ground(), list[tuple[Life, "asyncio.Task[None]"]]()
    for number in range(schedule.jobs):
        job = a_job(f"job-{number}", budget=Budget(rounds=ROUNDS))
        await ground.jobs.create(replace(job, team_id=f"team-{number % 2}"))
    for faults in (*schedule.lives, *[()] * LAST_LIVES):
        life = Life(faults, ground.clock)
        working = asyncio.create_task(_work(ground, life))
        stalling = asyncio.create_task(life.stalled.wait())
        await asyncio.wait({working, stalling}, timeout=LIMIT_S, return_when=asyncio.FIRST_COMPLETED)
        stalling.cancel()
        for before, zombie in suspended:  # they wake while others have gone on, and must do no harm
            before.wake()
            await asyncio.wait({zombie}, timeout=LIMIT_S)
            zombie.cancel()
        suspended = [] if working.done() else [(life, working)]
        ground.happened += life.happened
        ground.clock.advance(TTL_S + 1)
    return ground


async def _work(ground: Ground, life: Life) -> None:
    """One orchestrator, on all jobs that are open at once."""
    orchestrator = ground.orchestrator(life)
    jobs = [orchestrator.run_job(job.id, job.team_id) for job in ground.open_jobs()]
    for ended in await asyncio.gather(*jobs, return_exceptions=True):
        if isinstance(ended, BaseException) and not isinstance(ended, (KilledError, KernelwrightError)):
            raise ended
