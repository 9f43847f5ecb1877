"""Seconds for judging one candidate: Kernelwright beside KernelBench's `eval_kernel_against_ref`, on one GPU.

    python -m benchmarks.evaluator_vs_kernelbench KERNELBENCH_CHECKOUT [CASE…] [--theirs CASE,CASE…]

CASE is a file in `benchmarks/candidates` without its ending (`19.triton`: problem 19 of level 1); all of them by
default. KernelBench runs as it recommends, in a fresh process for each candidate, with 5 correctness and 100 timing
trials (`--theirs` names the cases it runs: it takes up to a minute each); it needs numpy, requests, pydantic,
python-dotenv and tqdm. Kernelwright's worker is up and has validated the problem (that is printed too), as in a job.

Each candidate is judged by Kernelwright three times: with every gate while its build is cold, with every gate again,
and by a quick look, which makes the checks that KernelBench makes (5 draws, 100 timed calls) and no others. The floor
is what the GPU must do for KernelBench's trials: 5 calls of reference and candidate and 100 of the candidate.
KernelBench turns whole-number inputs into floats, so its own reference fails on problem 95; such a case has no ratio in
the mean.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernelwright.wiring.workbench import devices, make_workbench
from services.domain.evaluations import EvaluationReport, EvaluationRequest
from services.domain.problems import Problem
from services.domain.validations import ValidationRequest
from workers.evaluation.evaluator import Evaluator

CANDIDATES = Path(__file__).parent / "candidates"
CORRECTNESS_TRIALS, TIMING_TRIALS = 5, 100
THEIRS = """
import json, sys, types
for name, attribute in (("openai", "OpenAI"), ("litellm", "completion")):  # for asking models, which nobody does here
    module = types.ModuleType(name)
    setattr(module, attribute, None)
    sys.modules[name] = module
sys.path.insert(0, sys.argv[1] + "/src")
from kernelbench.eval import eval_kernel_against_ref
result = eval_kernel_against_ref(
    open(sys.argv[2]).read(), open(sys.argv[3]).read(), num_correct_trials=5, num_perf_trials=100,
    measure_performance=True, backend=sys.argv[4], check_for_excessive_speedup=False,
)
correct = result is not None and result.correctness
print("\\n" + json.dumps({"correct": correct, "ms": getattr(result, "runtime", None),
                         "said": str(getattr(result, "metadata", ""))[:300]}))
"""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One candidate for one problem."""

    name: str
    problem: Problem
    file: Path
    candidate: Path

    @property
    def backend(self) -> str:
        return self.name.split(".")[1]


@dataclass(frozen=True, kw_only=True)
class Judged:
    """One tool's word on a candidate."""

    verdict: str
    median_ms: float | None
    seconds: float
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Ours:
    """Kernelwright's three evaluations of a case."""

    cold: Judged
    full: Judged
    quick: Judged
    floor_s: float


def find_case(checkout: Path, name: str) -> Case:
    number = name.partition(".")[0]
    file = next((checkout / "KernelBench" / "level1").glob(f"{number}_*.py"))
    problem = Problem(name=file.stem, source=file.read_text(encoding="utf-8"), path=str(file))
    return Case(name=name, problem=problem, file=file, candidate=CANDIDATES / f"{name}.txt")


def kernelbench(checkout: Path, case: Case) -> Judged:
    started = time.monotonic()
    command = [sys.executable, "-c", THEIRS, str(checkout), str(case.file), str(case.candidate), case.backend]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    seconds = time.monotonic() - started
    try:
        found = json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return Judged(verdict="failed", median_ms=None, seconds=seconds, note=done.stderr[-400:])
    verdict = "correct" if found["correct"] else "wrong"
    note = "" if found["correct"] else found["said"]
    return Judged(verdict=verdict, median_ms=found["ms"], seconds=seconds, note=note)


def kernelwright(workbench: Evaluator, case: Case, device: str) -> Ours:
    cold, _ = _evaluated(workbench, case, device, "cold")
    full, report = _evaluated(workbench, case, device, "full")
    quick, _ = _evaluated(workbench, case, device, "quick")
    eager = report.baselines.eager
    candidate_s = (full.median_ms or 0.0) / 1e3
    reference_s = eager.median_us / 1e6 if eager is not None else 0.0
    floor = CORRECTNESS_TRIALS * (candidate_s + reference_s) + TIMING_TRIALS * candidate_s
    return Ours(cold=cold, full=full, quick=quick, floor_s=floor)


def validate(workbench: Evaluator, case: Case, device: str) -> Judged:
    report = workbench.validate(
        ValidationRequest(job_id=_job(case), team_id="local", problem=case.problem, device=device, backend=case.backend)
    )
    refusal = "" if report.refusal is None else report.refusal.reason
    return Judged(verdict="refused" if refusal else "validated", median_ms=None, seconds=report.seconds, note=refusal)


