"""`kernelwright doctor`: what this machine can do, and what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelwright.cli.output import AsJson, answers, print_json
from services.domain.errors import ConfigurationError

_MARKS = {"ok": "[green]ok[/]", "warning": "[yellow]warning[/]", "missing": "[red]missing[/]"}


def doctor(
    as_json: AsJson = False,
    remote: Annotated[str | None, typer.Option(metavar="URL", help="Check a server instead of this machine.")] = None,
    check_worker: Annotated[
        str | None,
        typer.Option(
            metavar="DEVICE",
            help="Only check that a worker for this device completes a task; `all` for each kind of GPU here.",
        ),
    ] = None,
    check_api: Annotated[
        str | None, typer.Option(metavar="URL", help="Only check that the API at this address reaches its database.")
    ] = None,
    check_spool: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Only check a spool: its file system, key, orders and nodes.")
    ] = None,
    check_orchestrator: Annotated[
        bool,
        typer.Option("--check-orchestrator", help="Only check that an orchestrator here was seen in the last 30 s."),
    ] = False,
) -> None:
    """Check this machine, or a server.

    Exit code 2 if something required is missing."""
    from kernelwright.doctor.machine import diagnose
    from kernelwright.doctor.server import api_answers, orchestrator_lives, worker_answers
    from kernelwright.settings import load_settings

    settings = load_settings()
    asked = [worker_answers(settings, device) for device in _devices_of(check_worker)]
    asked += [api_answers(check_api)] if check_api else []
    asked += [orchestrator_lives(settings)] if check_orchestrator else []
    if check_spool is not None:
        from kernelwright.doctor import spool

        asked.append(spool.check_spool(settings, check_spool))
    if remote is not None:
        from kernelwright.distribution import version
        from kernelwright.doctor.server import diagnose_remote

        asked += diagnose_remote(remote, settings.token, version())
    findings = tuple(asked) or diagnose(settings)
    if as_json:
        print_json(findings)
    else:
        from rich.markup import escape
        from rich.table import Table

        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for finding in findings:
            text = escape(finding.detail) + (f"\n[dim]→ {escape(finding.remedy)}[/]" if finding.remedy else "")
            table.add_row(finding.name, _MARKS[finding.state] if finding.used else "–", text)
        answers().print(table)
    raise typer.Exit(2 if any(finding.state == "missing" for finding in findings) else 0)


def _devices_of(check_worker: str | None) -> tuple[str, ...]:
    """The devices that `--check-worker` names. Raises `ConfigurationError` for `all` where there is no GPU."""
    if check_worker != "all":
        return (check_worker,) if check_worker else ()
    from kernelwright.wiring.workbench import devices

    if not (gpus := devices()[1:]):
        raise ConfigurationError("this machine has no NVIDIA GPU that answers: there is no worker to check")
    return gpus
