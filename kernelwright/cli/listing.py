"""`kernelwright jobs`: a server's jobs as a table. A client of the REST API."""

from __future__ import annotations

from typing import Annotated

import typer

from kernelwright.cli.client import LOCAL, AsJson, Server, open_client
from kernelwright.cli.output import answers, print_json, say
from services.domain.errors import UserError
from services.domain.jobs import JobStatus


def jobs(
    status: Annotated[str | None, typer.Option(help="Show only jobs with this status.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="Maximum number of entries.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Cursor from the previous page.")] = None,
    as_json: AsJson = False,
    server: Server = LOCAL,
) -> None:
    """List a server's jobs, newest first."""
    if status is not None and status not in tuple(JobStatus):
        raise UserError(f"--status must be one of {', '.join(JobStatus)}")
    with open_client(server) as client:
        page = client.jobs(status=status, limit=limit, cursor=cursor)
    if as_json:
        print_json(page)
        return
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("job", "status", "problem", "model", "rounds", "created"):
        table.add_column(heading, no_wrap=heading in ("job", "status"))
    for job in page["jobs"]:
        cells = (job["id"], job["status"], job["problem"], job["model"], str(job["steps_done"]))
        table.add_row(*cells, job["created_at"][:16].replace("T", " "))
    answers().print(table)
    if page["next_cursor"]:
        say(f"more: --cursor {page['next_cursor']}")
