"""`kernelwright bench`: many problems, one table."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelwright.cli import options
from kernelwright.cli.client import open_client
from kernelwright.cli.output import answers, errors, interruptible, print_json, print_table, say
from services.domain.errors import UserError
from services.domain.jobs import DEFAULT_STRATEGY, AgentsMode, Budget
from services.domain.texts import ratio

if TYPE_CHECKING:
    from kernelwright.bench.results import Results
    from kernelwright.bench.rows import BenchRow
    from kernelwright.bench.runner import BenchEnd, BenchLimits
    from kernelwright.bench.terms import BenchTerms
    from kernelwright.bench.totals import BenchDocument
    from kernelwright.settings import Settings
    from kernelwright.suites.suite import Suite, SuiteProblem

PROBLEMS = "Problems"
RESULTS = "Results"
MERGING = frozenset({"paths", "merging", "out", "as_json", "as_markdown"})
"""Parameters that mean something beside --merge."""
_FOLDING = frozenset({"accepted", "vs eager", "vs compile", "vs strongest", "roofline", "by", "device s"})
"""Columns whose headings may wrap."""


def bench(
    context: typer.Context,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="DIR_OR_FILES…", help="Problem files, or folders with problem files.", show_default=False
        ),
    ] = None,
    suite: Annotated[
        str | None, typer.Option(help="Published suite, for example kernelbench.", rich_help_panel=PROBLEMS)
    ] = None,
    level: Annotated[
        int | None, typer.Option(min=1, max=4, help="Level of the suite, 1 to 4.", rich_help_panel=PROBLEMS)
    ] = None,
    path: Annotated[Path | None, typer.Option(help="Folder of the suite's checkout.", rich_help_panel=PROBLEMS)] = None,
    part: Annotated[
        str | None, typer.Option(help="Only problems in this folder of the checkout.", rich_help_panel=PROBLEMS)
    ] = None,
    problems: Annotated[
        str | None, typer.Option(help="Only these, by number: 1-20,33.", rich_help_panel=PROBLEMS)
    ] = None,
    server: Annotated[
        str | None, typer.Option(help="Run the jobs on this server instead of here.", rich_help_panel="Target")
    ] = None,
    backend: options.BackendOption = "cpp",
    device: options.DeviceOption = "cpu",
    model: options.ModelOption = "playbook",
    strategy: options.StrategyOption = DEFAULT_STRATEGY,
    beam: options.BeamOption = 1,
    agents: options.AgentsOption = AgentsMode.FULL,
    verify_first: options.VerifyFirst = False,
    compiler_draft: options.CompilerDraftOption = None,
    rounds: Annotated[
        int, typer.Option(min=1, max=1000, help="Maximum number of rounds per problem.", rich_help_panel=options.BUDGET)
    ] = 10,
    wall: options.Wall = None,
    tokens: options.Tokens = None,
    dollars: options.Dollars = None,
    device_seconds: Annotated[
        float | None,
        typer.Option(
            min=1.0,
            help="Maximum device time of this call in seconds, all problems together; no problem is started "
            "after that (default: no limit).",
            rich_help_panel=options.BUDGET,
        ),
    ] = None,
    job_device_seconds: Annotated[
        float | None,
        typer.Option(
            min=1.0,
            help="Maximum device time of each problem's candidates in seconds (default: no limit).",
            rich_help_panel=options.BUDGET,
        ),
    ] = None,
    baselines: options.BaselinesOption = None,
    objective: options.ObjectiveOption = "",
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the results; a second call with the same folder continues (default: a new one in "
            "KERNELWRIGHT_HOME/bench).",
            rich_help_panel=RESULTS,
        ),
    ] = None,
    retry_failed: Annotated[
        bool,
        typer.Option("--retry-failed", help="Retry problems that failed or were cancelled.", rich_help_panel=RESULTS),
    ] = False,
    merging: Annotated[
        bool,
        typer.Option("--merge", help="Merge the rows of results folders DIR… into --out.", rich_help_panel=RESULTS),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.", rich_help_panel=RESULTS)] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.", rich_help_panel=RESULTS)] = False,
) -> None:
    """Solve several problems and print a table.

    The problems are your own files or a level of a suite. A folder keeps one row per problem, and the totals.
    Exit code 0 if all have an accepted kernel; problems left for another call are listed."""
    from kernelwright.bench.problems import selected
    from kernelwright.bench.results import Results
    from kernelwright.bench.runner import BenchLimits
    from kernelwright.bench.terms import BenchTerms
    from kernelwright.settings import load_settings
    from services.domain.referees import REFEREE_VERSION

    settings = load_settings()
    if as_json and as_markdown:
        raise UserError("use either --json or --markdown")
    results = Results(out or _new_folder(settings))
    if merging:
        options.refuse_but(context, MERGING, "--merge runs nothing")
        document = _merged(paths or [], results)
    else:
        chosen = _suite(paths or [], suite, level, path, part)
        wanted = selected(chosen.problems(), problems)
        terms = BenchTerms(
            suite=chosen.name,
            level=chosen.level,
            part=part,
            device=device,
            backend=backend,
            model=model,
            strategy=strategy,
            beam=beam,
            agents=agents,
            verify_first=verify_first,
            compiler_draft=_drafted(compiler_draft, server, settings),
            budget=Budget(rounds=rounds, wall_s=wall, tokens=tokens, dollars=dollars, device_s=job_device_seconds),
            baselines=options.chosen_baselines(baselines, device),
            referee_version=None if server else REFEREE_VERSION,
            objective=objective,
        )
        limits = BenchLimits(device_seconds=device_seconds, retry_failed=retry_failed)
        document = _benched(wanted, terms, limits, results, server, settings)
    _print(document, results, as_json=as_json, as_markdown=as_markdown)
    raise typer.Exit(0 if document.accepted == len(document.problems) and not document.remaining else 1)


def _suite(paths: Sequence[Path], name: str | None, level: int | None, path: Path | None, part: str | None) -> Suite:
    """The suite, or the files, that the command line names. Raises `UserError`."""
    from kernelwright.bench.problems import ProblemFolder
    from kernelwright.suites.known import open_suite

    if name is not None:
        if paths:
            raise UserError(f"use either --suite or files: leave out {paths[0]}")
        return open_suite(name, path, level, part)
    for option, given in (("--level", level), ("--path", path), ("--part", part)):
        if given is not None:
            raise UserError(f"{option} belongs to a suite: add --suite kernelbench")
    if not paths:
        raise UserError("name problem files or folders, or a suite: --suite kernelbench --level 1 --path CHECKOUT")
    return ProblemFolder(paths)


def _new_folder(settings: Settings) -> Path:
    return settings.directory / "bench" / datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")


def _drafted(wanted: bool | None, server: str | None, settings: Settings) -> bool | None:
    """Whether the compiler's draft comes first; None leaves that to the server."""
    return settings.compiler_draft if wanted is None and server is None else wanted


