"""Does memory make the next job better? The playbook on thirty problems, with and without memory.

    python -m benchmarks.memory_real [--record [--settle 2] | --live] [--home DIR] [--rounds 10] [--strategies greedy]

Twenty problems (`examples/problems` and `benchmarks/problems/known`) are solved twice over one database, with memory
and without it (every step held out); then ten unseen problems of the same families with the memory of the twenty, and
without. Workflow, memory, strategies and judging are the product's own. Counted are evaluations until a job has a
kernel within 3 % of the best latency it reaches at all.

By default reports are replayed from a recorded table (see `latency_table`), in which each kernel was measured once by
the real evaluator; `--record` measures what the table lacks, `--live` measures everything every time. `--settle N`
measures each problem's leading kernels N more times, thoroughly and in turns, and scores the jobs by the medians (see
`solved`): the searches still saw one noisy figure a kernel.

With `--home` databases, table and caches stay in a folder: a run that was interrupted goes on where it stopped, a job
in the middle of its rounds. `--pause-while FILE` starts no evaluation while a file exists.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.latency_table import TableWorkbench, kernel_hash
from benchmarks.solved import Solved, Try, compare, contenders
from kernelwright.problem_files import read_problem
from kernelwright.settings import Settings
from kernelwright.wiring.installation import Installation, make_orchestrator, open_installation
from kernelwright.wiring.workbench import make_workbench
from orchestrator import Orchestrator
from services.adapters.queues.in_process import InProcessQueue
from services.domain.candidates import Origin
from services.domain.evaluations import EvaluationReport, EvaluationRequest
from services.domain.jobs import LOCAL_TEAM, Budget, Job, JobSpec, JobStatus
from services.domain.problems import Problem
from services.domain.validations import ValidationReport, ValidationRequest
from services.ports.work import Workbench

ROOT = Path(__file__).parents[1]
KNOWN = (ROOT / "examples" / "problems", ROOT / "benchmarks" / "problems" / "known")
UNSEEN = (ROOT / "benchmarks" / "problems" / "unseen",)
TABLE = ROOT / "benchmarks" / "problems" / "latencies.json.gz"
GOAL_AGAIN, GOAL_UNSEEN = 0.30, 0.20
ATTEMPTS = 3
"""Jobs that a problem gets where the machine fails them."""
CONTEND = 1.10
"""A kernel within a tenth of a problem's lowest figure may be its best: noise is some per cent."""


@dataclass(frozen=True, kw_only=True)
class Course:
    """How the jobs of a run are to be done."""

    folder: Path
    strategy: str
    rounds: int
    memory: bool
    embedder: str
    """As in the setting of this name."""
    pause: Path | None
    """Nothing is started while this file exists."""


async def solve(course: Course, bench: Workbench, problems: Sequence[Problem], label: str) -> list[Solved]:
    """The problems one after another over the course's database."""
    settings = Settings(home=course.folder, holdout=0.0 if course.memory else 1.0, embedder=course.embedder)
    async with open_installation(settings) as here:
        queue = InProcessQueue(_Lent(bench, course.pause), here.stores.candidates)
        try:
            orchestrator = make_orchestrator(here, queue)
            return [await _one(here, orchestrator, course, problem, label) for problem in problems]
        finally:
            await queue.close()


async def _one(here: Installation, orchestrator: Orchestrator, course: Course, problem: Problem, label: str) -> Solved:
    began = time.monotonic()
    job = await _job(here, orchestrator, course, problem, label)
    solved = Solved(problem=problem.name, tries=tuple([one async for one in _tries(here, job.id)]))
    own = solved.until(solved.best_us)
    print(
        f"{label:28} {problem.name:22} best {solved.best_us:8.0f} us after {own:2} of {len(solved.tries):2}"
        f" evaluations ({time.monotonic() - began:.0f} s, load {os.getloadavg()[0]:.1f})",
        flush=True,
    )
    return solved


