"""All commands, by name."""

from __future__ import annotations

from typing import Annotated

import typer

from kernelwright.cli import (
    access,
    bench,
    ci,
    client,
    database,
    doctor,
    evaluate,
    mcp,
    memory,
    profile,
    reports,
    requests,
    reverify,
    run,
    server,
    trajectories,
    webhooks,
)
from kernelwright.cli.options import CALLS

app = typer.Typer(
    name="kernelwright",
    help="Writes, proves and speeds up compute kernels.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run", epilog=CALLS)(run.run)
app.command("evaluate")(evaluate.evaluate)
app.command("bench", epilog=CALLS)(bench.bench)
app.command("profile")(profile.profile)
app.command("serve")(server.serve)
app.command("api")(server.api)
app.command("orchestrator")(server.orchestrator)
app.command("worker")(server.worker)
app.command("submit", epilog=CALLS)(client.submit)
app.command("jobs")(client.jobs)
app.command("watch")(client.watch)
app.command("open")(client.open_page)
app.command("cancel")(client.cancel)
app.command("delete")(client.delete)
app.command("best")(client.best)
app.command("bundle")(client.bundle)
app.command("report")(reports.report)
app.command("ci", epilog=CALLS)(ci.ci)
app.command("reverify")(reverify.reverify)
app.command("doctor")(doctor.doctor)
app.command("mcp")(mcp.mcp)
app.add_typer(memory.app, name="memory")
app.add_typer(requests.app, name="requests")
app.add_typer(reports.app, name="shares")
app.add_typer(trajectories.app, name="trajectories")
app.add_typer(webhooks.app, name="webhooks")
app.add_typer(access.team, name="team")
app.add_typer(access.user, name="user")
app.add_typer(access.token, name="token")
app.command("audit")(access.audit)
app.add_typer(database.app, name="db")


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
