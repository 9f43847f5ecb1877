"""`kernelwright bench`: many problems, one table."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelwright.cli.options import (
    BUDGET,
    AgentsOption,
    BackendOption,
    BaselinesOption,
    BeamOption,
    DeviceOption,
    DeviceSeconds,
    Dollars,
    ModelOption,
    StrategyOption,
    Tokens,
    VerifyFirst,
    Wall,
    chosen_baselines,
)
from kernelwright.cli.output import answers, errors, interruptible, print_json, say
from kernelwright.figures import interval, ratio
from services.domain.errors import UserError
from services.domain.evaluations import Speedup
from services.domain.jobs import DEFAULT_STRATEGY, AgentsMode

if TYPE_CHECKING:
    from kernelwright.solving import SolveResult
    from services.domain.jobs import JobSpec

FAST_P = (1.0, 1.5, 2.0, 3.0)
"""fast_p: share of problems with an accepted kernel more than p times as fast as the fastest baseline (KernelBench)."""


@dataclass(frozen=True, kw_only=True)
class BenchRow:
    """One problem's outcome."""

    problem: str
    job_id: str
    status: str
    accepted: bool
    speedup: Speedup
    roofline_fraction: float | None
    rounds: int
    message: str | None
    kernel_path: str | None


@dataclass(frozen=True, kw_only=True)
class BenchDocument:
    """What `bench --json` prints."""

    problems: tuple[BenchRow, ...]
    accepted: int
    fast_p: dict[str, float]
    """Against the fastest baseline, by p."""
    geometric_mean: Speedup
    """Over accepted problems; None where a baseline was not measured on all of them."""


