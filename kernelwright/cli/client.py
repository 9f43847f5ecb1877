"""`kernelwright open`, `best`, `bundle`, and what every command needs that is a client of the REST API."""

from __future__ import annotations

import difflib
import os
import re
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelwright.cli.output import AsJson, print_json, say, writing
from services.domain.errors import NotFoundError, UserError
from services.domain.jobs import ExportFormat

if TYPE_CHECKING:
    from services.client import Client

Server = Annotated[str, typer.Option(envvar="KERNELWRIGHT_SERVER", help="Server address.", show_default=True)]
JobId = Annotated[str, typer.Argument(metavar="JOB", help="Job id.")]
LOCAL = "http://127.0.0.1:8000"


def best(
    job_id: JobId,
    out: Annotated[Path | None, typer.Option(help="File to write the kernel to.")] = None,
    profile: Annotated[
        Path | None, typer.Option(help="File to write Nsight Compute's report (.ncu-rep) to, for kernels on a GPU.")
    ] = None,
    as_json: AsJson = False,
    server: Server = LOCAL,
) -> None:
    """Print a job's best kernel. Exit code 1 if there is none yet."""
    with open_client(server) as client:
        client.job(job_id)
        try:
            found = client.best(job_id)
        except NotFoundError as error:
            say(f"kernelwright: {error}")
            raise typer.Exit(1) from None
        record = client.profiler_file(found["id"]) if profile is not None else b""
    if out is not None:
        with writing(out):
            out.write_bytes(found["source"].encode(errors="surrogatepass"))
    if profile is not None:
        with writing(profile):
            profile.write_bytes(record)
    if as_json:
        print_json(found)
    elif out is None and profile is None:
        sys.stdout.write(found["source"])


def open_page(job_id: JobId, server: Server = LOCAL) -> None:
    """Print the address of a job's page and open it in a browser."""
    with open_client(server) as client:
        client.job(job_id)
    address = f"{server.rstrip('/')}/jobs/{job_id}"
    typer.echo(address)
    if not webbrowser.open(address):
        say("kernelwright: no browser could be started here: open the address yourself")


def bundle(
    job_id: JobId,
    out: Annotated[Path | None, typer.Option(help="Archive path (default JOB.zip).")] = None,
    form: Annotated[ExportFormat, typer.Option("--format", help="Archive format.")] = ExportFormat.BUNDLE,
    patch: Annotated[
        Path | None, typer.Option(help="Print a patch that puts the kernel into this file instead.")
    ] = None,
    server: Server = LOCAL,
) -> None:
    """Download a job's kernel with tests and evidence.

    The archive is a zip file, or has the format of another tool."""
    with open_client(server) as client:
        if patch is not None:
            sys.stdout.write(_patch(patch, client.best(job_id)["source"]))
            return
        path = (out or Path(f"{job_id}.zip")).absolute()
        client.save_bundle(job_id, path, form.value)
    typer.echo(str(path))


def _patch(path: Path, source: str) -> str:
    """A unified diff, for `git apply`, that gives a file the kernel's text; the file need not exist yet."""
    try:
        old = path.read_text() if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read: {error}") from None
    name = path.as_posix().removeprefix("./")
    before = f"a/{name}" if path.exists() else "/dev/null"
    lines = difflib.unified_diff(old.splitlines(keepends=True), source.splitlines(keepends=True), before, f"b/{name}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def open_client(server: str) -> Client:
    """A client of the server with this process's token. Raises `UserError` for an address that is no URL."""
    from services.client import Client

    if not server.startswith(("http://", "https://")):
        host = re.sub(r"^(https?:/?|\w+://)", "", server) or LOCAL.partition("://")[2]
        raise UserError(f"--server needs a URL with a scheme, e.g. http://{host}")

    return Client(server, token=os.environ.get("KERNELWRIGHT_TOKEN"))
