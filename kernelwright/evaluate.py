"""Judge one candidate on this machine: `python -m kernelwright.evaluate PROBLEM CANDIDATE --json`.

Needs the standard library and torch only, so that a bare GPU node can run it; `kernelwright evaluate` is the same
behind the command line's looks.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kernelwright.problem_files import read_problem, read_source
from kernelwright.wiring.workbench import check_device, make_sandbox, make_workbench
from services.domain import codec
from services.domain.candidate_text import candidate_source
from services.domain.candidates import content_hash
from services.domain.errors import ConfigurationError, KernelwrightError
from services.domain.evaluations import EvaluationReport, EvaluationRequest
from services.domain.jobs import LOCAL_TEAM
from services.domain.measurements import BASELINES
from services.domain.objectives import described
from services.domain.problems import Problem
from services.domain.validations import ValidationRequest
from services.jobs.machine_code import without_text
from services.problems.lint import lint_problem

if TYPE_CHECKING:
    from kernelwright.wiring.workbench import LocalSandbox


class ProblemRefusedError(ConfigurationError):
    """The problem's reference cannot be used; found by running it."""


def evaluate(
    problem: Problem,
    source: str,
    *,
    backend: str = "cpp",
    device: str = "cpu",
    baselines: Sequence[str] = ("eager", "compile"),
    directory: Path,
    make: Callable[[str], LocalSandbox] | None = None,
) -> EvaluationReport:
    """Judge a candidate's source. Raises `ProblemError`, `ConfigurationError`, `InfrastructureError`."""
    lint_problem(problem)
    _check_names(backend, device, baselines)
    source = candidate_source(source)
    workbench = make_workbench(directory, device, make=make or make_sandbox)
    job_id = f"local-{content_hash(problem.source)[:12]}"
    try:
        validation = workbench.validate(
            ValidationRequest(
                job_id=job_id,
                team_id=LOCAL_TEAM,
                problem=problem,
                device=device,
                backend=backend,
                baselines=tuple(baselines),
            )
        )
        if validation.refusal is not None:
            refusal = validation.refusal
            place = problem.path if refusal.line is None else f"{problem.path}:{refusal.line}"
            raise ProblemRefusedError(f"{place}: {refusal.reason}. {refusal.remedy}")
        request = EvaluationRequest(
            evaluation_id=f"eval-{content_hash(source)[:20]}",
            job_id=job_id,
            team_id=LOCAL_TEAM,
            candidate_id=f"cand-{content_hash(source)[:20]}",
            problem=problem,
            source=source,
            device=device,
            backend=backend,
            baselines=tuple(baselines),
            times_held_out=True,
        )
        return without_text(workbench.evaluate(request, lambda: False))
    finally:
        workbench.close()


def state_directory() -> Path:
    """The directory of all state, as the settings name it, without reading them."""
    return Path(os.environ.get("KERNELWRIGHT_HOME") or ".kernelwright").absolute()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; its exit code: 0 accepted, 1 not, 2 wrong use or broken environment, 130 interrupted."""
    given = _parser().parse_args(arguments)
    try:
        report = evaluate(
            read_problem(given.problem, tuple(filter(None, given.allow_library.split(","))), given.objective),
            read_source(given.candidate, "candidate"),
            backend=given.backend,
            device=given.device,
            baselines=tuple(filter(None, given.baselines.split(","))),
            directory=state_directory(),
        )
    except KernelwrightError as error:
        sys.stderr.write(f"kernelwright: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    sys.stdout.write((json.dumps(codec.to_data(report), indent=2) if given.json else summary(report)) + "\n")
    return exit_code(report)


def exit_code(report: EvaluationReport) -> int:
    """0 for accepted, 2 when the machine failed, else 1."""
    return {"accepted": 0, "infrastructure_error": 2}.get(report.verdict.value, 1)


def summary(report: EvaluationReport) -> str:
    """The report in a few lines of plain text."""
    lines = [f"{gate.name.value:15} {gate.status.value:10} {gate.detail}".rstrip() for gate in report.gates]
    lines.append(f"verdict         {report.verdict.value}")
    if report.latency is not None:
        lines.append(f"latency         {report.latency.median_us:.1f} us")
    if of := described(report.objective):
        lines.append(f"figures         {of}")
    for name in (*BASELINES, "best_baseline"):
        ratio = getattr(report.speedup, name)
        if ratio is not None:
            lines.append(f"{name:15} {ratio:.2f}x")
    return "\n".join(lines)


def _check_names(backend: str, device: str, baselines: Sequence[str]) -> None:
    check_device(device, backend)
    for name in baselines:
        if name not in BASELINES:
            raise ConfigurationError(f"unknown baseline {name!r}; known: {', '.join(BASELINES)}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m kernelwright.evaluate", description="Judge one candidate.")
    parser.add_argument("problem", type=Path)
    parser.add_argument("candidate", type=Path)
    parser.add_argument("--backend", default="cpp")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--baselines", default="eager,compile")
    parser.add_argument("--allow-library", default="")
    parser.add_argument("--objective", default="")
    parser.add_argument("--json", action="store_true")
    return parser


if __name__ == "__main__":
    sys.exit(main())
