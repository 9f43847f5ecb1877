"""A list of candidates there and back: exported, judged by one `worker --spool --once`, imported, collected.

    python -m benchmarks.spool_round                          # 20 C++ candidates on this CPU
    python -m benchmarks.spool_round --device h200            # 20 Triton candidates of tests/gpu/honest

Candidates are the honest ones of the tests, so that every verdict but `accepted` is a finding; where there are fewer
than asked for, they go round again with a comment that makes them others. The orders travel as an archive to a second
directory, and their reports back, as between a service and a node without a network; both have one key. Prints counts,
the seconds of each step, and seconds per order: of the whole worker process, of the judging itself, and the difference,
which is what the start and the files cost. Exit code 1 if a candidate was not accepted, or a report is missing.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.distribution import version
from services.adapters.spool.archive import pack, unpack
from services.adapters.spool.batch import SpooledRow, add_candidates, collected
from services.adapters.spool.layout import SpoolLayout
from services.adapters.spool.messages import SpoolKey
from services.adapters.spool.orders import SpooledOrders
from services.domain.problems import Problem
from services.runtime.clock import SystemClock

TESTS = Path(__file__).parents[1] / "tests"
CPU_PROBLEMS = {"silu": "silu_scale", "softmax": "softmax", "mse": "mse"}
"""By the first word of a candidate's name."""


@dataclass(frozen=True, kw_only=True)
class SpooledCandidate:
    """A file with the problem that it is for."""

    problem: Problem
    path: Path


def candidates_of(device: str) -> list[SpooledCandidate]:
    """The honest candidates of the tests for a device: C++ for the CPU, Triton for a GPU."""
    folder, pattern = (TESTS / "integrity", "*.txt") if device == "cpu" else (TESTS / "gpu", "*.triton.txt")
    found = []
    for path in sorted((folder / "honest").glob(pattern)):
        word = path.name.partition(".")[0].partition("_")[0]
        name = CPU_PROBLEMS[word] if device == "cpu" else word
        source = (folder / "problems" / f"{name}.txt").read_text(encoding="utf-8")
        found.append(SpooledCandidate(problem=Problem(name=name, source=source, path=f"{name}.txt"), path=path))
    return found


def chosen(device: str, count: int, folder: Path) -> Iterator[SpooledCandidate]:
    """So many candidates, each a file of its own, one problem's after another's."""
    known = candidates_of(device)
    rounds = (candidate for _, candidate in zip(range(count), itertools.cycle(known), strict=False))
    made = []
    for number, one in enumerate(rounds):
        path = folder / f"{number:03}_{one.path.name}"
        again = "" if number < len(known) else f"\n# candidate {number} of a round through a spool\n"
        path.write_text(one.path.read_text(encoding="utf-8") + again, encoding="utf-8")
        made.append(SpooledCandidate(problem=one.problem, path=path))
    yield from sorted(made, key=lambda one: one.problem.name)


def exported(
    orders: SpooledOrders, chosen_ones: Sequence[SpooledCandidate], device: str, baselines: Sequence[str]
) -> None:
    """Place an order for each candidate, and for each problem."""
    backend = "cpp" if device == "cpu" else "triton"
    for _, group in itertools.groupby(chosen_ones, key=lambda one: one.problem.name):
        together = list(group)
        texts = [(one.path.name, one.path.read_text(encoding="utf-8")) for one in together]
        add_candidates(orders, together[0].problem, texts, device=device, backend=backend, baselines=baselines)


def judged(spool: Path, device: str, key: Path, home: Path) -> float:
    """Seconds of one worker process that does what lies in a spool. Raises `RuntimeError` where it fails."""
    started = time.monotonic()
    command = [sys.executable, "-m", "kernelwright", "worker", "--spool", str(spool), "--key", str(key), "--once"]
    environment = {**os.environ, "KERNELWRIGHT_HOME": str(home)}
    environment.pop("KERNELWRIGHT_SPOOL_KEY", None)
    ended = subprocess.run([*command, "--device", device], env=environment, check=False)
    if ended.returncode != 0:
        raise RuntimeError(f"the worker ended with exit code {ended.returncode}")
    return time.monotonic() - started


def show(rows: Sequence[SpooledRow], worker_s: float) -> bool:
    """Print what came back; whether all of it is as it should be."""
    candidates = [row for row in rows if "/" in row.label]
    for row in rows:
        speedup = None if row.report is None else row.report.speedup
        figures = "" if speedup is None else f"{speedup.best_baseline or 0:.2f}x {speedup.ci95 or ''}"
        print(f"{row.label:45} {row.state:9} {row.verdict or '-':10} {row.seconds or 0:6.1f} s  {figures} {row.detail}")
    spent = [row.seconds or 0.0 for row in rows]
    verdicts = Counter(str(row.verdict) for row in rows if "/" not in row.label)
    print(f"\nproblems    {len(rows) - len(candidates)} {dict(verdicts)}")
    print(f"candidates  {len(candidates)} {dict(Counter(str(row.verdict or row.state) for row in candidates))}")
    print(f"worker      {worker_s:.1f} s, {worker_s / len(rows):.2f} s per order")
    print(f"judging     {sum(spent):.1f} s, median {statistics.median(spent):.2f} s per order", end="")
    print(f", median {statistics.median(row.seconds or 0.0 for row in candidates):.2f} s per candidate")
    rest = worker_s - sum(spent)
    print(f"the rest    {rest:.1f} s (start of the worker, files), {rest / len(rows):.2f} s per order")
    return all(row.verdict == "accepted" for row in candidates)


def main() -> int:
    """Go round and print; 1 where a report is missing or another verdict came back."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", help="cpu, or the GPU's name as workers have it")
    parser.add_argument("--candidates", type=int, default=20)
    parser.add_argument("--baselines", default="eager", help="comma-separated")
    parser.add_argument("--home", type=Path, help="where the worker keeps its state (default: a new folder)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="spool-round-") as name:
        folder = Path(name)
        (folder / "sources").mkdir()
        key = folder / "spool.key"
        key.write_text(SpoolKey.new())
        here, there = (_side(folder / side, key) for side in ("here", "there"))
        started = time.monotonic()
        ones = list(chosen(given.device, given.candidates, folder / "sources"))
        exported(here[1], ones, given.device, given.baselines.split(","))
        there[1].open()
        out = pack(here[0], folder / "orders.tar.gz")
        unpack(folder / "orders.tar.gz", *there)
        print(f"exported {out.orders} orders in {time.monotonic() - started:.2f} s", flush=True)
        worker_s = judged(there[0].root, given.device, key, (given.home or folder / "home").absolute())
        started = time.monotonic()
        pack(there[0], folder / "reports.tar.gz")
        back = unpack(folder / "reports.tar.gz", *here)
        rows = collected(here[1])
        print(f"imported {back.reports} of {out.orders} reports in {time.monotonic() - started:.2f} s\n")
        good = show(rows, worker_s)
    return 0 if good and back.reports == out.orders else 1


def _side(root: Path, key: Path) -> tuple[SpoolLayout, SpooledOrders]:
    layout = SpoolLayout(root)
    secret = SpoolKey(key.read_text())
    return layout, SpooledOrders(layout, secret, SystemClock(), version=version(), sender="benchmark", valid_days=1.0)


if __name__ == "__main__":
    sys.exit(main())
