"""Which problems of published suites the referee validates, and why not the others.

    python -m benchmarks.suites --validate [--eager] [--processes N] [--shard I/N] [--every K] [--only TEXT]
        [--again OUTCOMES] [--limit SECONDS] --out FILE NAME=CHECKOUT@REVISION …
    python -m benchmarks.suites --validate --page FILE …

The first validates each problem as a job's intake does: by `lint_problem` and `Evaluator.validate`, on this machine's
CPU, with the baselines eager and compile (`--eager`: eager alone). Problems that are too large are first scaled down,
see `benchmarks.suite_scaling`. Each answer is a line of FILE; problems that FILE has already are left out, unless their
outcome is one of `--again` (separated by commas). The second writes the section of `docs/results/suites.md`; of several
lines for a problem the last counts.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.suite_scaling import Scaled, scaled
from benchmarks.suites import Tracer, problems_of, short
from kernelwright.wiring.workbench import make_sandbox, make_workbench
from services.domain.errors import InfrastructureError, ProblemError
from services.domain.jobs import LOCAL_TEAM
from services.domain.validations import ValidationRequest
from services.problems.lint import lint_problem

if TYPE_CHECKING:
    from kernelwright.suites.suite import SuiteProblem
    from workers.evaluation.evaluator import Evaluator

PAGE = Path(__file__).resolve().parent.parent / "docs" / "results" / "suites.md"
TITLE = "# What the referee validates"
OUTCOMES = ("validated", "refused", "unread", "needs a package", "needs a GPU", "time limit", "infrastructure_error")
_HEAD = """
Written by `python -m benchmarks.suites --validate`. Each problem was validated as a job's intake does it, on a CPU.
Where it would take a CPU too long, its sizes were halved until it does not, and all but the first three input sets left
out; the table says of how many. *Refused* has the referee's own reason; *unread* is refused before it runs.
""".strip()


@dataclass(frozen=True, kw_only=True)
class SuiteValidation:
    """What became of one problem."""

    suite: str
    revision: str
    key: str
    outcome: str
    """One of `OUTCOMES`."""
    reason: str = ""
    remedy: str = ""
    line: int | None = None
    scaled: str = ""
    """What was made smaller."""
    untraced: str = ""
    """Why a validated problem has no operator graph."""
    seconds: float = 0.0
    """Of the validation alone."""
    trace: str = ""
    """Of an `infrastructure_error`: where it was raised."""


class Validator:
    """Validates problems one after the other, on this machine."""

    def __init__(self, *, eager: bool, limit_s: float) -> None:
        self._baselines = ("eager",) if eager else ("eager", "compile")
        self._limit_s = limit_s
        self._folder = tempfile.TemporaryDirectory(prefix="suites-")
        self._sandbox = make_sandbox()
        self._tracer = Tracer(self._sandbox)
        self._bench: Evaluator = make_workbench(Path(self._folder.name))

    def answer(self, suite: str, revision: str, item: SuiteProblem) -> SuiteValidation:
        """Scale it down where needed, and have it validated."""
        empty = SuiteValidation(suite=suite, revision=revision, key=item.key, outcome="unread")
        try:
            if item.refusal is not None:
                raise item.refusal
            lint_problem(item.problem)
        except ProblemError as error:
            return replace(empty, reason=error.reason, remedy=error.remedy)
        smaller = scaled(item.problem.source, lambda text: self._tracer.cost(text, sets=True))
        started = time.monotonic()
        found = replace(self._validated(item, smaller), suite=suite, revision=revision, scaled=smaller.changes)
        return replace(found, seconds=round(time.monotonic() - started, 1))

    def _validated(self, item: SuiteProblem, smaller: Scaled) -> SuiteValidation:
        empty = SuiteValidation(suite="", revision="", key=item.key, outcome="infrastructure_error")
        request = ValidationRequest(
            job_id=f"suite-{item.number}-{time.monotonic_ns()}",
            team_id=LOCAL_TEAM,
            problem=replace(item.problem, source=smaller.source),
            device="cpu",
            backend="cpp",
            baselines=self._baselines,
        )
        end = time.monotonic() + self._limit_s
        try:
            lint_problem(request.problem)
            report = self._bench.validate(request, lambda: time.monotonic() > end)
        except ProblemError as error:
            return replace(empty, outcome="unread", reason=error.reason, remedy=error.remedy)
        except InfrastructureError as error:
            if time.monotonic() > end:
                return replace(empty, outcome="time limit", reason=f"no answer within {self._limit_s:.0f} s")
            return replace(empty, reason=str(error), trace=traceback.format_exc()[-3000:])
        except Exception as error:  # noqa: BLE001 - to be looked at; the others go on
            return replace(empty, reason=f"{type(error).__name__}: {error}", trace=traceback.format_exc()[-3000:])
        finally:
            self._bench.close_job(request.job_id)
        if report.refusal is None:
            assert report.analysis is not None
            return replace(empty, outcome="validated", untraced=report.analysis.trace_error or "")
        refusal = report.refusal
        outcome = _kind_of(refusal.reason)
        return replace(empty, outcome=outcome, reason=refusal.reason, remedy=refusal.remedy, line=refusal.line)

    def close(self) -> None:
        """End its processes."""
        self._tracer.close()
        self._bench.close()
        self._sandbox.close()
        self._folder.cleanup()


def _kind_of(reason: str) -> str:
    if "ModuleNotFoundError" in reason:
        return "needs a package"
    return "needs a GPU" if any(text in reason for text in ("NVIDIA", "CUDA", "0 active drivers")) else "refused"


def known(files: Sequence[Path]) -> list[SuiteValidation]:
    """What files hold, each problem's last answer."""
    lines = [line for file in files if file.exists() for line in file.read_text(encoding="utf-8").splitlines()]
    found = [SuiteValidation(**json.loads(line)) for line in lines if line.strip()]
    return list({(one.suite, one.revision, one.key): one for one in found}.values())


