"""`kernelwright evaluate`: judge one candidate on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelwright.cli import options
from kernelwright.cli.output import AsJson, errors, interruptible, print_json
from services.domain.measurements import BASELINES


def evaluate(
    problem: Annotated[Path, typer.Argument(metavar="PROBLEM.py", help="Problem file.")],
    candidate: Annotated[Path, typer.Argument(metavar="CANDIDATE.py", help="Module that defines ModelNew.")],
    backend: options.BackendOption = "cpp",
    device: options.DeviceOption = "cpu",
    baselines: Annotated[
        str,
        typer.Option(
            help=f"Baselines to compare with, comma-separated: {', '.join(BASELINES)}.",
            callback=options.check_baselines,
            rich_help_panel=options.TARGET,
        ),
    ] = "eager,compile",
    allow_library: options.AllowLibrary = "",
    objective: options.ObjectiveOption = "",
    as_json: AsJson = False,
) -> None:
    """Evaluate a kernel: gates, latency, baselines, verdict.

    Exit code 0 if it is accepted."""
    from kernelwright import evaluate as evaluation
    from kernelwright.problem_files import read_problem, read_source
    from kernelwright.settings import load_settings
    from kernelwright.wiring.sandboxes import sandbox_maker

    settings = load_settings()
    with interruptible():
        report = evaluation.evaluate(
            read_problem(problem, options.listed(allow_library), objective),
            read_source(candidate, "candidate"),
            backend=backend,
            device=device,
            baselines=options.listed(baselines),
            directory=settings.directory,
            make=sandbox_maker(settings),
        )
    if as_json:
        print_json(report)
    else:
        from kernelwright.cli.card import report_card

        errors().print(report_card(report))
        typer.echo(report.verdict.value)
    raise typer.Exit(evaluation.exit_code(report))
