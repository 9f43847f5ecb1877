"""`kernelwright submit`, `jobs`, `watch`, `open`, `cancel`, `delete`, `best`, `bundle`: clients of the REST API."""

from __future__ import annotations

import difflib
import os
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelwright.cli.options import AgentsOption, CompilerDraftOption, DeviceSeconds, Dollars, Tokens, VerifyFirst
from kernelwright.cli.output import answers, errors, interruptible, print_json, say
from services.domain.errors import NotFoundError, UserError
from services.domain.formats import ExportFormat
from services.domain.jobs import DEFAULT_STRATEGY, AgentsMode, JobStatus

if TYPE_CHECKING:
    from services.client import Client

Server = Annotated[str, typer.Option(envvar="KERNELWRIGHT_SERVER", help="Server address.", show_default=True)]
JobId = Annotated[str, typer.Argument(metavar="JOB", help="Job id.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
LOCAL = "http://127.0.0.1:8000"


def submit(
    problem: Annotated[Path, typer.Argument(metavar="PROBLEM.py", help="Problem file.")],
    backend: Annotated[str, typer.Option(help="Kernel language.")] = "cpp",
    device: Annotated[str, typer.Option(help="Device to run on.")] = "cpu",
    model: Annotated[str, typer.Option(help="Chat model.")] = "playbook",
    strategy: Annotated[str, typer.Option(help="Search strategy.")] = DEFAULT_STRATEGY,
    beam: Annotated[int, typer.Option(min=1, max=16, help="Candidates per step; each counts as one round.")] = 1,
    agents: AgentsOption = AgentsMode.FULL,
    verify_first: VerifyFirst = False,
    rounds: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of rounds.")] = 10,
    tokens: Tokens = None,
    dollars: Dollars = None,
    device_seconds: DeviceSeconds = None,
    seed_candidate: Annotated[Path | None, typer.Option(help="Seed kernel to start from.")] = None,
    compiler_draft: CompilerDraftOption = None,
    allow_library: Annotated[str, typer.Option(help="Allowed library operators, comma-separated.")] = "",
    tag: Annotated[list[str] | None, typer.Option(help="Tag; can be repeated.")] = None,
    idempotency_key: Annotated[
        str | None, typer.Option(help="Key that makes repeated submissions create only one job.")
    ] = None,
    watching: Annotated[bool, typer.Option("--watch", help="Watch the job until it ends.")] = False,
    as_json: AsJson = False,
    server: Server = LOCAL,
) -> None:
    """Submit a job to a server and print its id."""
    from kernelwright.problem_files import read_problem, read_source

    found = read_problem(problem, tuple(filter(None, allow_library.split(","))))
    body: dict[str, Any] = {
        "problem": {
            "name": found.name,
            "source": found.source,
            "path": found.path,
            "allow_library": list(found.allow_library),
        },
        "backend": backend,
        "device": device,
        "model": model,
        "strategy": strategy,
        "beam": beam,
        "agents": agents.value,
        "verify_first": verify_first,
        "budget": {"rounds": rounds, "tokens": tokens, "dollars": dollars, "device_s": device_seconds},
        "tags": tag or [],
        "compiler_draft": compiler_draft,
        "seed_candidate": None if seed_candidate is None else read_source(seed_candidate, "candidate"),
    }
    with open_client(server) as client:
        job = client.submit(body, idempotency_key=idempotency_key)
        if not watching:
            print_json(job) if as_json else typer.echo(job["id"])
            return
        say(f"job {job['id']}")
        _watch(client, job["id"], as_json)


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


def watch(job_id: JobId, as_json: AsJson = False, server: Server = LOCAL) -> None:
    """Watch a job until it ends, across server restarts.

    Exit code 0 when its best kernel is surely faster than the best baseline."""
    with open_client(server) as client:
        _watch(client, job_id, as_json)


def cancel(job_id: JobId, as_json: AsJson = False, server: Server = LOCAL) -> None:
    """Cancel a job. Its results are kept."""
    with open_client(server) as client:
        job = client.steer(job_id, "cancel")
    if as_json:
        print_json(job)
    else:
        typer.echo("Cancelled" if job["status"] == "cancelled" else "Cancellation requested")


def delete(
    job_id: JobId,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")] = False,
    as_json: AsJson = False,
    server: Server = LOCAL,
) -> None:
    """Permanently delete a finished job and all that came of it."""
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


def best(
    job_id: JobId,
    out: Annotated[Path | None, typer.Option(help="File to write the kernel to.")] = None,
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
    if out is not None:
        _write(out, found["source"])
    if as_json:
        print_json(found)
    elif out is None:
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

    As a zip archive, or in another tool's format."""
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
        raise UserError(f"--server needs a URL with a scheme, e.g. http://{server.partition('://')[2] or server}")

    return Client(server, token=os.environ.get("KERNELWRIGHT_TOKEN"))


def _watch(client: Client, job_id: str, as_json: bool) -> None:
    from kernelwright.cli.progress import Progress
    from services.domain import codec
    from services.domain.evaluations import EvaluationReport

    with (
        interruptible(f"the job continues; watch it again with: kernelwright watch {job_id}"),
        Progress(errors()) as progress,
    ):
        for event in client.events(job_id):
            data = event.data["data"]
            report: EvaluationReport | None = None
            if event.kind == "evaluation.finished":
                found = client.candidate(data["candidate_id"])["report"]
                report = codec.from_data(EvaluationReport, found) if found else None
            progress.show(event.kind, data, report)
    result = client.result(job_id)
    if as_json:
        print_json(result)
    elif result["best"] is not None:
        say(f"kernel: kernelwright best {job_id}; with evidence: kernelwright bundle {job_id}")
    raise typer.Exit(0 if result["best"] is not None and result["status"] != "no_gain" else 1)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror or error}") from None
