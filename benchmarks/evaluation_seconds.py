"""Seconds of one evaluation by a referee that is up, phase by phase, compile included and every gate on.

    python -m benchmarks.evaluation_seconds PROBLEM=KERNEL.py …
    python -m benchmarks.evaluation_seconds --bench RESULT.json [--repeats 3]
    python -m benchmarks.evaluation_seconds --honest adds_by_atomics,layer_norm_in_one_pass [--repeats 4]

`--honest` takes names of honest kernels of tests/adversary. `--bench` takes what `kernelwright bench
examples/problems --json` printed: the kernels it names are judged on the example problems of their names. Every
repetition gives the source a new comment, so that it is compiled. The worker has validated the problem (baselines
known), as in a job. Prints the medians of each phase, the load average before and after (figures of a busy machine
say nothing), and whether the goals hold: at most 3 s in total for problems whose eager call is under 20 ms, at most 2
s under 10 ms.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.problem_files import read_problem, read_source
from kernelwright.wiring.workbench import make_workbench
from services.domain.evaluations import EvaluationReport, EvaluationRequest
from services.domain.problems import Problem
from services.domain.validations import ValidationRequest
from tests.adversary.designs import designs
from workers.evaluation.evaluator import Evaluator

EXAMPLES = Path(__file__).parents[1] / "examples" / "problems"
PHASES = ("warm", "compile", "load", "correctness", "integrity", "timing", "profile", "total")
GOALS = ((10e3, 2.0), (20e3, 3.0))
"""Eager microseconds below which an evaluation may take so many seconds."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A problem with a kernel for it."""

    problem: Problem
    source: str


def cases(arguments: argparse.Namespace) -> Iterator[Case]:
    """What the command line names."""
    for pair in arguments.pairs:
        problem, _, kernel = pair.partition("=")
        yield Case(problem=read_problem(Path(problem)), source=read_source(Path(kernel), "kernel"))
    names = arguments.honest.split(",") if arguments.honest else []
    for design in (one for one in designs("honest") if one.name in names):
        yield Case(problem=read_problem(design.problem), source=design.source)
    if arguments.bench is None:
        return
    for row in json.loads(arguments.bench.read_text())["problems"]:
        if row["kernel_path"] is not None:
            problem = read_problem(EXAMPLES / f"{row['problem']}.py")
            yield Case(problem=problem, source=read_source(Path(row["kernel_path"]), "kernel"))


def measured(workbench: Evaluator, case: Case, repeats: int) -> list[EvaluationReport]:
    """Reports of the same kernel, compiled anew each time."""
    workbench.validate(
        ValidationRequest(job_id="bench", team_id="local", problem=case.problem, device="cpu", backend="cpp")
    )
    reports = []
    for number in range(repeats):
        source = case.source.replace("#include", f"// repetition {number} of {os.getpid()}\n#include", 1)
        request = EvaluationRequest(
            evaluation_id=f"eval-{number}",
            job_id="bench",
            team_id="local",
            candidate_id=f"cand-{number}",
            problem=case.problem,
            source=source,
            device="cpu",
            backend="cpp",
        )
        reports.append(workbench.evaluate(request, lambda: False))
    workbench.close_job("bench")
    return reports


def row(case: Case, reports: Sequence[EvaluationReport]) -> tuple[str, bool]:
    """A line of the table, and whether the goal for a problem of this size holds."""
    eager = reports[0].baselines.eager
    eager_us = eager.median_us if eager is not None else float("nan")
    medians = {name: statistics.median(getattr(one.phases_s, name) for one in reports) for name in PHASES}
    slowest = max(one.phases_s.total for one in reports)
    goal = next((seconds for limit, seconds in GOALS if eager_us < limit), None)
    met = goal is None or medians["total"] <= goal
    verdicts = ",".join(sorted({one.verdict.value for one in reports}))
    figures = " ".join(f"{medians[name]:10.2f}" for name in PHASES)
    wanted = "none" if goal is None else f"{goal:.0f} s {'met' if met else 'MISSED'}"
    line = f"{case.problem.name:22} {eager_us / 1e3:8.2f} {figures} {slowest:8.2f}  {wanted:12} {verdicts}"
    return line, met


def main() -> int:
    """Measure and print; 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="*", metavar="PROBLEM=KERNEL.py")
    parser.add_argument("--bench", type=Path, help="what `kernelwright bench --json` printed")
    parser.add_argument("--honest", default="", metavar="NAME,…", help="honest kernels of tests/adversary")
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    chosen = list(cases(arguments))
    if not chosen:
        parser.error("name PROBLEM=KERNEL.py pairs, --honest NAME, or --bench RESULT.json")
    print(f"load before: {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores")
    print(f"{'problem':22} {'eager ms':>8} {' '.join(f'{name:>10}' for name in PHASES)} {'slowest':>8}  goal")
    all_met = True
    with tempfile.TemporaryDirectory() as directory:
        workbench = make_workbench(Path(directory))
        try:
            for case in chosen:
                line, met = row(case, measured(workbench, case, arguments.repeats))
                all_met = all_met and met
                print(line, flush=True)
        finally:
            workbench.close()
    print(f"load after: {os.getloadavg()[0]:.2f}")
    return 0 if all_met else 1


if __name__ == "__main__":
    sys.exit(main())
