"""`kernelwright jobs`, `pause`, `resume`, `cancel`, `delete`: a server's jobs, and what becomes of them. Clients of the
REST API."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelwright.cli.client import LOCAL, JobId, Server, open_client
from kernelwright.cli.output import GAINS, AsJson, answers, print_json, say
from services.domain.errors import ConflictError
from services.domain.jobs import JobStatus
from services.domain.texts import ratio

if TYPE_CHECKING:
    from rich.table import Table

    from services.client import Client

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


def pause(job_id: JobId, as_json: AsJson = False, server: Server = LOCAL) -> None:
    """Pause a job after its current step.

    Exit code 1 if it has ended."""
    job = _steered(server, job_id, "pause", lambda client: client.steer(job_id, "pause"))
    if as_json:
        print_json(job)
        return
    typer.echo("Paused" if job["status"] == JobStatus.PAUSED else "Pause requested: it takes effect after this step")
    say(f"go on with: kernelwright resume {job_id}")


def resume(
    job_id: JobId,
    model: Annotated[str | None, typer.Option(help="Continue with this chat model.")] = None,
    rounds: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Maximum number of rounds of the whole job.")
    ] = None,
    as_json: AsJson = False,
    server: Server = LOCAL,
) -> None:
    """Resume a paused or failed job.

    Exit code 1 if its state does not allow that."""
    job = _steered(server, job_id, "resume", lambda client: client.resume(job_id, model=model, rounds=rounds))
    if as_json:
        print_json(job)
        return
    waits = job["status"] in (JobStatus.QUEUED, JobStatus.PAUSED)  # paused: until who ran it has let go of it
    typer.echo("Resumed: it waits for an orchestrator" if waits else f"Resumed: it is {job['status']}")
    say(f"watch it with: kernelwright watch {job_id}")


def cancel(job_id: JobId, as_json: AsJson = False, server: Server = LOCAL) -> None:
    """Cancel a job. Its results are kept.

    Exit code 1 if it has ended in another way."""
    job = _steered(server, job_id, "cancel", lambda client: client.steer(job_id, "cancel"))
    if as_json:
        print_json(job)
    else:
        typer.echo("Cancelled" if job["status"] == JobStatus.CANCELLED else "Cancellation requested")


def delete(
    job_id: JobId,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False,
    as_json: AsJson = False,
    server: Server = LOCAL,
) -> None:
    """Permanently delete a finished job and everything it produced."""
    with open_client(server) as client:
        job = client.job(job_id)
        if not yes and not typer.confirm(f"Permanently delete {job_id} ({job['problem']}, {job['status']})?", err=True):
            raise typer.Exit(1)
        deletion = client.delete(job_id)
    if as_json:
        print_json(deletion)
        return
    parts = ("steps", "candidates", "experiences", "contents")
    typer.echo(f"deleted {job_id}: " + ", ".join(f"{deletion[part]} {part}" for part in parts))


def _steered(server: str, job_id: str, action: str, ask: Callable[[Client], dict[str, Any]]) -> dict[str, Any]:
    """The job after a request; where its state does not allow the request, exit code 1 and what to do instead."""
    with open_client(server) as client:
        try:
            return ask(client)
        except ConflictError as error:
            hint = "" if "kernelwright " in str(error) else f" ({advice(client.job(job_id), action)})"
            say(f"kernelwright: {error}{hint}")
            raise typer.Exit(1) from None


def advice(job: dict[str, Any], action: str) -> str:
    """What can be done with a job whose state does not allow an action."""
    status, name = JobStatus(job["status"]), job["id"]
    if not status.is_final:
        return f"kernelwright pause {name}"
    if job["best_candidate_id"] is not None:
        return f"its kernel: kernelwright best {name}"
    if status is JobStatus.FAILED and action != "resume":
        return f"to go on: kernelwright resume {name}"
    return "to try again: kernelwright submit"
