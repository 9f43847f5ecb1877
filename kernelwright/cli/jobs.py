"""`kernelwright jobs`: a server's jobs as a table. A client of the REST API."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelwright.cli.client import LOCAL, AsJson, Server, open_client
from kernelwright.cli.output import answers, print_json, say
from kernelwright.figures import GAINS, ratio
from services.domain.jobs import JobStatus

if TYPE_CHECKING:
    from rich.table import Table

WIDE = 120
"""Columns of a terminal that has room for times in full and for models."""


def jobs(
    status: Annotated[
        JobStatus | None, typer.Option(metavar="STATUS", help=f"Show only jobs that are {', '.join(JobStatus)}.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="Maximum number of entries.")] = 50,
    cursor: Annotated[str | None, typer.Option(help="Cursor from the previous page.")] = None,
    as_json: AsJson = False,
    server: Server = LOCAL,
) -> None:
    """List a server's jobs, newest first.

    The speedup is the best kernel's over the fastest baseline; the gain is what its 95 % interval says."""
    with open_client(server) as client:
        page = client.jobs(status=None if status is None else status.value, limit=limit, cursor=cursor)
    if as_json:
        print_json(page)
        return
    answers().print(job_table(page["items"], datetime.now(UTC), wide=answers().width >= WIDE))
    if page["next_cursor"]:
        say(f"more: --cursor {page['next_cursor']}")


def job_table(found: Sequence[dict[str, Any]], now: datetime, *, wide: bool) -> Table:
    """Jobs as a table: problems' names come last and are cut where there is no room."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("job", "status", "speedup", "gain", "rounds", "created" if wide else "age"):
        right = heading in ("speedup", "rounds", "age")
        table.add_column(heading, no_wrap=True, justify="right" if right else "left")
    for heading in ("model", "problem") if wide else ("problem",):
        table.add_column(heading, overflow="ellipsis")
    for job in found:
        created = datetime.fromisoformat(job["created_at"])
        when = f"{created:%Y-%m-%d %H:%M}" if wide else age((now - created).total_seconds())
        marked = GAINS.get(job.get("best_gain") or "", "")
        cells = [job["id"], job["status"], ratio(job["best_speedup"]), marked, str(job["steps_done"]), when]
        names = [job["model"], job["problem"]] if wide else [job["problem"]]
        table.add_row(*cells, *map(escape, names))
    return table


def age(seconds: float) -> str:
    """How long ago, in the largest whole unit: `40 s`, `3 h`, `12 d`."""
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"
