"""How often the referee's 95 % intervals hold: the same model as both sides of a measurement, whose ratio is 1.

    python -m benchmarks.calibration CELL.jsonl [PROBLEM.py …] [--pairs 300] [--seconds 540] [--load 0] [--device cpu]
    python -m benchmarks.calibration CELL.jsonl --report

Candidate and baseline are processes of the same kind that run the problem's own model, with the protocol, the values
and the stopwatch of a real evaluation. Half of the pairs are measured with fresh processes, half with those of the
previous pair. `--load N` keeps N other processes busy meanwhile.

Each pair is a line of the file, with all of its samples. A call adds to the file, taking the problems in random order
(`benchmarks/problems/small` where none are named), until it holds `--pairs` pairs or `--seconds` have passed, so a
cell can be measured in pieces. Prints how many intervals contain 1 for each problem, and over all of them with a 95 %
interval (Wilson), by the current statistics. `--report` only prints.

Over some hundreds of pairs, 92 to 98 % of honest intervals contain 1.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from benchmarks.calibration_pairs import Cell, Pair, Terms, report
from kernelwright.problem_files import read_problem
from services.domain.devices import CPU
from services.ports.sandboxes import SandboxLimits
from workers.devices.cards import find_gpu
from workers.devices.gpu import gpu_environment, gpu_mounts
from workers.ipc.freezer import Freezer
from workers.ipc.placement import TensorDevice, place_of
from workers.ipc.tensors import TensorMeta, flatten
from workers.ipc.wire import Channel
from workers.referee.baselines.measurement import protocol_cost
from workers.referee.boundary.exchange import TimeLimit
from workers.referee.boundary.runner_client import RunnerSession
from workers.referee.errors import FaultKind, RunnerFault
from workers.referee.inputs.fresh_values import FreshValues
from workers.referee.problem.reference_problem import ReferenceProblem, cloned, output_tensors
from workers.referee.timing import stopwatch
from workers.referee.timing.single_calls import ProtocolCost, SamplingBudget, Side
from workers.runner.answers import Acknowledged
from workers.runner.protocol import AddIdle
from workers.sandboxes.process import ProcessSandbox

SMALL = Path(__file__).parent / "problems" / "small"
BUSY = "while True: pass"


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
        values = FreshValues([self.draw() for _ in range(3)], self.draw)
        budget = SamplingBudget(seconds=seconds)
        found = stopwatch.interleaved(
            candidate, baseline, values, budget, cost=self._cost(baseline), check=lambda _checked: None
        )
        return Pair(
            problem=self._problem.problem.name,
            fresh_processes=fresh,
            spread=found.spread,
            batched=found.batched,
            candidate=tuple(found.candidate),
            baseline=tuple(found.baseline),
            shorter_s=found.off.shorter_s,
            longer_s=found.off.longer_s,
            load=os.getloadavg()[0],
            at_s=time.time(),
        )

    def close(self) -> None:
        """End the processes."""
        self._closing.close()
        self._sides = []

    def _start(self) -> Side:
        entry = "workers.referee.baselines.process:serve" + ("_on_gpu" if self._place.is_gpu else "")
        card = find_gpu() if self._place.is_gpu else None
        environment = {"OMP_NUM_THREADS": str(self._threads), "OMP_WAIT_POLICY": "passive"}
        environment |= {} if card is None else gpu_environment(card)
        mounts = () if card is None else gpu_mounts(card)
        limits = SandboxLimits(wall_s=3600.0, memory_bytes=(64 if self._place.is_gpu else 3) << 30, processes=512)
        process = self._sandbox.fork(entry, limits, mounts=mounts, environment=environment)
        self._closing.callback(process.kill)
        freezer = process.take_freezer()
        session = RunnerSession(
            Channel(process.socket),
            lambda: RunnerFault(FaultKind.CRASHED, "a side of the calibration ended"),
            time_limit=TimeLimit(left_s=3600.0),
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
        return protocol_cost(side)


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


def measure(cell: Cell, paths: Sequence[Path], place: TensorDevice, pairs: int, until: float) -> None:
    """Add pairs to a cell, two of a problem at a time: one with fresh processes and one that reuses them."""
    sandbox, generator = ProcessSandbox(), random.SystemRandom()
    place.prepare()
    try:
        problems = [ReferenceProblem(read_problem(path), place) for path in paths]
        while len(cell.pairs) < pairs and time.monotonic() < until:
            for problem in generator.sample(problems, len(problems)):
                rivals = Rivals(sandbox, problem, place)
                try:
                    for fresh in (True, False):
                        if len(cell.pairs) < pairs and time.monotonic() < until:
                            cell.add(rivals.measure(cell.terms.sampling_s, fresh=fresh))
                finally:
                    rivals.close()
    finally:
        sandbox.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cell", type=Path, metavar="CELL.jsonl")
    parser.add_argument("problems", nargs="*", type=Path)
    parser.add_argument("--pairs", type=int, default=300, help="number of pairs that the file should hold in the end")
    parser.add_argument("--seconds", type=float, default=540.0, help="stop this call after this many seconds")
    parser.add_argument("--load", type=int, default=0, help="other processes that are kept busy")
    parser.add_argument("--device", default=CPU)
    parser.add_argument("--sampling", type=float, default=0.5, help="seconds for the samples of one pair")
    parser.add_argument("--report", action="store_true", help="only print the report, measure nothing")
    given = parser.parse_args()
    if given.report:
        print(report(Cell(given.cell)))
        return
    cell = Cell(given.cell, Terms(device=given.device, load=given.load, sampling_s=given.sampling))
    paths = given.problems or sorted(SMALL.glob("*.py"))
    before, started = len(cell.pairs), time.monotonic()
    with busy(given.load):
        measure(cell, paths, place_of(given.device), given.pairs, started + given.seconds)
    print(report(cell))
    print(f"{len(cell.pairs) - before} new pairs in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
