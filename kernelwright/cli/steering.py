"""`kernelwright pause`, `resume`, `cancel`, `delete`: what becomes of a server's jobs. Clients of the REST API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelwright.cli.client import LOCAL, AsJson, JobId, Server, open_client
from kernelwright.cli.output import print_json, say
from services.domain.errors import ConflictError
from services.domain.jobs import JobStatus

if TYPE_CHECKING:
    from collections.abc import Callable

    from services.client import Client


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
