"""`kernelwright requests`: what manual models were asked, and the answers. A client of the REST API."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from kernelwright.cli.client import LOCAL, Server, open_client
from kernelwright.cli.output import AsJson, minute, print_json, print_list, say
from services.domain.errors import UserError

app = typer.Typer(help="Requests of manual models that wait for an answer.", no_args_is_help=True)
RequestId = Annotated[str, typer.Argument(metavar="REQUEST", help="Request id.")]


@app.command("list")
def list_(
    job: Annotated[str | None, typer.Option(help="Show only this job's requests.")] = None,
    role: Annotated[str | None, typer.Option(help="planner, coder, judge or profiler.")] = None,
    wait: Annotated[float, typer.Option(min=0, max=25, help="Seconds to wait for a request.")] = 0,
    as_json: AsJson = False,
    server: Server = LOCAL,
) -> None:
    """List open requests, oldest first."""
    with open_client(server) as client:
        found = client.requests(job_id=job, role=role, wait_s=wait)

    def cells(item: dict[str, Any]) -> Sequence[str]:
        names = ("id", "job_id", "step", "role", "schema_name")
        return [*(str(item[name]) for name in names), minute(item["expires_at"])]

    headings = ("request", "job", "step", "role", "wanted", "expires")
    print_list(found, headings, cells, as_json=as_json, folding=headings[2:], none="No open requests")


@app.command("show")
def show(request_id: RequestId, as_json: AsJson = False, server: Server = LOCAL) -> None:
    """Print a request's prompt; --json adds the schema of the answer."""
    with open_client(server) as client:
        found = client.request(request_id)
    if as_json:
        print_json(found)
        return
    for message in found["messages"]:
        typer.echo(f"--- {message['role']}\n{message['content'].rstrip()}\n")
    if found["reply"] is not None:
        typer.echo(f"--- answered by {found['answered_by']}\n{found['reply'].rstrip()}")


@app.command("answer")
def answer(
    request_id: RequestId,
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="JSON that matches the schema, or a Coder's module; - for standard input."),
    ],
    by: Annotated[str | None, typer.Option(help="Name to record as the author (default: your user name).")] = None,
    as_json: AsJson = False,
    server: Server = LOCAL,
) -> None:
    """Answer a request.

    An invalid answer is refused with the reason, and the request stays open."""
    text = _read(file)
    with open_client(server) as client:
        found = client.answer(request_id, text, by or getpass.getuser())
    if as_json:
        print_json(found)
    else:
        say(f"answered; next: kernelwright requests list --job {found['job_id']} --wait 25")


def _read(file: Path) -> str:
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file}: cannot read the answer: {error}") from None
