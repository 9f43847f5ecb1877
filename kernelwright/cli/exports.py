"""`kernelwright export` and `trajectories`: this installation's jobs as a package of PyTorch operators, and as training
data."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelwright.cli.local import run_over
from kernelwright.cli.output import say, writing
from kernelwright.whole_files import replace_text
from services.domain.jobs import LOCAL_TEAM, TrainingFormat

if TYPE_CHECKING:
    from kernelwright.wiring.installation import Installation

trajectories = typer.Typer(help="Recorded jobs as training data.", no_args_is_help=True)


def export(
    jobs: Annotated[list[str], typer.Argument(metavar="JOB…", help="Ids of jobs of this installation.")],
    package: Annotated[str, typer.Option(help="Name of the package, as it is imported.")],
    out: Annotated[Path | None, typer.Option(help="New folder for the package (default: its name).")] = None,
    team: Annotated[str, typer.Option(help="Team that owns the jobs.")] = LOCAL_TEAM,
) -> None:
    """Write a package of PyTorch operators with jobs' kernels.

    A kernel runs where it was proven, the original everywhere else."""
    from kernelwright.wiring.installation import open_installation

    folder = (out or Path(package)).absolute()
    operators = run_over(open_installation, lambda here: here.exporter.to_package(team, jobs, package, folder))
    say(f"{', '.join(operators)}: install with pip install {folder}")
    typer.echo(str(folder))


@trajectories.command("export")
def export_trajectories(
    form: Annotated[TrainingFormat, typer.Option("--format", help="Training format.")] = TrainingFormat.RL,
    out: Annotated[Path | None, typer.Option(help="File to write to (default: standard output).")] = None,
    job: Annotated[str | None, typer.Option(help="Export only this job.")] = None,
    team: Annotated[str, typer.Option(help="Team that owns the jobs.")] = LOCAL_TEAM,
) -> None:
    """Export multi-turn trajectories with rewards as JSON lines.

    Refuted verdicts and secrets are left out."""
    from kernelwright.wiring.installation import make_trajectories, open_installation

    async def work(here: Installation) -> list[str]:
        return [line async for line in await make_trajectories(here).export(team, form, job_id=job)]

    lines = run_over(open_installation, work)
    if out is None:
        sys.stdout.writelines(lines)
    else:
        with writing(out):
            replace_text(out, "".join(lines))
    say(f"{len(lines)} lines{'' if out is None else f' in {out.absolute()}'}")
