"""`kernelwright submit` and `watch`: a job on a server, from its problem to its end. Clients of the REST API."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelwright.cli import options
from kernelwright.cli.client import LOCAL, JobId, Server, open_client
from kernelwright.cli.output import AsJson, errors, interruptible, print_json, say
from services.domain.jobs import DEFAULT_STRATEGY, AgentsMode

if TYPE_CHECKING:
    from services.client import Client


def submit(
    problem: Annotated[Path, typer.Argument(metavar="PROBLEM", help="Problem file, or an item of a suite's checkout.")],
    item: options.ItemOption = None,
    backend: options.BackendOption = "cpp",
    device: options.DeviceOption = "cpu",
    model: options.ModelOption = "playbook",
    strategy: options.StrategyOption = DEFAULT_STRATEGY,
    beam: options.BeamOption = 1,
    agents: options.AgentsOption = AgentsMode.FULL,
    verify_first: options.VerifyFirst = False,
    rounds: Annotated[
        int, typer.Option(min=1, max=1000, help="Maximum number of rounds.", rich_help_panel=options.BUDGET)
    ] = 10,
    wall: options.Wall = None,
    tokens: options.Tokens = None,
    dollars: options.Dollars = None,
    device_seconds: options.DeviceSeconds = None,
    baselines: options.BaselinesOption = None,
    seed_candidate: options.SeedCandidate = None,
    guidance: options.Guidance = "",
    compiler_draft: options.CompilerDraftOption = None,
    allow_library: options.AllowLibrary = "",
    objective: options.ObjectiveOption = "",
    tag: Annotated[list[str] | None, typer.Option(help="Tag; can be repeated.")] = None,
    idempotency_key: Annotated[
        str | None, typer.Option(help="Key that makes repeated submissions create only one job.")
    ] = None,
    watching: Annotated[bool, typer.Option("--watch", help="Watch the job until it ends.")] = False,
    as_json: AsJson = False,
    server: Server = LOCAL,
) -> None:
    """Submit a job to a server and print its id."""
    from kernelwright.problem_files import read_guidance, read_source
    from kernelwright.suites.known import named_problem

    found = named_problem(problem, item, options.listed(allow_library), objective)
    body: dict[str, Any] = {
        "problem": asdict(found),
        "backend": backend,
        "device": device,
        "model": model,
        "strategy": strategy,
        "beam": beam,
        "agents": agents.value,
        "verify_first": verify_first,
        "budget": {
            "rounds": rounds,
            "wall_s": wall,
            "tokens": tokens,
            "dollars": dollars,
            "device_s": device_seconds,
        },
        "baselines": None if baselines is None else list(options.listed(baselines)),
        "tags": tag or [],
        "compiler_draft": compiler_draft,
        "seed_candidate": None if seed_candidate is None else read_source(seed_candidate, "candidate"),
        "guidance": read_guidance(guidance),
    }
    with open_client(server) as client:
        job = client.submit(body, idempotency_key=idempotency_key)
        if not watching:
            print_json(job) if as_json else typer.echo(job["id"])
            return
        say(f"job {job['id']}")
        _watch(client, job["id"], as_json)


def watch(job_id: JobId, as_json: AsJson = False, server: Server = LOCAL) -> None:
    """Watch a job until it ends, across server restarts.

    Exit code 0 if its best kernel is surely faster than the best baseline."""
    with open_client(server) as client:
        client.job(job_id)  # a wrong address or id is told at once; only a server that was there is waited for
        _watch(client, job_id, as_json)


def _watch(client: Client, job_id: str, as_json: bool) -> None:
    from kernelwright.progress import Progress
    from services.domain import codec
    from services.domain.evaluations import EvaluationReport

    with (
        interruptible(lambda: f"the job continues; watch it again with: kernelwright watch {job_id}"),
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
