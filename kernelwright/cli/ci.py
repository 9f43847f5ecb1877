"""`kernelwright ci`: the kernels of a repository, judged on every change."""

from __future__ import annotations

import json
import os
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelwright.cli.client import open_client
from kernelwright.cli.options import DeviceSeconds, Dollars, Tokens
from kernelwright.cli.output import interruptible, print_json, say, writing
from services.domain.errors import InfrastructureError

if TYPE_CHECKING:
    from kernelwright.ci.plan import CiPlan
    from kernelwright.ci.rules import Result


def ci(
    config: Annotated[Path, typer.Option(help="Configuration file.")] = Path("kernelwright.toml"),
    server: Annotated[
        str | None,
        typer.Option(
            envvar="KERNELWRIGHT_SERVER", help="Server to evaluate on (default: the one in the configuration)."
        ),
    ] = None,
    update: Annotated[bool, typer.Option("--update", help="Record the speedups of passing kernels.")] = False,
    summary: Annotated[Path | None, typer.Option(help="Also write the Markdown summary to this file.")] = None,
    comment: Annotated[bool, typer.Option("--comment", help="Keep a comment on the pull request up to date.")] = False,
    tokens: Tokens = None,
    dollars: Dollars = None,
    device_seconds: DeviceSeconds = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of Markdown.")] = False,
) -> None:
    """Check the kernels listed in kernelwright.toml.

    Exit code 0 if all hold, 1 if some fail, 2 if this cannot be determined."""
    from kernelwright.ci.plan import read_plan, with_budgets
    from kernelwright.ci.rules import exit_code
    from kernelwright.ci.summary import markdown, workflow_commands

    plan = with_budgets(read_plan(config), tokens=tokens, dollars=dollars, device_s=device_seconds)
    with interruptible():
        results = _judge_all(plan, server or plan.server)
    text = markdown(results)
    print_json(results) if as_json else typer.echo(text)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in workflow_commands(results):
            typer.echo(line, err=as_json)  # GitHub reads both streams; whoever asked for JSON gets nothing else
    shown = os.environ.get("GITHUB_STEP_SUMMARY")
    for path in filter(None, (summary, Path(shown) if shown else None)):
        with writing(path), path.open("a") as file:
            file.write(text)
    if comment:
        _comment(text)
    if update:
        _record(plan, results)
    raise typer.Exit(exit_code(results))


def _judge_all(plan: CiPlan, server: str | None) -> list[Result]:
    from kernelwright.ci.judges import LocalJudge, ServerJudge, judge
    from kernelwright.ci.rules import decide
    from kernelwright.settings import load_settings

    client = open_client(server) if server else None
    results = []
    with client or nullcontext():
        by = ServerJudge(client, server, plan) if client and server else LocalJudge(load_settings())
        for number, task in enumerate(plan.tasks, start=1):
            say(f"[{number}/{len(plan.tasks)}] {task.shown}")
            results.append(decide(task, judge(by, task)))
            say(f"      {results[-1].colour.value}: {results[-1].reason}")
    return results


def _comment(text: str) -> None:
    """A comment that GitHub does not take must not turn a green run red."""
    from kernelwright.ci.comment import keep_comment

    try:
        keep_comment(text, os.environ)
    except InfrastructureError as error:
        say(f"kernelwright: {error}")


def _record(plan: CiPlan, results: list[Result]) -> None:
    """Write the figures of kernels that hold; what others had recorded stays."""
    from kernelwright.ci.plan import read_record

    figures = dict(read_record(plan.record))
    for result in results:
        if result.holds and result.speedup is not None and result.speedup.best_baseline is not None:
            figures[result.task.key] = round(result.speedup.best_baseline, 4)
    document = {"kernels": {key: {"speedup": value} for key, value in sorted(figures.items())}}
    with writing(plan.record):
        plan.record.write_text(json.dumps(document, indent=2) + "\n")
    say(f"recorded in {plan.record}")
