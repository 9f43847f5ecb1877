"""What orchestration costs: many jobs at once on a scripted model and a fake queue, in one process on SQLite.

    python -m benchmarks.orchestration [--jobs 100] [--steps 5] [--memory-only] [--embedder hashing]
                                       [--profile FILE]

Prints the overhead of one step of a single job (everything but model, compile and run), then steps per second and peak
memory with all jobs at once.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import resource
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from kernelwright.settings import Settings
from kernelwright.wiring.installation import make_embedder
from orchestrator import Orchestrator, Stores
from services.domain.evaluations import EvaluationReport, EvaluationRequest, Verdict
from services.domain.jobs import Budget, JobStatus
from services.runtime.clock import SystemClock
from services.runtime.garbage import collect_less
from storage.contents.blobs import SqlArtefactStore
from storage.contents.files import Directory
from storage.database import Database
from storage.jobs.candidates import SqlCandidateStore
from storage.jobs.checkpoints import SqlCheckpointSaver
from storage.jobs.events import SqlEventLog
from storage.jobs.store import SqlJobStore
from storage.memory.store import SqlMemory
from tests.doubles import (
    FakeQueue,
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

GOAL_STEPS_PER_S = 20.0
GOAL_MIB = 500.0


@dataclass(frozen=True, kw_only=True)
class Ground:
    """What the orchestrator stands on."""

    stores: Stores
    checkpoints: BaseCheckpointSaver[Any]


@asynccontextmanager
async def sqlite(folder: Path, embedder: str) -> AsyncIterator[Ground]:
    database = Database(f"sqlite:///{folder}/kernelwright.db")
    await database.upgrade()
    clock = SystemClock()
    yield Ground(
        stores=Stores(
            jobs=SqlJobStore(database, clock),
            candidates=SqlCandidateStore(database, clock),
            events=SqlEventLog(database, clock),
            memory=SqlMemory(database, make_embedder(Settings(embedder=embedder))),
            artefacts=SqlArtefactStore(database, clock, files=Directory(folder)),
        ),
        checkpoints=SqlCheckpointSaver(database),
    )
    await database.close()


@asynccontextmanager
async def dictionaries(_folder: Path, _embedder: str) -> AsyncIterator[Ground]:
    database = InMemoryDatabase(clock=SystemClock())
    yield Ground(
        stores=Stores(
            jobs=InMemoryJobStore(database),
            candidates=InMemoryCandidateStore(database),
            events=InMemoryEventLog(database),
            memory=InMemoryMemory(database),
            artefacts=InMemoryArtefactStore(database),
        ),
        checkpoints=InMemorySaver(),
    )


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a number of steps took."""

    seconds: float
    cpu_s: float
    steps: int

    def __str__(self) -> str:
        wall_ms, cpu_ms = self.seconds / self.steps * 1e3, self.cpu_s / self.steps * 1e3
        return f"{self.steps / self.seconds:.1f} steps/s, {wall_ms:.1f} ms a step ({cpu_ms:.1f} ms of CPU time)"


def judged(request: EvaluationRequest) -> EvaluationReport:
    """Every third candidate is rejected, the others differ in speed."""
    number = int(request.candidate_id[-6:], 16)
    if number % 3 == 0:
        return a_report(Verdict.REJECTED, detail="max error 0.5 at row 3\n" * 20)
    return a_report(median_us=100.0 + number % 100)


def orchestrator(ground: Ground) -> Orchestrator:
    model = ScriptedModel(agreeable_answers)
    return Orchestrator(
        stores=ground.stores,
        queue=FakeQueue(judged),
        models=lambda _name: model,
        public_source=lambda problem: problem.source,
        checkpoints=ground.checkpoints,
        clock=SystemClock(),
        owner="benchmark",
    )


async def run_jobs(ground: Ground, first: int, count: int, steps: int) -> Cost:
    """What so many jobs cost at once."""
    names = [f"job-{number}" for number in range(first, first + count)]
    for name in names:
        await ground.stores.jobs.create(a_job(name, budget=Budget(rounds=steps)))
    runner = orchestrator(ground)
    began = time.perf_counter()
    cpu_began = time.process_time()
    jobs = await asyncio.gather(*(runner.run_job(name) for name in names))
    cost = Cost(seconds=time.perf_counter() - began, cpu_s=time.process_time() - cpu_began, steps=count * steps)
    for job in jobs:
        if job.status not in (JobStatus.SOLVED, JobStatus.NO_GAIN, JobStatus.UNSOLVED) or job.steps_done != steps:
            raise SystemExit(f"{job.id} ended {job.status.value} after {job.steps_done} steps: {job.message}")
    return cost


async def measure(arguments: argparse.Namespace) -> bool:
    open_ground = dictionaries if arguments.memory_only else sqlite
    with tempfile.TemporaryDirectory() as folder:
        async with open_ground(Path(folder), arguments.embedder) as ground:
            await run_jobs(ground, 0, 1, 2)  # imports and caches
            collect_less()  # as the programs do
            alone = await run_jobs(ground, 1, 1, arguments.steps)
            print(f"one job: {alone}")
            profiler = cProfile.Profile()
            if arguments.profile:
                profiler.enable()
            cost = await run_jobs(ground, 2, arguments.jobs, arguments.steps)
            if arguments.profile:
                profiler.disable()
                profiler.dump_stats(arguments.profile)
    rate = cost.steps / cost.seconds
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{arguments.jobs} jobs at once: {cost} (goal {GOAL_STEPS_PER_S:g})")
    print(f"peak memory: {peak_mib:.0f} MiB (goal < {GOAL_MIB:g})")
    return rate >= GOAL_STEPS_PER_S and peak_mib < GOAL_MIB


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=100)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--memory-only", action="store_true", help="stores in dictionaries: what the graph alone costs")
    parser.add_argument("--embedder", default="auto", help="as KERNELWRIGHT_EMBEDDER; default: auto")
    parser.add_argument("--profile", type=Path, help="write a cProfile of the run with all jobs")
    raise SystemExit(0 if asyncio.run(measure(parser.parse_args())) else 1)


if __name__ == "__main__":
    main()