async def _job(here: Installation, orchestrator: Orchestrator, course: Course, problem: Problem, label: str) -> Job:
    """The problem's job of this run at its end: as an earlier start left it, gone on with, or new. Where the machine
    failed it, another one."""
    spec = JobSpec(
        problem=problem, backend="cpp", device="cpu", model="playbook", strategy=course.strategy,
        budget=Budget(rounds=course.rounds),
    )  # fmt: skip
    for attempt in range(1, ATTEMPTS + 1):
        key = f"{label}/{problem.name}/{attempt}"
        job, _ = await here.service.submit(LOCAL_TEAM, spec, idempotency_key=key)
        job = await orchestrator.run_job(job.id, LOCAL_TEAM)
        if job.status in (JobStatus.SOLVED, JobStatus.NO_GAIN):
            return job
        print(f"{label}: {problem.name}: {job.status.value}: {job.message}", flush=True)
    raise SystemExit(f"{problem.name} was not solved in {ATTEMPTS} jobs: see the lines above, then run again")


async def _tries(here: Installation, job_id: str) -> AsyncIterator[Try]:
    found = await here.stores.candidates.list(LOCAL_TEAM, job_id)
    for item in sorted(found, key=lambda item: item.candidate.step):
        if item.report is not None and item.candidate.origin is not Origin.CONFIRMATION:
            latency = item.report.latency if item.report.accepted else None
            yield Try(source=item.candidate.source, median_us=latency.median_us if latency is not None else None)


class _Lent:
    """A workbench that outlives the queue which uses it, and starts nothing while a file exists."""

    def __init__(self, bench: Workbench, pause: Path | None) -> None:
        self._bench = bench
        self._pause = pause
        self.close_job = bench.close_job

    def of(self, _device: str) -> Workbench:
        """Itself: it has one device."""
        return self

    def validate(self, request: ValidationRequest, cancelled: Callable[[], bool] = lambda: False) -> ValidationReport:
        """The workbench's, in its time."""
        wait_while(self._pause)
        return self._bench.validate(request, cancelled)

    def evaluate(self, request: EvaluationRequest, cancelled: Callable[[], bool]) -> EvaluationReport:
        """The workbench's, in its time."""
        wait_while(self._pause)
        return self._bench.evaluate(request, cancelled)

    def close(self) -> None:
        """Nothing: its owner closes it."""


def wait_while(file: Path | None) -> None:
    """Return once the file is gone."""
    while file is not None and file.exists():
        time.sleep(1.0)


async def study(given: argparse.Namespace, bench: Workbench, strategy: str, folder: Path) -> bool:
    """All runs of one strategy; whether the goals are met."""
    known, unseen = problems_in(KNOWN)[: given.most], problems_in(UNSEEN)[: given.most]

    def course(name: str, *, memory: bool) -> Course:
        return Course(
            folder=folder / strategy / name, strategy=strategy, rounds=given.rounds, memory=memory,
            embedder=given.embedder, pause=given.pause_while,
        )  # fmt: skip

    learning, forgetful = course("with", memory=True), course("without", memory=False)
    runs = {
        "first pass": await solve(learning, bench, known, "memory, first pass"),
        "second pass": await solve(learning, bench, known, "memory, second pass"),
        "unseen": await solve(learning, bench, unseen, "memory of 20, unseen"),
        "first pass without": await solve(forgetful, bench, known, "no memory, first pass"),
        "second pass without": await solve(forgetful, bench, known, "no memory, second pass"),
        "unseen without": await solve(forgetful, bench, unseen, "no memory, unseen"),
    }
    if given.out:
        keep(Path(f"{given.out}-{strategy}.json"), runs)
    met = told(f"strategy {strategy}, {given.rounds} rounds a job, scored by what the searches saw", runs)
    if given.settle and isinstance(bench, TableWorkbench):
        figures = settle(given, bench, list(runs.values()), [*known, *unseen])
        scored = {name: [one.settled(figures) for one in run] for name, run in runs.items()}
        met = told(f"strategy {strategy}, the same jobs scored by settled figures", scored)
    return met


