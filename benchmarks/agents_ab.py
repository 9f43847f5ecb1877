"""Matched experiments with agents: the same problems, model and seeds, once for each arm.

    python -m benchmarks.agents_ab --model MODEL --home FOLDER [--arms lean-off lean-code …] [--seeds 3] [--rounds 6]
    python -m benchmarks.agents_ab --model folder:PROMPTS --home FOLDER     answers are written by hand, see below
    python -m benchmarks.agents_ab --home FOLDER --report                   the table of what is there so far

Arms: `lean-off` (no memory), `lean-prose` (words of memory without kernels), `lean-code` (all of it), `full-code` (the
same with four calls a round). Every arm and seed has a team of its own, which solves the problems in the same order:
its memory holds what the earlier ones taught. Default problems are public ones scaled for a CPU
(`benchmarks/problems/further`). Figures of each job are kept in FOLDER/jobs.jsonl; started again, an experiment goes on
with the jobs that are missing.

MODEL is any chat model that the settings know (`compatible:…`, `openai:…`). With `folder:PROMPTS` each prompt is
written to PROMPTS as KEY.prompt.md and its answer is awaited in KEY.answer.md, so that a person or another model can
answer job by job; a job whose answer came too late goes on when the experiment is started again. The offline playbook
is refused: it does not read prompts, so arms that differ in prompts only say nothing.

The report compares every arm with the first one by paired bootstrap over problems (95 %), and says which difference an
experiment of this size finds in four of five cases.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from agents.workflow.context import Stores
from benchmarks.ab.arms import ARMS, Arm, limited
from benchmarks.ab.figures import LOGARITHMIC, JobFigures, figures_of, metrics
from benchmarks.ab.folder_model import NAME, FolderModel
from benchmarks.ab.statistics import Comparison, compare
from kernelwright.problem_files import read_problem
from kernelwright.settings import Settings, load_settings
from kernelwright.wiring.installation import Installation, open_installation
from kernelwright.wiring.queues import open_queue
from orchestrator import JobRules, Orchestrator
from services.domain.errors import NotFoundError
from services.domain.jobs import LOCAL_TEAM, Budget, Job, JobSpec, JobStatus
from services.domain.problems import Problem
from services.domain.steps import TrajectoryStep
from services.ports.models import ChatModel
from services.ports.work import EvaluationQueue
from services.problems.lint import public_source
from services.runtime.clock import SystemClock
from storage.jobs.checkpoints import SqlCheckpointSaver

PROBLEMS = Path(__file__).parent / "problems" / "further"
OFFLINE = "playbook"


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """What every arm has in common."""

    home: Path
    model: str
    """As settings name it, or `folder`."""
    problems: tuple[Problem, ...]
    seeds: int
    rounds: int
    settings: Settings
    given: ChatModel | None = None
    """The model where it is not one of the settings'."""
    queue: EvaluationQueue | None = None
    """Who judges, where it is not this machine."""

    @property
    def kept(self) -> Path:
        """The jobs' figures, a line each."""
        return self.home / "jobs.jsonl"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what is missing, then print the table; 2 for a model that no experiment can be made with."""
    given = _arguments(arguments)
    arms = [arm for arm in ARMS if not given.arms or arm.name in given.arms]
    if not given.report:
        if given.model is None or given.model == OFFLINE:
            sys.stderr.write("name a chat model with --model: the playbook does not read prompts\n")
            return 2
        asyncio.run(run(_experiment(given), arms))
    sys.stdout.write(table(read(given.home / "jobs.jsonl"), [arm.name for arm in arms], given.rounds))
    return 0


async def run(experiment: Experiment, arms: Sequence[Arm]) -> None:
    """All jobs that have no line yet, problem after problem in each arm's own team."""
    experiment.home.mkdir(parents=True, exist_ok=True)
    for seed in range(experiment.seeds):
        for arm in arms:
            done = {(job.arm, job.problem, job.seed) for job in read(experiment.kept)}
            missing = [each for each in experiment.problems if (arm.name, each.name, seed) not in done]
            if missing:
                await _team(experiment, arm, seed, missing)


async def _team(experiment: Experiment, arm: Arm, seed: int, problems: Sequence[Problem]) -> None:
    home = experiment.home / arm.name / f"seed-{seed}"
    async with open_installation(experiment.settings.model_copy(update={"home": home})) as here:
        if experiment.queue is not None:
            await _solve(experiment, arm, seed, problems, here, experiment.queue)
            return
        async with open_queue(here) as queue:
            await _solve(experiment, arm, seed, problems, here, queue)


async def _solve(
    experiment: Experiment,
    arm: Arm,
    seed: int,
    problems: Sequence[Problem],
    here: Installation,
    queue: EvaluationQueue,
) -> None:
    orchestrator = _orchestrator(experiment, arm, here, queue)
    for problem in problems:
        spec = JobSpec(
            problem=problem,
            backend="cpp",
            device="cpu",
            model=experiment.model,
            agents=arm.agents,
            seed=seed,
            budget=Budget(rounds=experiment.rounds),
        )
        job = await orchestrator.run_job(await _opened(here, f"{arm.name}-{seed}-{problem.name}", spec))
        if job.status in (JobStatus.FAILED, JobStatus.REFUSED, JobStatus.CANCELLED):
            raise SystemExit(f"{arm.name}, seed {seed}, {problem.name}: {job.status.value}: {job.message}")
        keep(experiment.kept, await _figures(here, arm, job))


