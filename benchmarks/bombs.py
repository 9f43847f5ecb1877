"""How long a hostile candidate occupies a worker: seconds until it has ended, with the limits that runners
have on a CPU.

    python -m benchmarks.bombs [--times 3] [--only docker]

Each sandbox that this machine gives is tried: processes as root or as a plain user, with and without namespaces, and
containers. Prints the worst of some runs, and the limit that ended it as the verdict names it.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import time
from contextlib import contextmanager
from dataclasses import replace

import pytest

from services.ports.sandboxes import ExitStatus, SandboxLimits
from tests.contracts.sandboxes import SANDBOXES, Bench, bench_of
from tests.contracts.test_sandbox_limits import DISK_BOMB, FORK_BOMB, THREAD_BOMB
from workers.referee.boundary.worker_client import exit_fault

LIMITS = SandboxLimits(wall_s=600.0, memory_bytes=8 << 30, processes=64)
"""As `workers.evaluation.evaluator` sets them for a candidate on a CPU."""
MEMORY_BOMB = """
channel.send({"result": 0})
held = []
while True:
    held.append(bytearray(b"x") * (1 << 24))
"""
BOMBS = {
    "fork bomb": (FORK_BOMB, LIMITS),
    "thread bomb": (THREAD_BOMB, LIMITS),
    "memory bomb": (MEMORY_BOMB, replace(LIMITS, memory_bytes=2 << 30)),
    "disk bomb": (DISK_BOMB, LIMITS),
}
GOAL_S = 10.0
PATIENCE_S = 120.0


def explode(bench: Bench, code: str, limits: SandboxLimits) -> tuple[float, ExitStatus]:
    """Seconds until a bomb has ended and everything that it started is gone, and how it ended."""
    inside = bench.run(code, limits)
    inside.answer(60.0)
    began = time.monotonic()
    status = inside.end(PATIENCE_S)
    return time.monotonic() - began, status


def told(status: ExitStatus) -> str:
    """The end as the candidate's verdict tells it."""
    return str(exit_fault(dataclasses.replace(status, output="")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--only", default="", help="sandboxes whose name contains this")
    given = parser.parse_args()
    print(f"user {os.geteuid()}, load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print("| sandbox | bomb | seconds, worst | verdict |\n|---|---|---|---|")
    worst = 0.0
    for name in sorted(SANDBOXES):
        if given.only not in name:
            continue
        try:
            sandbox = SANDBOXES[name]()
        except pytest.skip.Exception as error:
            print(f"| {name} | – | – | not here: {error} |")
            continue
        with contextmanager(bench_of)(sandbox) as bench:
            for bomb, (code, limits) in BOMBS.items():
                runs = [explode(bench, code, limits) for _ in range(given.times)]
                seconds = max(took for took, _ in runs)
                worst = max(worst, seconds)
                print(
                    f"| {name} | {bomb} | {seconds:.1f} | {'; '.join(sorted({told(end) for _, end in runs}))} |",
                    flush=True,
                )
        sandbox.close()
    print(f"worst {worst:.1f} s (goal {GOAL_S:g}), load average {os.getloadavg()[0]:.1f} at the end")
    raise SystemExit(0 if worst <= GOAL_S else 1)


if __name__ == "__main__":
    main()