def told(title: str, runs: Mapping[str, Sequence[Solved]]) -> bool:
    """Print the comparisons; whether the goals are met."""
    again = compare(runs["first pass"], runs["second pass"])
    forgetful = compare(runs["first pass without"], runs["second pass without"])
    new = compare(runs["unseen without"], runs["unseen"])
    print(f"\n{title}")
    print(f"second pass against first, with memory: {again}")
    print(f"second pass against first, without: {forgetful}")
    print(f"first pass with memory against without: {compare(runs['first pass without'], runs['first pass'])}")
    print(f"unseen with the memory of the known against without: {new}", flush=True)
    return again.saved >= GOAL_AGAIN > forgetful.saved and new.saved >= GOAL_UNSEEN


def settle(
    given: argparse.Namespace, bench: TableWorkbench, runs: Sequence[Sequence[Solved]], problems: Sequence[Problem]
) -> dict[tuple[str, str], float]:
    """Settled microseconds of each problem's contenders, by problem and kernel; measured in turns."""
    known = {problem.name: problem for problem in problems}
    figures: dict[tuple[str, str], float] = {}
    for name, sources in contenders(runs, CONTEND).items():
        for times in range(1, given.settle + 1):
            for source in sources:
                wait_while(given.pause_while)
                median_us = bench.settle(known[name], source, times)
                if median_us is not None:
                    figures[name, kernel_hash(source)] = median_us
        print(f"settled {len(sources)} kernels of {name} (load {os.getloadavg()[0]:.1f})", flush=True)
    return figures


def keep(path: Path, runs: Mapping[str, Sequence[Solved]]) -> None:
    """Every job's latencies as JSON."""
    data = {
        name: [{"problem": one.problem, "tries": [(hit.kernel, hit.median_us) for hit in one.tries]} for one in run]
        for name, run in runs.items()
    }
    path.write_text(json.dumps(data, indent=1))


def problems_in(folders: Sequence[Path]) -> list[Problem]:
    """The problems of some folders, by name."""
    return [read_problem(path) for folder in folders for path in sorted(folder.glob("*.py"))]


def open_bench(given: argparse.Namespace, folder: Path) -> Workbench:
    """The real workbench, or the table's."""
    if given.live:
        return make_workbench(folder)
    return TableWorkbench(given.table, (lambda: make_workbench(folder)) if given.record else None)


async def measure(given: argparse.Namespace) -> bool:
    met = True
    with ExitStack() as stack:
        folder = given.home or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        bench = open_bench(given, folder / "bench")
        how = "every kernel measured anew" if given.live else f"latencies replayed from {given.table}"
        load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
        print(f"{how}{', what it lacks measured now' if given.record else ''}; load average {load}\n", flush=True)
        try:
            for strategy in given.strategies.split(","):
                met = await study(given, bench, strategy, folder) and met
        finally:
            bench.close()
        if isinstance(bench, TableWorkbench):
            print(f"\n{bench.replayed} evaluations replayed, {bench.measured} measured")
    return met


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--record", action="store_true", help="measure what the table lacks, and keep it")
    how.add_argument("--live", action="store_true", help="no table: measure everything every time")
    parser.add_argument("--table", type=Path, default=TABLE)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--strategies", default="greedy")
    parser.add_argument("--embedder", default="auto", help="as KERNELWRIGHT_EMBEDDER; another --home for each")
    parser.add_argument("--most", type=int, default=None, help="problems of each group, for a short look")
    parser.add_argument("--out", default=None, help="write every job's latencies to OUT-STRATEGY.json")
    parser.add_argument("--settle", type=int, default=0, help="with --record: further measurements of leading kernels")
    parser.add_argument("--home", type=Path, default=None, help="keep databases and caches here, and go on with them")
    parser.add_argument("--pause-while", type=Path, default=None, help="start no evaluation while this file exists")
    given = parser.parse_args()
    if given.live and given.settle:
        parser.error("--settle measures what the table holds again: leave --live out")
    raise SystemExit(0 if asyncio.run(measure(given)) else 1)


if __name__ == "__main__":
    main()
