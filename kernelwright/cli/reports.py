"""`kernelwright report` and `shares`: a job's report as a file, and links to it. Clients of the REST API."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from kernelwright.cli.client import LOCAL, JobId, Server, open_client
from kernelwright.cli.output import AsJson, minute, print_json, print_list, say

app = typer.Typer(help="Read-only links to a job's report.", no_args_is_help=True)


def report(
    job_id: JobId,
    out: Annotated[Path | None, typer.Option(help="File path (default JOB.html).")] = None,
    server: Server = LOCAL,
) -> None:
    """Download a job's report as one HTML file.

    It contains figures, evidence, gates, lineage and source, and no scripts."""
    path = (out or Path(f"{job_id}.html")).absolute()
    with open_client(server) as client:
        client.save_report(job_id, path)
    typer.echo(str(path))


@app.command("create")
def create(
    job_id: JobId,
    days: Annotated[float, typer.Option(min=0, max=365, help="Days until the link expires.")] = 7,
    as_json: AsJson = False,
    server: Server = LOCAL,
) -> None:
    """Create a link to a job's report that works without signing in.

    It is printed once."""
    with open_client(server) as client:
        made = client.share(job_id, days)
    if as_json:
        print_json(made)
        return
    typer.echo(made["url"])
    say(f"expires {minute(made['expires_at'])}")
    say(f"revoke it: kernelwright shares revoke {job_id} {made['id']}")


@app.command("list")
def list_(job_id: JobId, as_json: AsJson = False, server: Server = LOCAL) -> None:
    """List a job's links, newest first."""
    with open_client(server) as client:
        found = client.shares(job_id)

    def cells(share: dict[str, Any]) -> Sequence[str]:
        return [share["id"], *(minute(share[name] or "") for name in ("created_at", "expires_at", "revoked_at"))]

    none = f"No links yet. Create one: kernelwright shares create {job_id}"
    print_list(found, ("link", "created", "expires", "revoked"), cells, as_json=as_json, none=none)


@app.command("revoke")
def revoke(
    job_id: JobId,
    share_id: Annotated[str, typer.Argument(metavar="LINK", help="Link id.")],
    server: Server = LOCAL,
) -> None:
    """Revoke a link."""
    with open_client(server) as client:
        client.revoke_share(job_id, share_id)
    say("Link revoked")
