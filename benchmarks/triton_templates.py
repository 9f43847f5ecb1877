"""The playbook's Triton templates against the compiler, on this machine's GPU.

    python -m benchmarks.triton_templates [--seconds 900] [--json FILE] [--only WORD] [--quick] [--keep FOLDER] [PATH …]

Each problem (by default those of `benchmarks/problems/gpu`) is validated once; then the compiler's draft and every
kernel that the catalogue knows are judged by every gate and timed against the fastest of eager, compile, compile_max.
A line each: verdict, median, speedup with its interval, share of the copy bandwidth and of the arithmetic peak of the
inputs' type, the chosen `TUNABLES`, and of a refused kernel the gate with its reason. `--seconds` ends the run early;
`--json` keeps every figure, written after each line, so that a run that is cut off leaves what it had; `--keep` the
sources; `--quick` takes fewer samples. Without a GPU it says so and ends.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from agents.playbook.triton.catalogue import kernels
from agents.playbook.triton.planner import no_template
from kernelwright.wiring.workbench import devices, make_workbench
from services.domain.evaluations import EvaluationReport, EvaluationRequest
from services.domain.measurements import default_baselines
from services.domain.problems import Problem
from services.domain.texts import interval, microseconds, ratio
from services.domain.validations import ValidationReport, ValidationRequest
from workers.evaluation.evaluator import Evaluator

OWN = Path(__file__).parent / "problems" / "gpu"
DETAIL = 300
"""Characters of a gate's reason."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """What one kernel came to."""

    problem: str
    kernel: str
    """`compiler` for the draft."""
    verdict: str
    why: str
    """The gates that it did not pass, with their reasons."""
    median_us: float | None
    speedup: float | None
    """Against the fastest baseline."""
    ci95: tuple[float, float] | None
    baselines_us: dict[str, float]
    copy_share: float | None
    """Of the copy bandwidth, by the fewest bytes."""
    peak_share: float | None
    """Of the arithmetic peak."""
    tunables: dict[str, int | float | str | bool]
    settings: tuple[tuple[str, float | None], ...]
    """Every setting that was tried, with its median in microseconds."""
    seconds: float

    def __str__(self) -> str:
        if self.median_us is None:
            return f"{self.problem:28} {self.kernel:26} {self.verdict:10} {self.seconds:5.1f} s  {self.why}"
        shares = " ".join(
            f"{share:5.0%}" if share is not None else "    –" for share in (self.copy_share, self.peak_share)
        )
        rivals = " ".join(f"{name} {microseconds(value)}" for name, value in self.baselines_us.items())
        chosen = " ".join(f"{name}={value}" for name, value in self.tunables.items())
        return (
            f"{self.problem:28} {self.kernel:26} {self.verdict:10} {microseconds(self.median_us):>9} "
            f"{ratio(self.speedup):>7} {interval(self.ci95):14} {shares}  {chosen}  "
            f"({rivals}; {self.seconds:.1f} s) {self.why}"
        )


def files_of(given: Sequence[Path]) -> list[Path]:
    """The problems' files. Raises `SystemExit` for a path that is none."""
    found: list[Path] = []
    for path in given or [OWN]:
        if not path.exists():
            raise SystemExit(f"{path} does not exist: name problem files or folders of them")
        found += sorted(path.glob("*.py")) if path.is_dir() else [path]
    return [path for path in found if path.name != "__init__.py"]


def judged(
    workbench: Evaluator, path: Path, device: str, until: float, options: argparse.Namespace
) -> Iterator[Line | str]:
    """A problem's lines, or why there are none."""
    problem = Problem(name=path.stem, source=path.read_text(encoding="utf-8"), path=str(path))
    started = time.monotonic()
    found = workbench.validate(
        ValidationRequest(
            job_id=f"job-{path.stem}",
            team_id="local",
            problem=problem,
            device=device,
            backend="triton",
            baselines=default_baselines(device),
            draft=True,
        )
    )
    yield f"{path.stem:28} validated in {time.monotonic() - started:.1f} s"
    if found.refusal is not None or found.analysis is None:
        yield f"{path.stem:28} refused: {found.refusal.reason if found.refusal else 'no analysis'}"
        return
    reason = no_template(found.analysis)
    if reason is not None:
        yield f"{path.stem:28} {reason}"
    for name, source in candidates(found):
        if options.kernel and options.kernel not in name:
            continue
        if time.monotonic() > until:
            yield f"{path.stem:28} {name}: the time is used up"
            break
        if options.keep is not None:
            (options.keep / f"{path.stem}.{name}.txt").write_text(source, encoding="utf-8")
        yield one(workbench, problem, name, source, device, found, quick=options.quick)
    workbench.close_job(f"job-{path.stem}")


