"""Two cards of one host: whether figures on each are the same alone and while the other works.

    python -m benchmarks.two_cards [--repeats 3]

One worker process a card, as `kernelwright worker --device all` has them, judges the same three kernels: on the first
card alone, on the second alone, then on both at once. Runs on a bare node (docs/gpu.md), in about three minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernelwright.wiring.workbench import make_workbench
from services.domain.validations import ValidationRequest
from tests.gpu.judge import HERE, backend_of, judge, problem_of
from workers.devices.cards import Gpu, all_gpus, query
from workers.devices.gpu import lock_path
from workers.devices.gpu_lock import DeviceLock

KERNELS = ("honest/silu.cuda.txt", "honest/softmax.triton.txt", "honest/rmsnorm.triton.txt")
GOAL = 0.03
LOOK_S = 0.2
SETTLED_S = 2.0
"""Before a phase: utilisation is a mean over up to a second."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3, help="evaluations of each kernel in each phase")
    parser.add_argument("--work", nargs=2, metavar=("DEVICE", "HOME"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        return work(given.work[0], Path(given.work[1]), given.repeats)
    gpus = [gpu for gpu in all_gpus() if not gpu.sliced]
    print("\n".join(f"{gpu}: node {gpu.node}, compute capability {gpu.capability}" for gpu in all_gpus()))
    if len(gpus) < 2 or gpus[0].name != gpus[1].name:
        print("SKIPPED: this takes two cards of one kind")
        return 0
    with tempfile.TemporaryDirectory() as home:
        return compare(gpus[:2], Path(home), given.repeats)


def work(device: str, home: Path, repeats: int) -> int:
    """One card's worker: says that it is ready, then judges all kernels at every line that it reads."""
    workbench = make_workbench(home, device)
    for path in (HERE / name for name in KERNELS):
        problem = problem_of(path)
        asked = ValidationRequest(
            job_id=f"job-{problem.name}", team_id="local", problem=problem, device=device, backend=backend_of(path)
        )
        if (refusal := workbench.validate(asked).refusal) is not None:
            print(json.dumps({"fault": refusal.reason}), flush=True)
            return 1
    print(json.dumps({"ready": True}), flush=True)
    for _ in sys.stdin:
        for name in KERNELS * repeats:
            report = judge(workbench, HERE / name, device)
            told = {
                "kernel": name.partition("/")[2],
                "verdict": report.verdict,
                "detail": "; ".join(gate.detail for gate in report.gates if gate.status not in ("passed", "skipped")),
                "median_us": None if report.latency is None else report.latency.median_us,
                "speedup": report.speedup.best_baseline,
                "card": report.environment.card,
                "clocks": report.environment.clocks,
            }
            print(json.dumps(told), flush=True)
        print(json.dumps({"done": True}), flush=True)
    workbench.close()
    return 0


@dataclass
class Worker:
    """A card with the process that judges on it."""

    gpu: Gpu
    process: subprocess.Popen[str]
    told: list[dict[str, Any]] = field(default_factory=list)
    """Reports of the phase that runs or has just run."""

    def begin(self) -> None:
        assert self.process.stdin is not None
        self.told = []
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def lines(self) -> Iterator[dict[str, Any]]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            yield json.loads(line)
        raise SystemExit(f"FAIL the worker on {self.gpu} ended with {self.process.wait()}")

    def await_line(self, key: str) -> None:
        for line in self.lines():
            if key in line:
                return
            if "fault" in line:
                raise SystemExit(f"FAIL {self.gpu}: {line['fault']}")
            self.told.append(line)

    def medians(self) -> dict[str, float]:
        """Microseconds of each kernel, the median of its accepted repetitions."""
        found: dict[str, list[float]] = {}
        for line in self.told:
            if line["verdict"] == "accepted":
                found.setdefault(line["kernel"], []).append(line["median_us"])
        return {kernel: statistics.median(values) for kernel, values in found.items()}


@dataclass
class Watch:
    """What is seen from outside while a phase runs: how busy each card is, at which clock, and whose lock is held."""

    gpus: Sequence[Gpu]
    locks: Sequence[Path]
    busy: dict[str, list[float]] = field(default_factory=dict)
    clocks: dict[str, list[float]] = field(default_factory=dict)
    held: dict[str, int] = field(default_factory=dict)
    both_busy: int = 0
    both_held: int = 0
    looks: int = 0

    def look(self) -> None:
        rows = {row[0]: row for row in query("uuid", "utilization.gpu", "clocks.sm")}
        self.looks += 1
        now_busy = now_held = 0
        for gpu, path in zip(self.gpus, self.locks, strict=True):
            if gpu.uuid in rows:
                busy = float(rows[gpu.uuid][1])
                now_busy += busy > 0
                self.busy.setdefault(gpu.uuid, []).append(busy)
                self.clocks.setdefault(gpu.uuid, []).append(float(rows[gpu.uuid][2]))
            held = is_held(path)
            now_held += held
            self.held[gpu.uuid] = self.held.get(gpu.uuid, 0) + held
        self.both_busy += now_busy == len(self.gpus)
        self.both_held += now_held == len(self.gpus)

    def tell(self) -> None:
        for number, gpu in enumerate(self.gpus):
            busy, clocks = self.busy.get(gpu.uuid, [0.0]), self.clocks.get(gpu.uuid, [0.0])
            print(
                f"    card {number}: busy in {sum(one > 0 for one in busy)} of {self.looks} looks (mean "
                f"{statistics.mean(busy):.0f} %, most {max(busy):.0f} %), SM clock {min(clocks):.0f}–{max(clocks):.0f} "
                f"MHz, lock held in {self.held.get(gpu.uuid, 0)}"
            )


def is_held(path: Path) -> bool:
    lock = DeviceLock(path)
    if lock.acquire(lambda: True) is None:
        return True
    lock.release()
    return False


@contextmanager
def watching(watch: Watch) -> Iterator[None]:
    stopped = threading.Event()

    def run() -> None:
        while not stopped.is_set():
            watch.look()
            stopped.wait(LOOK_S)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def compare(gpus: Sequence[Gpu], home: Path, repeats: int) -> int:
    locks = [lock_path(gpu, home) for gpu in gpus]
    started = time.monotonic()
    workers = [start(gpu, home, repeats) for gpu in gpus]
    for worker in workers:
        worker.await_line("ready")
    print(f"both workers ready after {time.monotonic() - started:.0f} s, load average {os.getloadavg()[0]:.1f}")
    alone: list[dict[str, float]] = []
    checks: list[tuple[bool, str]] = []
    for number, worker in enumerate(workers):
        watch = phase(f"card {number} alone", gpus, locks, [worker])
        alone.append(worker.medians())
        other = gpus[1 - number].uuid
        checks.append((watch.held.get(other, 0) == 0, f"card {1 - number}'s lock is free while card {number} works"))
        checks.append((watch.held.get(gpus[number].uuid, 0) > 0, f"card {number} works under its own lock"))
        checks.append((max(watch.busy.get(other, [0.0])) == 0, f"card {1 - number} is idle while card {number} works"))
        checks += every_report(number, worker, repeats)
    watch = phase("both at once", gpus, locks, workers)
    checks.append((watch.both_busy > 0, f"both cards were busy in {watch.both_busy} of {watch.looks} looks"))
    checks.append((watch.both_held > 0, f"both locks were held in {watch.both_held} of {watch.looks} looks"))
    checks.append((locks[0] != locks[1], f"locks: {locks[0].name} and {locks[1].name}"))
    print("\n| kernel | card | alone, µs | both at once, µs | ratio |\n|---|---|---|---|---|")
    for number, worker in enumerate(workers):
        checks += every_report(number, worker, repeats)
        together = worker.medians()
        for kernel in alone[number]:
            ratio = together.get(kernel, float("nan")) / alone[number][kernel]
            print(
                f"| {kernel} | {number} | {alone[number][kernel]:.2f} | {together.get(kernel, 0):.2f} | {ratio:.3f} |"
            )
            checks.append((abs(ratio - 1) <= GOAL, f"{kernel} on card {number}: {ratio:.3f} of alone"))
    for worker in workers:
        assert worker.process.stdin is not None
        worker.process.stdin.close()
        worker.process.wait(30)
    print()
    for good, said in checks:
        print("PASS" if good else "FAIL", said)
    print(f"{sum(good for good, _ in checks)} of {len(checks)} passed in {time.monotonic() - started:.0f} s")
    return 0 if all(good for good, _ in checks) else 1


def start(gpu: Gpu, home: Path, repeats: int) -> Worker:
    command = [sys.executable, "-m", "benchmarks.two_cards", "--repeats", str(repeats), "--work", gpu.name, str(home)]
    environment = {**os.environ, "KERNELWRIGHT_GPU": gpu.uuid}
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    return Worker(gpu=gpu, process=process)


def phase(name: str, gpus: Sequence[Gpu], locks: Sequence[Path], workers: Sequence[Worker]) -> Watch:
    time.sleep(SETTLED_S)
    watch, began = Watch(gpus=gpus, locks=locks), time.monotonic()
    with watching(watch):
        for worker in workers:
            worker.begin()
        for worker in workers:
            worker.await_line("done")
    print(f"{name}: {time.monotonic() - began:.1f} s, load average {os.getloadavg()[0]:.1f}")
    watch.tell()
    for number, worker in enumerate(workers):
        for line in worker.told:
            figures = "" if line["median_us"] is None else f"{line['median_us']:8.2f} µs {line['speedup'] or 0:6.2f}x"
            clock = line["clocks"].get("sm_mhz")
            print(
                f"      [{number}] {line['kernel']:22} {line['verdict']:10} {figures} {clock} MHz {line['detail'][:90]}"
            )
    return watch


def every_report(number: int, worker: Worker, repeats: int) -> list[tuple[bool, str]]:
    accepted = sum(line["verdict"] == "accepted" for line in worker.told)
    cards = {line["card"] for line in worker.told}
    return [
        (accepted == len(KERNELS) * repeats, f"card {number}: {accepted} of {len(KERNELS) * repeats} accepted"),
        (cards == {worker.gpu.uuid}, f"card {number}: every report names {worker.gpu.uuid}"),
    ]


if __name__ == "__main__":
    sys.exit(main())
