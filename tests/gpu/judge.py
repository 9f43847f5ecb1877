"""Judge candidates of this folder on this machine's GPU: `python -m tests.gpu.judge honest/softmax.triton.txt`."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from kernelwright.wiring.workbench import devices, make_workbench
from services.domain.evaluations import EvaluationReport, EvaluationRequest
from services.domain.problems import Problem
from services.domain.validations import ValidationRequest
from workers.evaluation.evaluator import Evaluator

HERE = Path(__file__).parent


def problem_of(path: Path) -> Problem:
    """`silu_two_streams.triton.txt` is a candidate for `problems/silu.txt`."""
    name = path.name.partition(".")[0].partition("_")[0]
    source = (HERE / "problems" / f"{name}.txt").read_text(encoding="utf-8")
    return Problem(name=name, source=source, path=f"problems/{name}.txt", allow_library=())


def backend_of(path: Path) -> str:
    return path.name.split(".")[1]


def judge(
    workbench: Evaluator,
    path: Path,
    device: str,
    *,
    timeout_s: float = 60.0,
    profile: bool = False,
    every_gate: bool = True,
    baselines: tuple[str, ...] = ("eager", "compile"),
) -> EvaluationReport:
    problem = problem_of(path)
    request = EvaluationRequest(
        evaluation_id=f"eval-{path.name}",
        job_id=f"job-{problem.name}",
        team_id="local",
        candidate_id=f"cand-{path.name}",
        problem=problem,
        source=path.read_text(encoding="utf-8"),
        device=device,
        backend=backend_of(path),
        baselines=baselines,
        timeout_s=timeout_s,
        profile=profile,
        every_gate=every_gate,
    )
    return workbench.evaluate(request, lambda: False)


def main(names: list[str]) -> None:
    device = devices()[-1]
    started = time.monotonic()
    workbench = make_workbench(Path("/tmp/kernelwright-gpu"), device)
    print(f"workbench {time.monotonic() - started:.1f} s", workbench.device)  # noqa: T201
    validated: set[str] = set()
    for path in [HERE / name for name in names if name != "--profile"]:
        problem = problem_of(path)
        if problem.name not in validated:
            validated.add(problem.name)
            answer = workbench.validate(
                ValidationRequest(
                    job_id=f"job-{problem.name}",
                    team_id="local",
                    problem=problem,
                    device=device,
                    backend=backend_of(path),
                )
            )
            print(f"validate {problem.name} {answer.seconds:.1f} s {answer.refusal or ''}")  # noqa: T201
        started = time.monotonic()
        report = judge(workbench, path, device, profile="--profile" in names)
        print(path.name, line(report), f"{time.monotonic() - started:.2f} s", flush=True)  # noqa: T201
        if "--profile" in names and report.profile is not None:
            metrics = {k: round(v, 2) for k, v in report.profile.metrics.items()}
            print("   ", report.profile.source, report.profile.bottleneck, report.profile.reason, metrics)  # noqa: T201
    workbench.close()


def line(report: EvaluationReport) -> str:
    phases = {name: round(value, 2) for name, value in vars_of(report).items() if value >= 0.005}
    told = next((gate.detail for gate in report.gates if gate.status.value in ("failed", "suspicious")), "")
    if report.verdict.value == "infrastructure_error":
        told = report.gates[-1].detail
    figures = "" if report.latency is None else f"{report.latency.median_us:.1f} us n={report.latency.samples}"
    speed = {} if report.latency is None else {k: round(v, 2) for k, v in
             (("eager", report.speedup.eager or 0), ("best", report.speedup.best_baseline or 0))}  # fmt: skip
    roof = "" if report.roofline is None else f"{report.roofline.fraction:.0%} of the {report.roofline.bound} roof"
    verdict = f"{report.verdict.value} {report.failed_gate or ''}"
    return f"{verdict} {figures} {json.dumps(speed)} {roof} {json.dumps(phases)} {told[:300]}"


def vars_of(report: EvaluationReport) -> dict[str, float]:
    return {name: getattr(report.phases_s, name) for name in report.phases_s.__dataclass_fields__}


if __name__ == "__main__":
    main(sys.argv[1:])
