"""`kernelwright demo`: an example problem, solved by the offline model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

PROBLEM = "rmsnorm"


def demo(
    rounds: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of rounds.")] = 8,
    out: Annotated[Path | None, typer.Option(help="Output folder (default: jobs/JOB in KERNELWRIGHT_HOME).")] = None,
) -> None:
    """Solve an example problem: no API key, GPU or server needed.

    The same as `kernelwright run` with one of the example problems and the offline model. Exit code 0 if a kernel
    was proven correct, whether or not it is faster than this machine's baselines."""
    from kernelwright.cli.run import show, solve
    from kernelwright.distribution import example
    from kernelwright.problem_files import read_problem
    from kernelwright.settings import load_settings
    from services.domain.jobs import Budget, JobSpec, JobStatus

    spec = JobSpec(
        problem=read_problem(example(PROBLEM)),
        backend="cpp",
        device="cpu",
        model="playbook",
        budget=Budget(rounds=rounds),
        compiler_draft=load_settings().compiler_draft,
    )
    outcome = solve(spec, None, out, model=None, rounds=None)
    show(outcome)
    raise typer.Exit(0 if outcome.document.status in (JobStatus.SOLVED, JobStatus.NO_GAIN) else 1)