def bench(
    paths: Annotated[
        list[Path], typer.Argument(metavar="DIR_OR_FILES…", help="Problem files, or folders with problem files.")
    ],
    backend: BackendOption = "cpp",
    device: DeviceOption = "cpu",
    model: ModelOption = "playbook",
    strategy: StrategyOption = DEFAULT_STRATEGY,
    beam: BeamOption = 1,
    agents: AgentsOption = AgentsMode.FULL,
    verify_first: VerifyFirst = False,
    rounds: Annotated[
        int, typer.Option(min=1, max=1000, help="Maximum number of rounds per problem.", rich_help_panel=BUDGET)
    ] = 10,
    wall: Wall = None,
    tokens: Tokens = None,
    dollars: Dollars = None,
    device_seconds: DeviceSeconds = None,
    baselines: BaselinesOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Solve several problems and print a table.

    Exit code 0 if all have an accepted kernel."""
    from kernelwright.problem_files import read_problem
    from kernelwright.settings import load_settings
    from services.domain.jobs import Budget, JobSpec

    settings = load_settings()
    if as_json and as_markdown:
        raise UserError("use either --json or --markdown")
    specs = [
        JobSpec(
            problem=read_problem(path),
            backend=backend,
            device=device,
            model=model,
            strategy=strategy,
            beam=beam,
            agents=agents,
            verify_first=verify_first,
            budget=Budget(rounds=rounds, wall_s=wall, tokens=tokens, dollars=dollars, device_s=device_seconds),
            baselines=chosen_baselines(baselines, device),
            compiler_draft=settings.compiler_draft,
        )
        for path in problem_files(paths)
    ]
    with interruptible("finished problems are kept as jobs"):
        rows = asyncio.run(_solve_all(specs))
    document = summarise(rows)
    if as_json:
        print_json(document)
    elif as_markdown:
        sys.stdout.write(markdown(document))
    else:
        _print_table(document)
    raise typer.Exit(0 if document.accepted == len(rows) else 1)


def problem_files(paths: Sequence[Path]) -> list[Path]:
    """The problem files that paths name; folders stand for their `*.py`. Raises `UserError`."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(entry for entry in path.glob("*.py") if not entry.name.startswith("_"))
            if not inside:
                raise UserError(f"{path}: the folder has no problem files (*.py)")
            found += inside
        elif path.exists():
            found.append(path)
        else:
            raise UserError(f"{path}: no such file or folder")
    return list(dict.fromkeys(found))


def summarise(rows: Sequence[BenchRow]) -> BenchDocument:
    """Totals over a table."""
    accepted = [row for row in rows if row.accepted]
    shares = {f"{p:g}": _share(rows, p) for p in FAST_P}
    columns = [row.speedup for row in accepted]
    return BenchDocument(
        problems=tuple(rows),
        accepted=len(accepted),
        fast_p=shares,
        geometric_mean=Speedup(
            eager=_geometric_mean([speedup.eager for speedup in columns]),
            compile=_geometric_mean([speedup.compile for speedup in columns]),
            compile_max=_geometric_mean([speedup.compile_max for speedup in columns]),
            best_baseline=_geometric_mean([speedup.best_baseline for speedup in columns]),
        ),
    )


def markdown(document: BenchDocument) -> str:
    """The table as Markdown."""
    lines = ["| " + " | ".join(_HEADINGS) + " |", "|" + "---|" * len(_HEADINGS)]
    lines += ["| " + " | ".join(_cells(row)) + " |" for row in document.problems]
    return "\n".join([*lines, "", *_totals(document)]) + "\n"


_HEADINGS = ("problem", "accepted", "vs eager", "vs compile", "vs fastest", "95 %", "roofline", "rounds")


def _cells(row: BenchRow) -> tuple[str, ...]:
    fraction = "–" if row.roofline_fraction is None else f"{row.roofline_fraction:.0%}"
    speedup = row.speedup
    return (
        row.problem,
        "yes" if row.accepted else f"no ({row.status})",
        ratio(speedup.eager),
        ratio(speedup.compile),
        ratio(speedup.best_baseline),
        interval(speedup.ci95) or "–",
        fraction,
        str(row.rounds),
    )


def _totals(document: BenchDocument) -> list[str]:
    mean = document.geometric_mean
    fast = ", ".join(f"fast_{p} {share:.0%}" for p, share in document.fast_p.items())
    return [
        f"accepted {document.accepted} of {len(document.problems)}; {fast}",
        (
            f"geometric means: {ratio(mean.eager)} vs eager, {ratio(mean.compile)} vs compile, "
            f"{ratio(mean.best_baseline)} vs the fastest"
        ),
    ]


def _print_table(document: BenchDocument) -> None:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in _HEADINGS:
        table.add_column(heading, no_wrap=heading in ("problem", "95 %"))
    for row in document.problems:
        table.add_row(*_cells(row))
    answers().print(table)
    for line in _totals(document):
        answers().print(line)


async def _solve_all(specs: Sequence[JobSpec]) -> list[BenchRow]:
    from kernelwright.settings import load_settings
    from kernelwright.solving import open_solver

    rows: list[BenchRow] = []
    async with open_solver(load_settings(), *specs) as solver:
        for number, spec in enumerate(specs, start=1):
            job = await solver.submit(spec)
            say(f"[{number}/{len(specs)}] {spec.problem.name}  {job.id}")
            outcome = await solver.finish(job.id, out=None, listener=lambda _event, _report: None)
            rows.append(_row(outcome))
            _say_row(rows[-1])
    return rows


def _row(outcome: SolveResult) -> BenchRow:
    report, document = outcome.report, outcome.document
    return BenchRow(
        problem=outcome.job.spec.problem.name,
        job_id=outcome.job.id,
        status=outcome.job.status.value,
        accepted=document.best is not None,
        speedup=report.speedup if report else Speedup(),
        roofline_fraction=report.roofline.fraction if report and report.roofline else None,
        rounds=document.rounds,
        message=outcome.job.message,
        kernel_path=document.best.source_path if document.best else None,
    )


def _say_row(row: BenchRow) -> None:
    if row.accepted:
        errors().print(
            f"      accepted  {ratio(row.speedup.eager)} vs eager, {ratio(row.speedup.best_baseline)} vs fastest"
        )
    else:
        errors().print(f"      {row.status}: {row.message or 'no accepted candidate'}", markup=False)


def _share(rows: Sequence[BenchRow], p: float) -> float:
    if not rows:
        return 0.0
    fast = [row for row in rows if row.accepted and (row.speedup.best_baseline or 0.0) > p]
    return len(fast) / len(rows)


def _geometric_mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None and value > 0]
    if not known or len(known) != len(values):
        return None
    return math.exp(sum(math.log(value) for value in known) / len(known))
