"""`kernelwright run`: one job in this process."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelwright.cli.options import AgentsOption, CompilerDraftOption, DeviceSeconds, Dollars, Tokens, VerifyFirst
from kernelwright.cli.output import errors, interruptible, print_json, say
from services.domain.errors import UserError
from services.domain.jobs import DEFAULT_STRATEGY, AgentsMode

if TYPE_CHECKING:
    from kernelwright.solving import Listener, SolveResult
    from services.domain.jobs import JobSpec


def run(
    problem: Annotated[Path | None, typer.Argument(metavar="PROBLEM.py", help="Problem file.")] = None,
    backend: Annotated[str, typer.Option(help="Kernel language.")] = "cpp",
    device: Annotated[str, typer.Option(help="Device to run on.")] = "cpu",
    model: Annotated[str | None, typer.Option(help="Chat model (default: playbook, which works offline).")] = None,
    strategy: Annotated[str, typer.Option(help="Search strategy.")] = DEFAULT_STRATEGY,
    beam: Annotated[int, typer.Option(min=1, max=16, help="Candidates per step; each counts as one round.")] = 1,
    agents: AgentsOption = AgentsMode.FULL,
    verify_first: VerifyFirst = False,
    rounds: Annotated[int | None, typer.Option(min=1, max=1000, help="Maximum number of rounds (default 10).")] = None,
    wall: Annotated[float | None, typer.Option(min=1, help="Maximum wall-clock time in seconds.")] = None,
    tokens: Tokens = None,
    dollars: Dollars = None,
    device_seconds: DeviceSeconds = None,
    baselines: Annotated[
        str | None,
        typer.Option(help="Comma-separated: eager, compile, compile_max (default: eager,compile; on GPUs all three)."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    seed_candidate: Annotated[Path | None, typer.Option(help="Seed kernel to start from.")] = None,
    compiler_draft: CompilerDraftOption = None,
    allow_library: Annotated[str, typer.Option(help="Allowed library operators, comma-separated.")] = "",
    out: Annotated[Path | None, typer.Option(help="Output folder.")] = None,
    resume: Annotated[
        str | None, typer.Option(metavar="JOB", help="Resume an interrupted job, or a failed one with --model.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Search for a fast, verified kernel.

    Exit code 0 when it is surely faster than the best baseline."""
    from kernelwright.problem_files import read_problem, read_source
    from kernelwright.settings import load_settings
    from services.domain.evaluations import default_baselines
    from services.domain.jobs import Budget, JobSpec, JobStatus

    spec: JobSpec | None = None
    if (problem is None) == (resume is None):
        raise UserError("give either a problem file or --resume JOB")
    if resume is not None and any(limit is not None for limit in (tokens, dollars, device_seconds)):
        raise UserError("a resumed job keeps its budgets: leave them out with --resume")
    if problem is not None:
        spec = JobSpec(
            problem=read_problem(problem, tuple(filter(None, allow_library.split(",")))),
            backend=backend,
            device=device,
            model=model or "playbook",
            strategy=strategy,
            beam=beam,
            agents=agents,
            verify_first=verify_first,
            budget=Budget(rounds=rounds or 10, wall_s=wall, tokens=tokens, dollars=dollars, device_s=device_seconds),
            baselines=default_baselines(device) if baselines is None else tuple(filter(None, baselines.split(","))),
            seed=seed,
            seed_candidate=None if seed_candidate is None else read_source(seed_candidate, "candidate"),
            compiler_draft=load_settings().compiler_draft if compiler_draft is None else compiler_draft,
        )
    outcome = _solve(spec, resume, out, model=model, rounds=rounds)
    _show(outcome)
    if as_json:
        print_json(outcome.document)
    gained = outcome.document.best is not None and outcome.document.status != JobStatus.NO_GAIN
    raise typer.Exit(0 if gained else 1)


def _solve(
    spec: JobSpec | None, resume: str | None, out: Path | None, *, model: str | None, rounds: int | None
) -> SolveResult:
    """Run the job, or continue it with a model and number of rounds where given; Ctrl-C says how to go on."""
    from kernelwright.cli.progress import Progress
    from kernelwright.settings import load_settings
    from kernelwright.solving import open_solver

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

    try:
        with Progress(errors()) as progress:
            return asyncio.run(work(_listener(progress)))
    except KeyboardInterrupt:
        hint = f"continue with: kernelwright run --resume {known['job']}" if known else ""
        with interruptible(hint):
            raise
        raise AssertionError("unreachable") from None


def _listener(progress: Any) -> Listener:
    return lambda event, report: progress.show(event.kind.value, event.data, report)


def _show(outcome: SolveResult) -> None:
    from kernelwright.cli.card import file_lines, result_card

    errors().print(result_card(outcome.job, outcome.report))
    for line in file_lines(outcome.export):
        say(line)
