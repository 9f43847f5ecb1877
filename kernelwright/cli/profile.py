"""`kernelwright profile`: a whole model's bottlenecks as problems, and jobs that solve them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelwright.cli import options
from kernelwright.cli.output import AsJson, errors, interruptible, print_json, say
from services.domain.errors import UserError
from services.domain.jobs import DEFAULT_STRATEGY
from services.domain.measurements import BASELINES

if TYPE_CHECKING:
    from kernelwright.settings import Settings
    from kernelwright.whole_model.plan import ModelPlan
    from kernelwright.whole_model.run import ModelOutcome
    from services.domain.jobs import Budget, JobSpec
    from services.domain.models import ModelProfile


_MODEL = ("device", "operators", "time_us", "eager_us", "runs")
_PART = ("number", "name", "operators", "lines", "count", "time_us", "share", "floor_us", "bound")
_GAIN = ("achievable", "ceiling")
"""What `profile --json` prints of the model, of each part and of what the part could bring."""


def profile(
    context: typer.Context,
    file: Annotated[
        Path | None, typer.Argument(metavar="MODEL.py", help="Model file, in the form of a problem.")
    ] = None,
    run: Annotated[
        bool, typer.Option("--run", help="Solve the parts, swap in the kernels and evaluate the model.")
    ] = False,
    parts: Annotated[int, typer.Option(min=1, max=100, help="Maximum number of parts to solve, best first.")] = 3,
    backend: options.BackendOption = "cpp",
    device: options.DeviceOption = "cpu",
    model: options.ModelOption = "playbook",
    strategy: options.StrategyOption = DEFAULT_STRATEGY,
    rounds: Annotated[
        int,
        typer.Option(
            min=2, max=1000, help="Maximum number of rounds, all jobs together.", rich_help_panel=options.BUDGET
        ),
    ] = 13,
    wall: Annotated[
        float | None,
        typer.Option(
            min=1,
            help="Maximum wall-clock time in seconds, all jobs together (default: no limit).",
            rich_help_panel=options.BUDGET,
        ),
    ] = None,
    baselines: Annotated[
        str,
        typer.Option(
            help=f"Baselines to beat, comma-separated: {', '.join(BASELINES)}.",
            callback=options.check_baselines,
            rich_help_panel=options.TARGET,
        ),
    ] = "eager,compile",
    swap_all: Annotated[bool, typer.Option(help="Also swap in accepted kernels whose gain is within noise.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.", rich_help_panel=options.SEARCH)] = 0,
    out: Annotated[Path | None, typer.Option(help="Output folder for problems and results.")] = None,
    resume: Annotated[str | None, typer.Option(metavar="JOB", help="Resume an interrupted --run.")] = None,
    as_json: AsJson = False,
) -> None:
    """Find a model's bottlenecks; with --run, optimise them.

    The model's parts are ranked by possible gain and written as problems, which --run solves.
    Exit code 0; with --run, 1 without a kernel or an accepted, surely faster model."""
    from kernelwright.settings import load_settings
    from kernelwright.whole_model.plan import ModelPlan, Wish
    from services.domain.jobs import Budget

    if (file is None) == (resume is None):
        raise UserError("give either a model file or --resume JOB")
    if resume is not None:
        options.refuse_beside_resume(context, "run", "out", "as_json")
    settings = load_settings()
    outcome = None
    if file is None:
        found, outcome = _solved(settings, None, resume, out)
        paths = _written(found, out or settings.directory / "models" / found.name)
    else:
        spec = _spec(file, backend, device, model, strategy, Budget(rounds=rounds, wall_s=wall), baselines, seed)
        if run and "eager" not in spec.baselines:
            raise UserError(
                "--run needs the baseline eager, which the rest of the model runs in: add it to --baselines"
            )
        with interruptible():
            found = _profiled(settings, spec)
            paths = _written(found, out or settings.directory / "models" / found.name)
        if run:
            wish = Wish(parts=parts, swap_all=swap_all)
            plan = ModelPlan(profile=found, spec=spec, wish=wish, out=_absolute(out))
            _, outcome = _solved(settings, plan, None, out)
    if as_json:
        print_json(_document(found, paths, outcome))
    raise typer.Exit(0 if outcome is None or outcome.gained else 1)


def _spec(
    file: Path, backend: str, device: str, model: str, strategy: str, budget: Budget, baselines: str, seed: int
) -> JobSpec:
    """What is asked for of the whole model."""
    from kernelwright.problem_files import read_problem
    from kernelwright.wiring.workbench import check_device
    from services.domain.jobs import JobSpec

    check_device(device, backend)
    return JobSpec(
        problem=read_problem(file),
        backend=backend,
        device=device,
        model=model,
        strategy=strategy,
        budget=budget,
        baselines=options.listed(baselines),
        seed=seed,
    )


def _absolute(out: Path | None) -> str | None:
    return None if out is None else str(out.absolute())


def _profiled(settings: Settings, spec: JobSpec) -> ModelProfile:
    """Profile the model and show the ranking."""
    from kernelwright.cli.model_card import ranking, summary
    from kernelwright.whole_model.run import profile_model
    from kernelwright.wiring.sandboxes import sandbox_maker

    found = profile_model(settings, spec.problem, spec.device, sandbox_maker(settings))
    for line in summary(found):
        say(line)
    errors().print(ranking(found, errors().width))
    return found


def _written(found: ModelProfile, folder: Path) -> dict[int, Path]:
    """The parts as files; where each lies, by number."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for part in found.parts:
        if part.source is not None:
            paths[part.number] = (folder / f"{part.name}.py").absolute()
            paths[part.number].write_text(part.source, encoding="utf-8")
    say(f"problems    {folder.absolute()}")
    return paths


def _solved(
    settings: Settings, plan: ModelPlan | None, resume: str | None, out: Path | None
) -> tuple[ModelProfile, ModelOutcome]:
    """Run the jobs of a plan, or go on with those of a job, and show the card; Ctrl-C says how to go on."""
    from kernelwright.cli.model_card import outcome_card
    from kernelwright.local_job import Listener, open_solver
    from kernelwright.progress import Progress
    from kernelwright.whole_model.run import ModelRun, taken_up

    known: dict[str, str] = {} if resume is None else {"job": resume}
    where = _absolute(out)

    async def work(listener: Listener) -> tuple[ModelProfile, ModelOutcome]:
        specs = [] if plan is None else [plan.spec]
        async with open_solver(settings, *specs, resume=resume) as solver:
            if plan is not None:
                run = await ModelRun.begin(solver, plan)
            else:
                run = await taken_up(solver, known["job"], where)
            known["job"] = run.job_id
            say(f"job {run.job_id}")
            return run.profile, await run.finish(listener, say)

    def hint() -> str:
        return f"continue with: kernelwright profile --resume {known['job']}" if known else ""

    with interruptible(hint), Progress(errors()) as progress:
        found, outcome = asyncio.run(work(progress.listen))
    errors().print(outcome_card(found, outcome))
    if outcome.source_path is not None:
        say(f"model       {outcome.source_path}")
    return found, outcome


def _document(found: ModelProfile, paths: dict[int, Path], outcome: ModelOutcome | None) -> dict[str, object]:
    """What `profile --json` prints; `run` only with `--run`."""
    parts = [
        {name: getattr(part, name) for name in (*_PART, *_GAIN)}
        | {"problem_path": str(paths[part.number]) if part.number in paths else None, "note": part.note}
        for part in found.parts
    ]
    whole = {name: getattr(found, name) for name in _MODEL}
    return {"model": found.name, **whole, "parts": parts, "run": outcome}
