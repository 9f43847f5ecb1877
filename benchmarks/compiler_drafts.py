"""The compiler's own code as a candidate: is it right, and what of the compiler's speed is left in it?

    python -m benchmarks.compiler_drafts [--keep FOLDER] [PROBLEM.py …]

On the CPU (C++): the ten examples and a mish chain. On a machine with an NVIDIA GPU (Triton): eight operators. Each is
validated, drafted and judged by every gate; the table says the verdict, what the draft takes and its speedup over the
fastest baseline (below 1 is what calling it through a module of its own costs). `--keep` writes the drafts down.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from kernelwright.wiring.workbench import devices, make_workbench
from services.domain.evaluations import EvaluationReport, EvaluationRequest
from services.domain.measurements import default_baselines
from services.domain.problems import Problem
from services.domain.texts import interval, microseconds, ratio
from services.domain.validations import ValidationRequest
from workers.evaluation.evaluator import Evaluator

ROOT = Path(__file__).parents[1]
OWN = ROOT / "benchmarks" / "problems" / "drafts"


def problems(device: str) -> list[Path]:
    if device == "cpu":
        return [*sorted((ROOT / "examples" / "problems").glob("*.py")), OWN / "mish.py"]
    return sorted(OWN.glob("gpu_*.py"))


def judged(workbench: Evaluator, path: Path, device: str, keep: Path | None) -> tuple[str, str]:
    """A problem's row, and what has to be said of it."""
    problem = Problem(name=path.stem, source=path.read_text(encoding="utf-8"), path=str(path))
    backend, baselines = "cpp" if device == "cpu" else "triton", default_baselines(device)
    started = time.monotonic()
    found = workbench.validate(
        ValidationRequest(
            job_id=f"job-{path.stem}",
            team_id="local",
            problem=problem,
            device=device,
            backend=backend,
            baselines=baselines,
            draft=True,
        )
    )
    validated_s = time.monotonic() - started
    if found.refusal is not None or found.draft is None or found.draft.source is None:
        why = found.refusal.reason if found.refusal else found.draft.reason if found.draft else "none was asked for"
        return f"{path.stem:20} no draft", str(why)
    if keep is not None:
        (keep / f"{path.stem}.{backend}.txt").write_text(found.draft.source, encoding="utf-8")
    started = time.monotonic()
    report = workbench.evaluate(
        EvaluationRequest(
            evaluation_id=f"eval-{path.stem}",
            job_id=f"job-{path.stem}",
            team_id="local",
            candidate_id=f"cand-{path.stem}",
            problem=problem,
            source=found.draft.source,
            device=device,
            backend=backend,
            baselines=baselines,
            profile=False,
            thorough=True,
        ),
        lambda: False,
    )
    workbench.close_job(f"job-{path.stem}")
    return f"{path.stem:20} {_figures(report)}  {validated_s:5.1f} {time.monotonic() - started:5.1f}", _why(report)


def _figures(report: EvaluationReport) -> str:
    baselines = report.baselines
    named = (baselines.eager, baselines.compile, baselines.compile_max)
    cells = [microseconds(one.median_us) if one is not None else "–" for one in (report.latency, *named)]
    mode = baselines.compile_max.mode if baselines.compile_max is not None else None
    return (
        f"{report.verdict.value:11} {' '.join(f'{cell:>9}' for cell in cells)} {mode or '':6.6} "
        f"{ratio(report.speedup.best_baseline):>6} {interval(report.speedup.ci95):14}"
    )


def _why(report: EvaluationReport) -> str:
    return "; ".join(
        f"{gate.name.value}: {gate.detail[:1200]}" for gate in report.gates if gate.status.value != "passed"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args(arguments)
    device = devices()[-1]
    rows = []
    with tempfile.TemporaryDirectory() as home:
        workbench = make_workbench(Path(home), device)
        try:
            for path in given.files or problems(device):
                rows.append(judged(workbench, path, device, given.keep))
                print(*rows[-1], sep="\n    ", flush=True)
        finally:
            workbench.close()
    print(f"\n{device}: {workbench.device.model}")
    print(f"{'problem':20} {'verdict':11} {'draft':>9} {'eager':>9} {'compile':>9} {'max':>9} {'':6} {'fastest':>6}")
    print("\n".join(row for row, _ in rows))


if __name__ == "__main__":
    main()
