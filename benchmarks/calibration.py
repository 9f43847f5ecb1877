"""How often the referee's 95 % intervals hold: the same model as both sides of a measurement, whose ratio is 1.

    python -m benchmarks.calibration [PROBLEM.py …] [--pairs 40] [--load 0] [--device cpu] [--seconds 0.5] [--json OUT]

Candidate and baseline are processes of the same kind that run the problem's own model, behind the protocol, the values
and the stopwatch of a real evaluation. Half of the pairs are measured with fresh processes, half with the last pair's.
`--load N` keeps N other processes busy meanwhile. Prints, for each problem, how many intervals contain 1 and how far
the ratios lie apart, then the share over all of them with its own 95 % interval (Wilson), and the load average.

Intervals that are honest contain 1 in 92 to 98 % of some hundreds of pairs; the referee's are of blocks of neighbouring
samples, and a mood of the machine that outlasts a measurement is not in them.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import secrets
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from kernelwright.problem_files import read_problem
from services.ports.sandboxes import SandboxLimits
from workers.devices.gpu import gpu_mounts
from workers.ipc.freezer import Freezer
from workers.ipc.placement import CPU, TensorDevice, place_of
from workers.ipc.tensors import TensorMeta, flatten
from workers.ipc.wire import Channel
from workers.referee.errors import FaultKind, RunnerFault
from workers.referee.fresh_values import FreshValues
from workers.referee.problem import ReferenceProblem, cloned, output_tensors
from workers.referee.runner_client import RunnerSession
from workers.referee.statistics import paired_ratio, unpaired_ratio
from workers.referee.stopwatch import stopwatch_for
from workers.referee.timing import ProtocolCost, SamplingBudget, Side
from workers.runner.answers import Acknowledged
from workers.runner.protocol import AddIdle
from workers.sandboxes.process import ProcessSandbox

EXAMPLES = Path(__file__).parents[1] / "examples" / "problems"
COST_CALLS = 15
Z = 1.96
BUSY = "while True: pass"


@dataclass(frozen=True, kw_only=True)
class Pair:
    """One measurement of a model against itself."""

    problem: str
    ratio: float
    low: float
    high: float
    fresh_processes: bool
    batched: bool
    median_us: float

    @property
    def holds(self) -> bool:
        """Whether the interval contains the truth."""
        return self.low <= 1.0 <= self.high


class Rivals:
    """Two processes with the same model, and the problem's draws."""

    def __init__(self, sandbox: ProcessSandbox, problem: ReferenceProblem, place: TensorDevice) -> None:
        self._sandbox = sandbox
        self._problem = problem
        self._place = place
        self._threads = place.host_threads(len(os.sched_getaffinity(0)))
        self._closing = contextlib.ExitStack()
        self._sides: list[Side] = []

    def draw(self) -> list[torch.Tensor]:
        """Values of the problem's first input set."""
        return flatten(self._problem.make_inputs(0, secrets.randbits(31)))

    def measure(self, seconds: float, *, fresh: bool) -> Pair:
        """One measurement, with processes of its own where it is to have them."""
        if fresh or not self._sides:
            self.close()
            self._sides = [self._start(), self._start()]
        candidate, baseline = self._sides
        watch = stopwatch_for(self._place)
        values = FreshValues([self.draw() for _ in range(3)], self.draw)
        budget = SamplingBudget(seconds=seconds)
        found = watch.interleaved(
            candidate, baseline, values, budget, cost=self._cost(baseline), check=lambda _checked: None
        )
        ratio = (paired_ratio if found.paired else unpaired_ratio)(found.baseline, found.candidate)
        return Pair(
            problem=self._problem.problem.name,
            ratio=ratio.value,
            low=ratio.ci95[0],
            high=ratio.ci95[1],
            fresh_processes=fresh,
            batched=found.batched,
            median_us=1e6 * statistics.median(found.candidate),
        )

    def close(self) -> None:
        """End the processes."""
        self._closing.close()
        self._sides = []

    def _start(self) -> Side:
        entry = "workers.referee.baseline:serve" + ("_on_gpu" if self._place.is_gpu else "")
        environment = {"OMP_NUM_THREADS": str(self._threads), "OMP_WAIT_POLICY": "passive"}
        mounts = gpu_mounts() if self._place.is_gpu else ()
        limits = SandboxLimits(wall_s=3600.0, memory_bytes=(64 if self._place.is_gpu else 3) << 30, processes=512)
        process = self._sandbox.fork(entry, limits, mounts=mounts, environment=environment)
        self._closing.callback(process.kill)
        freezer = process.take_freezer()
        session = RunnerSession(
            Channel(process.socket),
            lambda: RunnerFault(FaultKind.CRASHED, "a side of the calibration ended"),
            deadline=time.monotonic() + 3600.0,
            place=self._place,
            freezer=None if freezer is None else Freezer(_socket(freezer)),
        )
        self._closing.callback(session.close)
        problem = self._problem
        session.load(
            problem.problem.source,
            cloned(problem.init_inputs),
            problem.state(),
            seed=problem.init_seed,
            copy_state=True,
            threads=self._threads,
            limit_s=120.0,
            step=problem.step_plan,
        )
        arguments = problem.make_inputs(0, 1)
        metas = [TensorMeta.of(tensor) for tensor in output_tensors(problem.run(cloned(arguments)))]
        slot = session.open_slot(0, arguments, metas)
        self._closing.callback(slot.close)
        if not self._place.is_gpu:
            slot.write(flatten(arguments))
            session.ask(AddIdle(slot=0), Acknowledged)
        return Side(session=session, slot=slot, model="plain")

    def _cost(self, side: Side) -> ProtocolCost:
        if self._place.is_gpu:
            return ProtocolCost()
        return ProtocolCost.of([side.session.call(side.slot, "idle").wall_s for _ in range(COST_CALLS)])