def candidates(found: ValidationReport) -> Iterator[tuple[str, str]]:
    if found.draft is not None and found.draft.source is not None:
        yield "compiler", found.draft.source
    if found.analysis is not None:
        for kernel in kernels(found.analysis):
            yield kernel.name, kernel.variant.source


def one(
    workbench: Evaluator,
    problem: Problem,
    name: str,
    source: str,
    device: str,
    found: ValidationReport,
    *,
    quick: bool,
) -> Line:
    started = time.monotonic()
    report = workbench.evaluate(
        EvaluationRequest(
            evaluation_id=f"eval-{problem.name}-{name}",
            job_id=f"job-{problem.name}",
            team_id="local",
            candidate_id=f"cand-{problem.name}-{name}",
            problem=problem,
            source=source,
            device=device,
            backend="triton",
            baselines=default_baselines(device),
            profile=False,
            thorough=not quick,
        ),
        lambda: False,
    )
    return line(problem.name, name, report, found, time.monotonic() - started)


def line(problem: str, name: str, report: EvaluationReport, found: ValidationReport, seconds: float) -> Line:
    baselines = report.baselines
    named = {"eager": baselines.eager, "compile": baselines.compile, "max": baselines.compile_max}
    why = "; ".join(
        f"{g.name.value}: {g.detail[:DETAIL]}" for g in report.gates if g.status.value in ("failed", "suspicious")
    )
    if report.verdict.value == "infrastructure_error" and report.gates:
        why = report.gates[-1].detail[:DETAIL]
    return Line(
        problem=problem,
        kernel=name,
        verdict=report.verdict.value,
        why=why,
        median_us=report.latency.median_us if report.latency is not None else None,
        speedup=report.speedup.best_baseline,
        ci95=report.speedup.ci95,
        baselines_us={key: value.median_us for key, value in named.items() if value is not None},
        copy_share=_share(report, found.device.copy_bandwidth_gb_s if found.device else None, "bytes"),
        peak_share=_share(report, _peak_gflop_s(found), "flops"),
        tunables=dict(report.tuned.parameters) if report.tuned is not None else {},
        settings=tuple(
            (" ".join(f"{key}={value}" for key, value in item.parameters.items()), item.median_us)
            for item in (report.tuned.settings if report.tuned is not None else ())
        ),
        seconds=seconds,
    )


def _peak_gflop_s(found: ValidationReport) -> float | None:
    """Of the matrix units where every floating-point input has 16 bits, else of float32 arithmetic."""
    if found.device is None or found.analysis is None:
        return None
    dtypes = {spec.dtype for spec in found.analysis.inputs if "float" in spec.dtype}
    half = bool(dtypes) and dtypes <= {"float16", "bfloat16"}
    return found.device.peak_half_gflop_s if half else found.device.peak_gflop_s


def _share(report: EvaluationReport, rate_g_s: float | None, what: str) -> float | None:
    """Bytes or FLOPs a second over what the device can, which is given in thousands of millions."""
    if report.roofline is None or report.latency is None or not rate_g_s:
        return None
    amount = report.roofline.bytes if what == "bytes" else report.roofline.flops
    return float(amount / (report.latency.median_us * 1e3) / rate_g_s)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--seconds", type=float, default=900.0, help="no evaluation begins later than this")
    parser.add_argument("--json", type=Path, help="where every line's figures go")
    parser.add_argument("--only", default="", help="problems whose name holds this word; several divided by commas")
    parser.add_argument("--kernel", default="", help="kernels whose name holds this word")
    parser.add_argument("--keep", type=Path, help="a folder for the sources")
    parser.add_argument("--quick", action="store_true", help="fewer samples")
    options = parser.parse_args(arguments)
    device = devices()[-1]
    if device == "cpu":
        raise SystemExit("this machine has no NVIDIA GPU: nothing can be timed")
    words = [word for word in options.only.split(",") if word]
    paths = [path for path in files_of(options.files) if not words or any(word in path.stem for word in words)]
    until, lines = time.monotonic() + options.seconds, []
    with tempfile.TemporaryDirectory() as home:
        workbench = make_workbench(Path(home), device)
        print(f"{device}: {workbench.device}", flush=True)
        try:
            for path in paths:
                if time.monotonic() > until:
                    print(f"{path.stem:28} not begun: the time is used up", flush=True)
                    continue
                for found in judged(workbench, path, device, until, options):
                    print(found, flush=True)
                    if isinstance(found, Line):
                        lines.append(asdict(found))
                        if options.json is not None:
                            options.json.write_text(json.dumps(lines, indent=1), encoding="utf-8")
        finally:
            workbench.close()


if __name__ == "__main__":
    main()
