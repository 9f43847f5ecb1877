"""All commands, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Annotated, Any

import typer

from kernelwright.cli import (
    access,
    bench,
    bench_tables,
    ci,
    client,
    database,
    doctor,
    evaluate,
    exports,
    jobs,
    mcp,
    memory,
    profile,
    reports,
    requests,
    reverify,
    run,
    server,
    spool,
    submit,
    webhooks,
)
from kernelwright.cli.options import CALLS

app = typer.Typer(
    name="kernelwright",
    help="Writes, proves and speeds up compute kernels.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
SOLVE = "Solve and judge"
JOBS = "Jobs on a server"
SERVICES = "Services"
TEAM = "Team and memory"
MACHINE = "This machine"

app.command("run", rich_help_panel=SOLVE, epilog=CALLS)(run.run)
app.command("demo", rich_help_panel=SOLVE)(run.demo)
app.command("evaluate", rich_help_panel=SOLVE)(evaluate.evaluate)
benches = typer.Typer(
    cls=bench_tables.BenchGroup, help="Solve many problems (bench alone), compare runs, publish them."
)
benches.command(bench_tables.DEFAULT, epilog=CALLS)(bench.bench)
benches.command("compare")(bench_tables.compare)
benches.command("page")(bench_tables.page)
app.add_typer(benches, name="bench", rich_help_panel=SOLVE)
app.command("profile", rich_help_panel=SOLVE)(profile.profile)
app.command("ci", rich_help_panel=SOLVE, epilog=CALLS)(ci.ci)
app.command("reverify", rich_help_panel=SOLVE)(reverify.reverify)
app.command("export", rich_help_panel=SOLVE)(exports.export)
app.command("submit", rich_help_panel=JOBS, epilog=CALLS)(submit.submit)
app.command("jobs", rich_help_panel=JOBS)(jobs.jobs)
app.command("watch", rich_help_panel=JOBS)(submit.watch)
app.command("open", rich_help_panel=JOBS)(client.open_page)
app.command("pause", rich_help_panel=JOBS)(jobs.pause)
app.command("resume", rich_help_panel=JOBS)(jobs.resume)
app.command("cancel", rich_help_panel=JOBS)(jobs.cancel)
app.command("delete", rich_help_panel=JOBS)(jobs.delete)
app.command("best", rich_help_panel=JOBS)(client.best)
app.command("bundle", rich_help_panel=JOBS)(client.bundle)
app.command("report", rich_help_panel=JOBS)(reports.report)
app.add_typer(reports.app, name="shares", rich_help_panel=JOBS)
app.add_typer(requests.app, name="requests", rich_help_panel=JOBS)
app.add_typer(webhooks.app, name="webhooks", rich_help_panel=JOBS)
app.command("mcp", rich_help_panel=JOBS)(mcp.mcp)
app.command("serve", rich_help_panel=SERVICES)(server.serve)
app.command("api", rich_help_panel=SERVICES)(server.api)
app.command("orchestrator", rich_help_panel=SERVICES)(server.orchestrator)
app.command("worker", rich_help_panel=SERVICES)(server.worker)
app.add_typer(spool.app, name="spool", rich_help_panel=SERVICES)
app.add_typer(database.app, name="db", rich_help_panel=SERVICES)
app.add_typer(access.team, name="team", rich_help_panel=TEAM)
app.add_typer(access.user, name="user", rich_help_panel=TEAM)
app.add_typer(access.token, name="token", rich_help_panel=TEAM)
app.command("audit", rich_help_panel=TEAM)(access.audit)
app.add_typer(memory.app, name="memory", rich_help_panel=TEAM)
app.add_typer(exports.trajectories, name="trajectories", rich_help_panel=TEAM)
app.command("doctor", rich_help_panel=MACHINE)(doctor.doctor)


def _show_version(wanted: bool) -> None:
    if wanted:
        from kernelwright.distribution import version

        typer.echo(version())
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Writes, proves and speeds up compute kernels."""


@cache
def command() -> Callable[..., Any]:
    """All commands in one. Typer would read every command's signature again for each call of `app`."""
    return typer.main.get_command(app)
