"""How far the evaluator's figures for one and the same kernel lie apart.

    python -m benchmarks.timing_spread [PROBLEM.py …] [--jobs 2] [--evaluations 4] [--thorough]

One playbook kernel per problem is evaluated again and again: within a job (a new process for the candidate each time)
and in several jobs (the baseline's process, compilation and choice anew too), with `--thorough` as
long as for figures that a job reports. Prints every speedup, then the largest over the smallest within jobs and between
the jobs' medians.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from agents.playbook.module import write
from agents.playbook.schedule import Schedule
from kernelwright.problem_files import read_problem
from kernelwright.wiring.workbench import make_workbench
from services.domain.evaluations import EvaluationReport, EvaluationRequest
from services.domain.jobs import LOCAL_TEAM
from services.domain.problems import Problem
from services.domain.validations import ValidationRequest
from services.ports.work import Workbench

EXAMPLES = Path(__file__).parents[1] / "examples" / "problems"
SCHEDULE = Schedule(fuse=True, threads=0, lanes=64, wide=True, keep=True)


def job(bench: Workbench, problem: Problem, name: str, count: int, *, thorough: bool) -> list[EvaluationReport]:
    """One job's reports on the same kernel."""
    validation = bench.validate(
        ValidationRequest(
            job_id=name,
            team_id=LOCAL_TEAM,
            problem=problem,
            device="cpu",
            backend="cpp",
            baselines=("eager", "compile"),
        )
    )
    if validation.analysis is None:
        raise SystemExit(f"{problem.name}: {validation.refusal}")
    source = write(validation.analysis, SCHEDULE, problem.name, ())
    reports = [
        bench.evaluate(
            EvaluationRequest(
                evaluation_id=f"{name}-{number}",
                job_id=name,
                team_id=LOCAL_TEAM,
                candidate_id=f"{name}-{number}",
                problem=problem,
                source=source,
                device="cpu",
                backend="cpp",
                baselines=("eager", "compile"),
                thorough=thorough,
            ),
            lambda: False,
        )
        for number in range(count)
    ]
    bench.close_job(name)
    return reports


def spread(values: list[float]) -> float:
    """The largest over the smallest, less one."""
    return max(values) / min(values) - 1


def tell(problem: Problem, jobs: list[list[EvaluationReport]]) -> None:
    """One problem's figures."""
    for figure in ("best_baseline", "eager"):
        values = [[getattr(report.speedup, figure) or 0.0 for report in reports] for reports in jobs]
        within = max(spread(found) for found in values)
        between = spread([statistics.median(found) for found in values])
        shown = " | ".join(" ".join(f"{value:.2f}" for value in found) for found in values)
        print(f"{problem.name:20} {figure:13} within {within:6.1%}  between {between:6.1%}   {shown}", flush=True)
    micros = [[report.latency.median_us for report in reports if report.latency] for reports in jobs]
    print(f"{'':20} {'latency in us':13} " + " | ".join(" ".join(f"{value:.0f}" for value in row) for row in micros))
    seconds = statistics.median(report.phases_s.total for reports in jobs for report in reports)
    print(f"{'':20} seconds an evaluation takes: {seconds:.2f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--evaluations", type=int, default=4)
    parser.add_argument("--thorough", action="store_true")
    given = parser.parse_args()
    paths = given.problems or sorted(EXAMPLES.glob("*.py"))
    with tempfile.TemporaryDirectory() as folder:
        bench = make_workbench(Path(folder))
        try:
            for path in paths:
                problem = read_problem(path)
                names = [f"job-{number}" for number in range(given.jobs)]
                tell(problem, [job(bench, problem, n, given.evaluations, thorough=given.thorough) for n in names])
        finally:
            bench.close()


if __name__ == "__main__":
    main()
