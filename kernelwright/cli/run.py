"""`kernelwright run` and `demo`: one job in this process."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelwright.cli import options
from kernelwright.cli.output import AsJson, errors, interruptible, print_json, say
from services.domain.errors import UserError
from services.domain.jobs import DEFAULT_STRATEGY, AgentsMode

if TYPE_CHECKING:
    from kernelwright.local_job import Listener, SolveResult
    from services.domain.jobs import JobSpec
    from services.domain.problems import Problem

EXAMPLE = "rmsnorm"
"""What `demo` solves."""


def run(
    context: typer.Context,
    problem: Annotated[
        Path | None,
        typer.Argument(
            metavar="PROBLEM",
            help="Problem file, an item of a suite's checkout, or a function or nn.Module class: FILE.py:NAME.",
        ),
    ] = None,
    item: options.ItemOption = None,
    inputs: Annotated[
        str, typer.Option(metavar="NAME", help="Example inputs of it: a function or list in its module.")
    ] = "",
    init: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Constructor's arguments of a class: a tuple, dict or function in its module."
        ),
    ] = "",
    backend: options.BackendOption = "cpp",
    device: options.DeviceOption = "cpu",
    model: Annotated[
        str | None, typer.Option(help=options.MODELS, show_default="playbook", rich_help_panel=options.SEARCH)
    ] = None,
    strategy: options.StrategyOption = DEFAULT_STRATEGY,
    beam: options.BeamOption = 1,
    agents: options.AgentsOption = AgentsMode.FULL,
    verify_first: options.VerifyFirst = False,
    rounds: Annotated[
        int | None,
        typer.Option(
            min=1, max=1000, help="Maximum number of rounds.", show_default="10", rich_help_panel=options.BUDGET
        ),
    ] = None,
    wall: options.Wall = None,
    tokens: options.Tokens = None,
    dollars: options.Dollars = None,
    device_seconds: options.DeviceSeconds = None,
    baselines: options.BaselinesOption = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.", rich_help_panel=options.SEARCH)] = 0,
    seed_candidate: options.SeedCandidate = None,
    guidance: options.Guidance = "",
    compiler_draft: options.CompilerDraftOption = None,
    allow_library: options.AllowLibrary = "",
    objective: options.ObjectiveOption = "",
    out: Annotated[Path | None, typer.Option(help="Output folder (default: jobs/JOB in KERNELWRIGHT_HOME).")] = None,
    resume: Annotated[
        str | None, typer.Option(metavar="JOB", help="Resume an interrupted job, or a failed one with --model.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Search for a fast, verified kernel.

    Exit code 0 if it is surely faster than the best baseline."""
    from kernelwright.problem_files import read_guidance, read_source
    from kernelwright.settings import load_settings
    from services.domain.jobs import Budget, JobSpec, JobStatus

    spec: JobSpec | None = None
    if (problem is None) == (resume is None):
        raise UserError("give either a problem file or --resume JOB")
    if resume is not None:
        options.refuse_beside_resume(context, "model", "rounds", "out", "as_json")
    if problem is not None:
        spec = JobSpec(
            problem=_problem(problem, item, (inputs, init), options.listed(allow_library), objective),
            backend=backend,
            device=device,
            model=model or "playbook",
            strategy=strategy,
            beam=beam,
            agents=agents,
            verify_first=verify_first,
            budget=Budget(rounds=rounds or 10, wall_s=wall, tokens=tokens, dollars=dollars, device_s=device_seconds),
            baselines=options.chosen_baselines(baselines, device),
            seed=seed,
            seed_candidate=None if seed_candidate is None else read_source(seed_candidate, "candidate"),
            guidance=read_guidance(guidance),
            compiler_draft=load_settings().compiler_draft if compiler_draft is None else compiler_draft,
        )
    outcome = solve(spec, resume, out, model=model, rounds=rounds)
    show(outcome)
    if as_json:
        print_json(outcome.document)
    gained = outcome.document.best is not None and outcome.document.status != JobStatus.NO_GAIN
    raise typer.Exit(0 if gained else 1)


def _problem(
    path: Path, item: str | None, named: tuple[str, str], allow_library: tuple[str, ...], objective: str
) -> Problem:
    """The problem in a file, of a suite's item, or of a function or class with what `named` gives: its example inputs
    and its constructor's arguments."""
    from kernelwright.optimized_functions.named import function_problem, is_named
    from kernelwright.suites.known import named_problem

    inputs, init = named
    if inputs or init or is_named(str(path)):
        return function_problem(str(path), inputs, allow_library, objective, init)
    return named_problem(path, item, allow_library, objective)


def demo(
    rounds: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of rounds.")] = 8,
    out: Annotated[Path | None, typer.Option(help="Output folder (default: jobs/JOB in KERNELWRIGHT_HOME).")] = None,
) -> None:
    """Solve an example problem: no API key, GPU or server needed.

    The same as `kernelwright run` with one of the example problems and the offline model. Exit code 0 if a kernel
    was proven correct, whether or not it is faster than this machine's baselines."""
    from kernelwright.distribution import example
    from kernelwright.problem_files import read_problem
    from kernelwright.settings import load_settings
    from services.domain.jobs import Budget, JobSpec, JobStatus

    spec = JobSpec(
        problem=read_problem(example(EXAMPLE)),
        backend="cpp",
        device="cpu",
        model="playbook",
        budget=Budget(rounds=rounds),
        compiler_draft=load_settings().compiler_draft,
    )
    outcome = solve(spec, None, out, model=None, rounds=None)
    show(outcome)
    raise typer.Exit(0 if outcome.document.status in (JobStatus.SOLVED, JobStatus.NO_GAIN) else 1)


def solve(
    spec: JobSpec | None, resume: str | None, out: Path | None, *, model: str | None, rounds: int | None
) -> SolveResult:
    """Run the job, or continue it with a model and number of rounds where given; Ctrl-C says how to go on."""
    from kernelwright.local_job import open_solver
    from kernelwright.progress import Progress
    from kernelwright.settings import load_settings

    settings = load_settings()
    known: dict[str, str] = {} if resume is None else {"job": resume}

    async def work(listener: Listener) -> SolveResult:
        async with open_solver(settings, *([spec] if spec else []), resume=resume) as solver:
            after = 0
            if spec is not None:
                known["job"] = (await solver.submit(spec)).id
            else:
                _job, after = await solver.resumable(known["job"], model=model, rounds=rounds)
            say(f"job {known['job']}")
            if resume is not None and (lease := await solver.awaited_lease(resume)) is not None:
                say(f"{lease.owner} holds the job; taking over at {lease.expires_at:%H:%M:%S} UTC unless it responds")
            return await solver.finish(known["job"], out=out, listener=listener, after=after)

    def hint() -> str:
        return f"continue with: kernelwright run --resume {known['job']}" if known else ""

    with interruptible(hint), Progress(errors()) as progress:
        return asyncio.run(work(progress.listen))


def show(outcome: SolveResult) -> None:
    """Print the result card and the files, to standard error."""
    from kernelwright.cli.card import file_lines, result_card

    errors().print(result_card(outcome.job, outcome.report))
    for line in file_lines(outcome.export):
        say(line)