def section(found: Sequence[SuiteValidation]) -> str:
    """The tables: numbers by suite, then every reason with an example."""
    lines = [
        TITLE,
        "",
        *_HEAD.splitlines(),
        "",
        f"| suite | revision | problems | {' | '.join(OUTCOMES)} | scaled down |",
    ]
    lines.append("|---" * (4 + len(OUTCOMES)) + "|")
    suites: dict[tuple[str, str], list[SuiteValidation]] = {}
    for one in found:
        suites.setdefault((one.suite, one.revision), []).append(one)
    for (suite, revision), rows in suites.items():
        counts = collections.Counter(one.outcome for one in rows)
        cells = [len(rows), *(counts[name] for name in OUTCOMES), sum(bool(one.scaled) for one in rows)]
        lines.append(f"| {suite} | {revision} | {' | '.join(map(str, cells))} |")
    for (suite, _), rows in suites.items():
        lines += _reasons(suite, rows)
    return "\n".join(lines) + "\n"


def _reasons(suite: str, rows: Sequence[SuiteValidation]) -> Iterator[str]:
    keys: dict[tuple[str, str], list[str]] = {}
    for one in rows:
        if one.outcome != "validated":
            keys.setdefault((one.outcome, short(one.reason)), []).append(one.key)
        elif one.untraced:
            keys.setdefault(("validated without a graph", short(one.untraced)), []).append(one.key)
    if not keys:
        return
    yield from ("", f"## {suite}: reasons", "", "| outcome | problems | reason | for example |", "|---|---|---|---|")
    for (outcome, reason), names in sorted(keys.items(), key=lambda entry: (entry[0][0], -len(entry[1]))):
        yield f"| {outcome} | {len(names)} | {reason} | `{names[0]}` |"


def write_page(files: Sequence[Path]) -> None:
    """Put the section at the page's end, in the place of the one before."""
    text = PAGE.read_text(encoding="utf-8").partition(TITLE)[0].rstrip()
    PAGE.write_text(f"{text}\n\n{section(known(files))}", encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    """Validate, or write the page."""
    given = _parser().parse_args(arguments)
    if given.page:
        write_page([Path(name) for name in given.suites])
        return 0
    if given.processes > 1:
        return _spread(given.processes, given.shard, arguments)
    chosen = list(_chosen(given))
    if not chosen:
        return 0
    validator = Validator(eager=given.eager, limit_s=given.limit)
    try:
        for suite, revision, item in chosen:
            found = validator.answer(suite, revision, item)
            with given.out.open("a", encoding="utf-8") as file:  # short appended lines of several processes do not mix
                file.write(json.dumps(asdict(found)) + "\n")
            sys.stderr.write(f"{suite} {found.key}: {found.outcome} {found.reason[:150]} ({found.seconds:.0f} s)\n")
    finally:
        validator.close()
    return 0


def _chosen(given: argparse.Namespace) -> Iterator[tuple[str, str, SuiteProblem]]:
    index, count = (int(part) for part in given.shard.split("/"))
    again = given.again.split(",")
    done = {(one.suite, one.revision, one.key) for one in known([given.out]) if one.outcome not in again}
    number = 0
    for argument in given.suites:
        suite, _, place = argument.partition("=")
        checkout, _, revision = place.rpartition("@")
        for place_in_suite, item in enumerate(problems_of(suite, Path(checkout))):
            if place_in_suite % given.every or given.only not in f"{suite} {item.key}":
                continue
            number += 1
            if number % count == index and (suite, revision, item.key) not in done:
                yield suite, revision, item


def _spread(processes: int, shard: str, arguments: Sequence[str]) -> int:
    """One process for each part, on cores of its own."""
    index, count = (int(part) for part in shard.split("/"))
    cores = sorted(os.sched_getaffinity(0))
    each = max(1, len(cores) // processes)
    running = []
    for number in range(processes):
        own = {cores[(number * each + core) % len(cores)] for core in range(each)}
        part = ["--processes", "1", "--shard", f"{index + count * number}/{count * processes}"]
        command = [sys.executable, "-m", "benchmarks.suites", "--validate", *arguments, *part]
        process = subprocess.Popen(command)
        os.sched_setaffinity(process.pid, own)
        running.append(process)
    return max([process.wait() for process in running])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.suites --validate")
    parser.add_argument("suites", nargs="+", help="NAME=CHECKOUT@REVISION, or files of answers with --page")
    parser.add_argument("--eager", action="store_true")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--shard", default="0/1", help="I/N: each N-th problem from the I-th")
    parser.add_argument("--every", type=int, default=1, help="each K-th problem of a suite")
    parser.add_argument("--only", default="", help="problems whose suite and name have this text")
    parser.add_argument("--again", default="", help="outcomes whose problems are validated again")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one problem")
    parser.add_argument("--out", type=Path, default=Path("suites.jsonl"))
    parser.add_argument("--page", action="store_true")
    return parser