async def _opened(here: Installation, name: str, spec: JobSpec) -> str:
    """The id of the arm's job for a problem: new, as an earlier start left it, or, where it failed, open again."""
    jobs, now = here.stores.jobs, here.clock.now()
    try:
        job = await jobs.get(LOCAL_TEAM, f"job-{name}")
    except NotFoundError:
        job = Job(
            id=f"job-{name}", team_id=LOCAL_TEAM, spec=spec, status=JobStatus.QUEUED, created_at=now, updated_at=now
        )
        await jobs.create(job)
    if job.status is JobStatus.FAILED:
        await jobs.reopen(LOCAL_TEAM, job.id, model=spec.model, rounds=spec.budget.rounds)
    return job.id


def _orchestrator(experiment: Experiment, arm: Arm, here: Installation, queue: EvaluationQueue) -> Orchestrator:
    stores: Stores = replace(here.stores, memory=limited(here.memory, arm.memory))
    model = experiment.given
    return Orchestrator(
        stores=stores,
        queue=queue,
        models=(lambda _name: model) if model is not None else here.models.resolve,
        public_source=public_source,
        checkpoints=SqlCheckpointSaver(here.database),
        clock=here.clock,
        owner=f"agents-ab-{arm.name}",
        rules=JobRules(),
    )


async def _figures(here: Installation, arm: Arm, job: Job) -> JobFigures:
    steps = await here.stores.jobs.steps(LOCAL_TEAM, job.id)
    made = {item.candidate.id: item for item in await here.stores.candidates.list(LOCAL_TEAM, job.id)}
    kept = await here.stores.jobs.kept_calls(LOCAL_TEAM, job.id)
    lines = []
    for step in steps:
        found = made.get(step.candidate_id or "")
        lines.append(
            TrajectoryStep(
                step=step,
                candidate=found.candidate if found is not None else None,
                report=found.report if found is not None else None,
            )
        )
    lost = sum(call.usage.tokens for calls in kept.values() for call in calls)
    return figures_of(arm.name, job.spec.problem.name, job.spec.seed, lines, lost)


def keep(file: Path, job: JobFigures) -> None:
    """Append a job's line."""
    with file.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(asdict(job)) + "\n")


def read(file: Path) -> list[JobFigures]:
    """The jobs so far."""
    if not file.is_file():
        return []
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [JobFigures(**{**row, "speedups": tuple(row["speedups"])}) for row in rows]


def table(jobs: Sequence[JobFigures], arms: Sequence[str], rounds: int) -> str:
    """Figures of each arm, and each against the first."""
    present = [arm for arm in arms if any(job.arm == arm for job in jobs)]
    if not present:
        return "no jobs yet\n"
    return "\n".join(_lines(jobs, present, rounds)) + "\n"


def _lines(jobs: Sequence[JobFigures], arms: Sequence[str], rounds: int) -> Iterator[str]:
    best: dict[str, float] = {}
    for job in jobs:
        best[job.problem] = max(best.get(job.problem, 0.0), job.best_after(rounds) or 0.0)
    found = {(job.arm, job.problem, job.seed): metrics(job, best[job.problem] or None, rounds) for job in jobs}
    seeds = sorted({job.seed for job in jobs})
    for figure in next(iter(found.values())):
        yield figure
        values = {
            arm: {name: [found.get((arm, name, seed), {}).get(figure) for seed in seeds] for name in sorted(best)}
            for arm in arms
        }
        for arm in arms:
            all_of_it = [one for each in values[arm].values() for one in each if one is not None]
            mean = f"{_mean(all_of_it, figure in LOGARITHMIC):10.2f}" if all_of_it else f"{'–':>10}"
            compared = compare(values[arm], values[arms[0]], logarithmic=figure in LOGARITHMIC)
            beside = "" if arm == arms[0] else f"   {_beside(compared, arms[0], ratio=figure in LOGARITHMIC)}"
            yield f"  {arm:<12}{mean} ({len(all_of_it)} jobs){beside}"


def _mean(values: Sequence[float], geometric: bool) -> float:
    return statistics.geometric_mean(values) if geometric else statistics.mean(values)


def _beside(found: Comparison | None, first: str, *, ratio: bool) -> str:
    if found is None:
        return f"nothing to compare with {first}"
    said = f"{found.estimate:.2f}×" if ratio else f"{found.estimate:+.2f}"
    if found.low is None or found.high is None or found.detectable is None:
        return f"{said} against {first}; {found.problems} problems are too few for an interval"
    bounds = f"[{found.low:.2f}, {found.high:.2f}]" if ratio else f"[{found.low:+.2f}, {found.high:+.2f}]"
    least = f"{found.detectable:.2f}×" if ratio else f"{found.detectable:.2f}"
    return f"{said} {bounds} against {first}, {found.problems} problems; 80 % power from {least}"


def _experiment(given: argparse.Namespace) -> Experiment:
    name, _, folder = given.model.partition(":")
    files = sorted(given.problems.glob("*.py"))
    model = FolderModel(Path(folder), SystemClock(), timeout_s=given.timeout) if name == NAME and folder else None
    return Experiment(
        home=given.home,
        model=NAME if model is not None else given.model,
        problems=tuple(read_problem(file, ()) for file in files),
        seeds=given.seeds,
        rounds=given.rounds,
        settings=load_settings(),
        given=model,
    )


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a chat model, or folder:PROMPTS")
    parser.add_argument("--home", type=Path, required=True, help="where databases and figures are kept")
    parser.add_argument("--arms", nargs="*", choices=[arm.name for arm in ARMS], help="these arms (default: all)")
    parser.add_argument("--problems", type=Path, default=PROBLEMS, help="folder of problem files")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--timeout", type=float, default=86400.0, help="seconds that an answer in a folder is awaited")
    parser.add_argument("--report", action="store_true", help="only print the table of what is there")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