def _socket(descriptor: int) -> socket.socket:
    return socket.socket(fileno=descriptor)


@contextlib.contextmanager
def busy(count: int) -> Iterator[None]:
    """So many other processes at work."""
    others = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def wilson(hits: int, count: int) -> tuple[float, float]:
    """95 % interval of a share."""
    share, square = hits / count, Z * Z / count
    middle = (share + square / 2) / (1 + square)
    reach = Z * math.sqrt(share * (1 - share) / count + square / (4 * count)) / (1 + square)
    return middle - reach, middle + reach


def tell(pairs: list[Pair], what: str) -> None:
    """One line about some pairs."""
    hits = sum(pair.holds for pair in pairs)
    low, high = wilson(hits, len(pairs))
    logs = [math.log(pair.ratio) for pair in pairs if pair.ratio > 0]
    width = statistics.median(pair.high - pair.low for pair in pairs)
    print(
        f"{what:24} {hits:3}/{len(pairs):<3} contain 1: {hits / len(pairs):4.0%} ({low:.0%}–{high:.0%})   "
        f"ratios spread by {statistics.pstdev(logs):.1%}, intervals {width:.1%} wide   "
        f"{statistics.median(pair.median_us for pair in pairs):.0f} µs"
        f"{', batched' if any(pair.batched for pair in pairs) else ''}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", type=Path)
    parser.add_argument("--pairs", type=int, default=40, help="over all problems")
    parser.add_argument("--load", type=int, default=0, help="other processes that are kept busy")
    parser.add_argument("--device", default=CPU)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    paths = given.problems or sorted(EXAMPLES.glob("*.py"))
    sandbox, place, pairs = ProcessSandbox(), place_of(given.device), list[Pair]()
    place.prepare()
    print(
        f"load average before: {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores, {given.load} busy processes of ours"
    )
    try:
        with busy(given.load):
            for index, path in enumerate(paths):
                rivals = Rivals(sandbox, ReferenceProblem(read_problem(path), place), place)
                count = given.pairs // len(paths) + (index < given.pairs % len(paths))
                found = [rivals.measure(given.seconds, fresh=number % 2 == 0) for number in range(count)]
                rivals.close()
                if found:
                    tell(found, path.stem)
                pairs += found
    finally:
        sandbox.close()
    tell(pairs, "all")
    for fresh in (True, False):
        tell(
            [pair for pair in pairs if pair.fresh_processes is fresh], "fresh processes" if fresh else "same processes"
        )
    print(f"load average after: {os.getloadavg()[0]:.2f}")
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(pair) for pair in pairs], indent=1))


if __name__ == "__main__":
    main()
