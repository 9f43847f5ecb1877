"""`kernelwright export` and `trajectories`: this installation's jobs as a package of PyTorch operators, and as training
data."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Annotated

import typer

from kernelwright.cli.output import say
from services.domain.errors import UserError
from services.domain.jobs import LOCAL_TEAM, TrainingFormat

trajectories = typer.Typer(help="Recorded jobs as training data.", no_args_is_help=True)


def export(
    jobs: Annotated[list[str], typer.Argument(metavar="JOB…", help="Ids of jobs of this installation.")],
    package: Annotated[str, typer.Option(help="Name of the package, as it is imported.")],
    out: Annotated[Path | None, typer.Option(help="New folder for the package (default: its name).")] = None,
    team: Annotated[str, typer.Option(help="Team that owns the jobs.")] = LOCAL_TEAM,
) -> None:
    """Write a package of PyTorch operators with jobs' kernels.

    A kernel runs where it was proven, the original everywhere else."""
    folder = (out or Path(package)).absolute()
    operators = asyncio.run(_export_operators(jobs, package, folder, team))
    say(f"{', '.join(operators)}: install with pip install {folder}")
    typer.echo(str(folder))


async def _export_operators(jobs: list[str], package: str, folder: Path, team: str) -> tuple[str, ...]:
    from kernelwright.settings import load_settings
    from kernelwright.wiring.installation import open_installation

    async with open_installation(load_settings()) as installation:
        return await installation.exporter.to_package(team, jobs, package, folder)


@trajectories.command("export")
def export_trajectories(
    form: Annotated[TrainingFormat, typer.Option("--format", help="Training format.")] = TrainingFormat.RL,
    out: Annotated[Path | None, typer.Option(help="File to write to (default: standard output).")] = None,
    job: Annotated[str | None, typer.Option(help="Export only this job.")] = None,
    team: Annotated[str, typer.Option(help="Team that owns the jobs.")] = LOCAL_TEAM,
) -> None:
    """Export multi-turn trajectories with rewards as JSON lines.

    Refuted verdicts and secrets are left out."""
    count = asyncio.run(_export_trajectories(form, out, job, team))
    say(f"{count} lines{'' if out is None else f' in {out.absolute()}'}")


async def _export_trajectories(form: TrainingFormat, out: Path | None, job: str | None, team: str) -> int:
    from kernelwright.settings import load_settings
    from kernelwright.wiring.installation import make_trajectories, open_installation

    async with open_installation(load_settings()) as installation:
        lines = [line async for line in await make_trajectories(installation).export(team, form, job_id=job)]
    if out is None:
        sys.stdout.writelines(lines)
        return len(lines)
    partial = out.with_name(out.name + ".partial")
    try:
        partial.write_text("".join(lines), encoding="utf-8")
        partial.replace(out)
    except OSError as error:
        raise UserError(f"{out}: cannot be written: {error.strerror or error}") from None
    return len(lines)