def _evaluated(workbench: Evaluator, case: Case, device: str, kind: str) -> tuple[Judged, EvaluationReport]:
    request = EvaluationRequest(
        evaluation_id=f"eval-{case.name}-{kind}",
        job_id=_job(case),
        team_id="local",
        candidate_id=f"cand-{case.name}",
        problem=case.problem,
        source=case.candidate.read_text(encoding="utf-8"),
        device=device,
        backend=case.backend,
        profile=False,
    )
    started = time.monotonic()
    report = workbench.evaluate(replace(request, every_gate=kind != "quick"), lambda: False)
    seconds = time.monotonic() - started
    return Judged(
        verdict=report.verdict.value,
        median_ms=None if report.latency is None else report.latency.median_us / 1e3,
        seconds=seconds,
        note=_note(report),
    ), report


def _note(report: EvaluationReport) -> str:
    phases = {name: round(getattr(report.phases_s, name), 2) for name in report.phases_s.__dataclass_fields__}
    told = [gate.detail for gate in report.gates if gate.status.value in ("failed", "suspicious", "skipped")]
    generalization = next(gate.seconds for gate in report.gates if gate.name.value == "generalization")
    shown = {**{name: seconds for name, seconds in phases.items() if seconds}, "general": round(generalization, 2)}
    samples = 0 if report.latency is None else report.latency.samples
    return f"n={samples} {shown} {told[0][:200] if told else ''}"


def _job(case: Case) -> str:
    return f"job-{case.problem.name}"


def _row(case: str, who: str, judged: Judged) -> str:
    latency = "" if judged.median_ms is None else f"{judged.median_ms:.3f} ms"
    return f"{case:10} {who:18} {judged.verdict:11} {latency:11} {judged.seconds:6.2f} s  {judged.note}"


def _print_compared(case: Case, ours: Ours, theirs: Judged) -> None:
    apart = None
    if theirs.median_ms and ours.full.median_ms:
        apart = ours.full.median_ms / theirs.median_ms - 1.0
    quick, full = theirs.seconds / ours.quick.seconds, theirs.seconds / ours.full.seconds
    apart_text = "" if apart is None else f"latencies {apart:+.1%} apart"
    print(f"{case.name:10} ratio: {quick:.1f} with KernelBench's checks, {full:.1f} with every gate; {apart_text}")


def _print_ratios(judged: Sequence[tuple[Ours, Judged]]) -> None:
    """The ratio of all seconds, and the mean of the ratios."""
    total = sum(theirs.seconds for _, theirs in judged)
    for name in ("quick", "full"):
        seconds = [getattr(ours, name).seconds for ours, _ in judged]
        mean = statistics.geometric_mean(theirs.seconds / own for own, (_, theirs) in zip(seconds, judged, strict=True))
        print(f"{name}: {total:.1f} / {sum(seconds):.1f} s = {total / sum(seconds):.1f}; geometric mean {mean:.1f}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--theirs", default=None, help="cases that KernelBench runs; default: all")
    given = parser.parse_args(arguments)
    names = given.cases or sorted(path.name.removesuffix(".txt") for path in CANDIDATES.glob("*.txt"))
    asked = names if given.theirs is None else [name for name in given.theirs.split(",") if name]
    device = devices()[-1]
    workbench = make_workbench(Path("/tmp/kernelwright-benchmark"), device)
    both: list[tuple[Ours, Judged]] = []
    last: Case | None = None
    for name in names:
        case = find_case(given.checkout, name)
        if last is None or last.problem.name != case.problem.name:
            if last is not None:
                workbench.close_job(_job(last))
            print(_row(name, "validation", validate(workbench, case, device)), flush=True)
        last = case
        ours = kernelwright(workbench, case, device)
        for who, judged in (("cold build", ours.cold), ("every gate", ours.full), ("quick look", ours.quick)):
            print(_row(name, who, judged))
        distance = ours.quick.seconds / ours.floor_s, ours.full.seconds / ours.floor_s
        print(f"{name:10} floor {ours.floor_s:.3f} s; quick {distance[0]:.1f} and full {distance[1]:.1f} times it")
        if name in asked:
            workbench.close_job(_job(case))
            last = None
            theirs = kernelbench(given.checkout, case)
            print(_row(name, "KernelBench", theirs))
            _print_compared(case, ours, theirs)
            if theirs.verdict == "correct":
                both.append((ours, theirs))
        sys.stdout.flush()
    if both:
        _print_ratios(both)
    workbench.close()


if __name__ == "__main__":
    main()