def _merged(folders: Sequence[Path], results: Results) -> BenchDocument:
    from kernelwright.bench.outputs import document_of
    from kernelwright.bench.results import Results, merge

    if not folders:
        raise UserError("--merge needs the folders of the results: kernelwright bench --merge DIR DIR --out NEW")
    with results.held():
        kept = merge([Results(folder) for folder in folders], results, datetime.now(UTC))
        document = document_of(results, kept.terms)
        _write_all(results, document)
    return document


def _benched(
    wanted: Sequence[SuiteProblem],
    terms: BenchTerms,
    limits: BenchLimits,
    results: Results,
    server: str | None,
    settings: Settings,
) -> BenchDocument:
    from kernelwright.bench.jobs import open_jobs
    from kernelwright.bench.outputs import document_of
    from kernelwright.bench.runner import Bench
    from services.runtime.clock import SystemClock

    clock = SystemClock()
    with results.held():
        kept = results.begin(terms, clock.now())
        say(f"results: {results.folder}")
        progress = _Progress(results, terms)

        async def run() -> BenchEnd:
            with contextlib.nullcontext() if server is None else open_client(server) as client:
                async with open_jobs(client, settings, terms, clock) as jobs:
                    return await Bench(jobs, results, kept, clock, progress).run(wanted, limits)

        with interruptible(lambda: f"finished problems are kept; the same command with --out {results.folder} goes on"):
            try:
                end = asyncio.run(run())
            finally:
                progress.write()
        document = document_of(results, terms, end.remaining)
        _write_all(results, document)
    if end.remaining:
        say(
            f"{len(end.remaining)} of {len(wanted)} problems remain: {end.device_s:.0f} of {limits.device_seconds:g} "
            f"device seconds are spent; the same command with --out {results.folder} goes on"
        )
    return document


class _Progress:
    """Tells people how it goes, and keeps the tables current."""

    def __init__(self, results: Results, terms: BenchTerms) -> None:
        self._results = results
        self._terms = terms

    def started(self, place: str, item: SuiteProblem, job_id: str) -> None:
        """A line with the job's id, by which it can be looked at."""
        say(f"{place} {item.problem.name}  {job_id}")

    def finished(self, place: str, row: BenchRow) -> None:
        """A line with the figures, or with the reason."""
        if row.job_id is None:
            say(f"{place} {row.problem}")
        if row.accepted:
            eager, strongest = (ratio(row.figures.get(name)) for name in ("eager", "strongest"))
            by = "" if row.author is None else f"  by {row.author.value}"
            errors().print(f"      accepted  {eager} vs eager, {strongest} vs fastest{by}")
        else:
            errors().print(f"      {row.status.value}: {row.message or 'no accepted candidate'}", markup=False)
        self.write()

    def write(self) -> None:
        """Tables of what is known so far."""
        from kernelwright.bench.outputs import document_of, write_tables

        write_tables(self._results.folder, document_of(self._results, self._terms))


def _write_all(results: Results, document: BenchDocument) -> None:
    from kernelwright.bench.outputs import write_extras, write_tables

    write_tables(results.folder, document)
    for line in write_extras(results.folder, document):
        say(line)


def _print(document: BenchDocument, results: Results, *, as_json: bool, as_markdown: bool) -> None:
    from kernelwright.bench import tables
    from kernelwright.bench.outputs import with_whole_paths

    if as_json:
        print_json(with_whole_paths(document, results.folder))
    elif as_markdown:
        sys.stdout.write(tables.as_markdown(document))
    else:
        print_table(tables.HEADINGS, map(tables.cells, document.problems), folding=_FOLDING)
        for line in tables.totals_lines(document):
            answers().print(line, markup=False)
