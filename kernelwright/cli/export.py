"""`kernelwright export`: kernels of jobs as an installable package of PyTorch operators."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from kernelwright.cli.output import say
from services.domain.jobs import LOCAL_TEAM


def export(
    jobs: Annotated[list[str], typer.Argument(metavar="JOB…", help="Ids of jobs of this installation.")],
    package: Annotated[str, typer.Option(help="Name of the package, as it is imported.")],
    out: Annotated[Path | None, typer.Option(help="New folder for the package (default: its name).")] = None,
    team: Annotated[str, typer.Option(help="Team that owns the jobs.")] = LOCAL_TEAM,
) -> None:
    """Write a package of PyTorch operators with jobs' kernels.

    A kernel runs where it was proven, the original everywhere else."""
    folder = (out or Path(package)).absolute()
    operators = asyncio.run(_export(jobs, package, folder, team))
    say(f"{', '.join(operators)}: install with pip install {folder}")
    typer.echo(str(folder))


async def _export(jobs: list[str], package: str, folder: Path, team: str) -> tuple[str, ...]:
    from kernelwright.settings import load_settings
    from kernelwright.wiring.installation import open_installation

    async with open_installation(load_settings()) as installation:
        return await installation.exporter.to_package(team, jobs, package, folder)
