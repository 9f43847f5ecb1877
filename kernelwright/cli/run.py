"""`kernelwright run`: one job in this process."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelwright.cli.output import errors, interruptible, print_json, say
from services.domain.errors import UserError
from services.domain.jobs import DEFAULT_STRATEGY

if TYPE_CHECKING:
    from kernelwright.solving import Listener, SolveResult
    from services.domain.jobs import JobSpec


def run(
    problem: Annotated[Path | None, typer.Argument(metavar="PROBLEM.py", help="The problem.")] = None,
    backend: Annotated[str, typer.Option(help="Language of the kernel.")] = "cpp",
    device: Annotated[str, typer.Option(help="Where it runs.")] = "cpu",
    model: Annotated[str | None, typer.Option(help="The chat model (default: playbook, which works offline).")] = None,
    strategy: Annotated[str, typer.Option(help="Search strategy.")] = DEFAULT_STRATEGY,
    beam: Annotated[int, typer.Option(min=1, max=16, help="Candidates at the same time; each is one round.")] = 1,
    rounds: Annotated[int | None, typer.Option(min=1, max=1000, help="Evaluated rounds at most (default 10).")] = None,
    wall: Annotated[float | None, typer.Option(min=1, help="Seconds at most.")] = None,
    baselines: Annotated[str, typer.Option(help="Comma-separated: eager, compile, compile_max.")] = "eager,compile",
    seed: Annotated[int, typer.Option(min=0, help="Seed of every random choice.")] = 0,
    seed_candidate: Annotated[Path | None, typer.Option(help="A kernel to start from.")] = None,
    allow_library: Annotated[str, typer.Option(help="Library operators it may keep, comma-separated.")] = "",
    out: Annotated[Path | None, typer.Option(help="Folder for the results.")] = None,
    resume: Annotated[
        str | None, typer.Option(metavar="JOB", help="Continue an interrupted or, with --model, a failed job.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result document as JSON.")] = False,
) -> None:
    """Turn a problem into a fast, proven kernel. Exit code 0 when a candidate was accepted."""
    from kernelwright.problem_files import read_problem, read_source
    from services.domain.jobs import Budget, JobSpec

    spec: JobSpec | None = None
    if (problem is None) == (resume is None):
        raise UserError("name a problem file, or a job with --resume: one of the two")
    if problem is not None:
        spec = JobSpec(
            problem=read_problem(problem, tuple(filter(None, allow_library.split(",")))),
            backend=backend,
            device=device,
            model=model or "playbook",
            strategy=strategy,
            beam=beam,
            budget=Budget(rounds=rounds or 10, wall_s=wall),
            baselines=tuple(filter(None, baselines.split(","))),
            seed=seed,
            seed_candidate=None if seed_candidate is None else read_source(seed_candidate, "candidate"),
        )
    outcome = _solve(spec, resume, out, model=model, rounds=rounds)
    _show(outcome)
    if as_json:
        print_json(outcome.document)
    raise typer.Exit(0 if outcome.document.best is not None else 1)


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
                say(f"{lease.owner} holds the job: taking over at {lease.expires_at:%H:%M:%S} UTC unless it lives")
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
