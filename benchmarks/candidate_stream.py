"""A stream of candidates, good, wrong, hanging and crashing mixed, through one worker on one GPU.

    python -m benchmarks.candidate_stream [--count 200] [--seed 1]

Prints wrong verdicts (none is allowed, above all none after a crash), device memory before and after, candidates a
minute, how late hanging candidates were ended, and the share of time in which the GPU was busy (nvidia-smi's account:
some kernel ran). The candidates are those of `tests/gpu`; the ones that ought to hang get a short limit.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernelwright.wiring.workbench import devices, make_workbench
from services.domain.evaluations import EvaluationReport, EvaluationRequest
from services.domain.problems import Problem
from services.domain.validations import ValidationRequest
from workers.evaluation.evaluator import Evaluator

ROOT = Path(__file__).parents[1] / "tests" / "gpu"
SHORT_LIMIT_S, LIMIT_S = 2.0, 60.0


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A candidate, how often it comes, and the verdicts that are right for it."""

    file: str
    weight: int
    verdicts: tuple[str, ...]
    limit_s: float = LIMIT_S


KINDS = (
    Kind(file="honest/silu.cuda.txt", weight=22, verdicts=("accepted",)),
    Kind(file="honest/silu_two_streams.triton.txt", weight=10, verdicts=("accepted",)),
    Kind(file="honest/softmax.triton.txt", weight=22, verdicts=("accepted",)),
    Kind(file="cheats/softmax_unwritten.triton.txt", weight=10, verdicts=("rejected",)),
    Kind(file="cheats/softmax_by_operators.triton.txt", weight=8, verdicts=("rejected",)),
    Kind(file="cheats/silu_all_on_side_stream.triton.txt", weight=8, verdicts=("rejected",)),
    Kind(file="cheats/silu_does_not_compile.cuda.txt", weight=6, verdicts=("rejected",)),
    Kind(file="cheats/silu_out_of_bounds.cuda.txt", weight=10, verdicts=("rejected",)),
    Kind(file="cheats/silu_hangs.cuda.txt", weight=4, verdicts=("rejected",), limit_s=SHORT_LIMIT_S),
)


class Utilization:
    """Samples nvidia-smi in a thread: the share of time in which some kernel ran."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Utilization:
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stop.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._stop.wait(0.5):
            self.values.append(_smi("utilization.gpu"))


def problem_of(file: str) -> Problem:
    name = Path(file).name.partition(".")[0].partition("_")[0]
    source = (ROOT / "problems" / f"{name}.txt").read_text(encoding="utf-8")
    return Problem(name=name, source=source, path=f"{name}.py")


def evaluate(workbench: Evaluator, kind: Kind, device: str, turn: int) -> tuple[EvaluationReport, float]:
    problem = problem_of(kind.file)
    request = EvaluationRequest(
        evaluation_id=f"eval-{turn}",
        job_id=f"job-{problem.name}",
        team_id="local",
        candidate_id=f"cand-{turn}",
        problem=problem,
        source=(ROOT / kind.file).read_text(encoding="utf-8") + f"\n# candidate {turn}\n",
        device=device,
        backend=kind.file.split(".")[1],
        profile=False,
    )
    started = time.monotonic()
    report = workbench.evaluate(replace(request, timeout_s=kind.limit_s), lambda: False)
    return report, time.monotonic() - started


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    kinds = random.Random(given.seed).choices(KINDS, weights=[kind.weight for kind in KINDS], k=given.count)
    device = devices()[-1]
    before = _smi("memory.used")
    workbench = make_workbench(Path("/tmp/kernelwright-stream"), device)
    for name in sorted({problem_of(kind.file).name for kind in kinds}):
        validated = workbench.validate(_validation(name, device))
        print(f"validated {name} in {validated.seconds:.1f} s {validated.refusal or ''}", flush=True)
    held = _smi("memory.used")
    seconds: dict[str, list[float]] = {}
    wrong: list[str] = []
    late = 0.0
    crashed = False
    after_crash = 0
    verdicts: Counter[str] = Counter()
    started = time.monotonic()
    with Utilization() as busy:
        for turn, kind in enumerate(kinds):
            report, took = evaluate(workbench, kind, device, turn)
            after_crash += crashed
            verdicts[report.verdict.value] += 1
            seconds.setdefault(kind.file, []).append(took)
            if report.verdict.value not in kind.verdicts:
                told = next((gate.detail for gate in report.gates if gate.status.value != "passed"), "")
                wrong.append(f"{turn} {kind.file}: {report.verdict.value} {told[:200]} (after a crash: {crashed})")
            if kind.limit_s == SHORT_LIMIT_S:
                late = max(late, took - SHORT_LIMIT_S)
            crashed = "out_of_bounds" in kind.file or "hangs" in kind.file
    total = time.monotonic() - started
    idle = _smi("memory.used")
    workbench.close()
    time.sleep(1.0)
    after = _smi("memory.used")
    for file, values in sorted(seconds.items()):
        print(f"{file:45} {len(values):4} times, median {statistics.median(values):.2f} s, most {max(values):.2f} s")
    print(f"verdicts {dict(verdicts)}; {after_crash} evaluated right after a crash or a hang")
    print(f"wrong verdicts: {len(wrong)}")
    for line in wrong:
        print("   ", line)
    print(f"device memory: {before:.0f} MiB at first, {held:.0f} validated, {idle:.0f} at the end, {after:.0f} closed")
    print(f"hanging candidates ended at most {late:.1f} s after their limit of {SHORT_LIMIT_S} s")
    print(f"{given.count} candidates in {total:.0f} s: {60 * given.count / total:.0f} a minute")
    print(f"the GPU was busy {statistics.fmean(busy.values or [0.0]):.0f} % of the time")


def _validation(name: str, device: str) -> ValidationRequest:
    problem = problem_of(f"{name}.txt")
    return ValidationRequest(job_id=f"job-{name}", team_id="local", problem=problem, device=device, backend="triton")


def _smi(name: str) -> float:
    command = ["nvidia-smi", "-i", "0", f"--query-gpu={name}", "--format=csv,noheader,nounits"]
    return float(subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout.strip())


if __name__ == "__main__":
    main()
