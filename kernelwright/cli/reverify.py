"""`kernelwright reverify`: accepted results again, under today's referee."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from kernelwright.cli.output import AsJson, interruptible, print_json, say
from services.domain.jobs import LOCAL_TEAM

if TYPE_CHECKING:
    from services.domain.evaluations import EvaluationReport, EvaluationRequest
    from services.domain.verdicts import Verification
    from services.jobs.reverification import Judge, Outdated, Reverification


def reverify(
    job: Annotated[
        str | None, typer.Argument(metavar="JOB", help="Results of this job only (default: of all jobs).")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Include results of the current referee version.")] = False,
    listing: Annotated[bool, typer.Option("--list", help="List what would be re-evaluated, and exit.")] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Maximum number of results (default: all).")] = None,
    team: Annotated[str, typer.Option(help="Team that owns the results.")] = LOCAL_TEAM,
    as_json: AsJson = False,
) -> None:
    """Judge earlier results again; retract those that fail.

    Accepted results of an older referee or toolchain are evaluated again. What an older referee accepted is
    not recalled, shared or exported before.
    Exit code 0 if all hold, 1 if some fail, 2 if some could not be evaluated."""
    with interruptible(lambda: "what was judged is kept; run it again for the rest"):
        code = asyncio.run(_reverify(team, job, everything=everything, listing=listing, limit=limit, as_json=as_json))
    raise typer.Exit(code)


async def _reverify(
    team: str, job: str | None, *, everything: bool, listing: bool, limit: int | None, as_json: bool
) -> int:
    from kernelwright.settings import load_settings
    from kernelwright.wiring.installation import make_reverification, open_installation
    from kernelwright.wiring.workbench import WorkbenchPool
    from kernelwright.wiring.workers import open_workbench
    from services.jobs.machine_code import without_text

    settings = load_settings()
    async with open_installation(settings) as installation:
        with WorkbenchPool(lambda device: open_workbench(settings, device)) as benches:
            service = make_reverification(installation, benches.environment)
            if job is not None:
                await installation.service.get(team, job)
            found, elsewhere = await service.outdated(team, everything=everything, job_id=job)
            if elsewhere:
                say(f"{elsewhere} accepted results need devices or backends that this machine lacks")
            if listing:
                _print_list(found[:limit], as_json=as_json)
                return 0

            def judge(request: EvaluationRequest) -> EvaluationReport:
                return without_text(benches.of(request.device).evaluate(request))

            done = [await _verify(service, item, judge) for item in found[:limit]]
    _print_done(done, as_json=as_json)
    return _exit_code(done)


async def _verify(service: Reverification, item: Outdated, judge: Judge) -> Verification:
    verification = await service.verify(item.stored, judge)
    say(f"{verification.candidate_id}  {verification.problem}  {_outcome(verification)}  ({item.why})")
    for line in verification.evidence.splitlines():
        say(f"    {line}")
    return verification


def _outcome(verification: Verification) -> str:
    if verification.holds:
        return "holds"
    if not verification.is_verdict:
        return "could not be judged: nothing was changed"
    count = len(verification.retracted)
    return f"NO LONGER HOLDS: {verification.verdict.value}; {count} experiences retracted"


def _print_list(found: Sequence[Outdated], *, as_json: bool) -> None:
    rows = [
        {
            "evaluation_id": item.stored.request.evaluation_id,
            "candidate_id": item.stored.request.candidate_id,
            "job_id": item.stored.request.job_id,
            "problem": item.stored.request.problem.name,
            "why": item.why,
        }
        for item in found
    ]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        typer.echo(f"{row['candidate_id']}  {row['problem']}  {row['why']}")
    say(f"{len(rows)} accepted results would be re-evaluated")


def _print_done(done: Sequence[Verification], *, as_json: bool) -> None:
    if as_json:
        print_json(list(done))
        return
    held = sum(one.holds for one in done)
    fallen = sum(one.is_verdict and not one.holds for one in done)
    unclear = sum(not one.is_verdict for one in done)
    typer.echo(f"{len(done)} re-evaluated: {held} hold, {fallen} failed, {unclear} could not be evaluated")


def _exit_code(done: Sequence[Verification]) -> int:
    if any(one.is_verdict and not one.holds for one in done):
        return 1
    return 2 if any(not one.is_verdict for one in done) else 0
