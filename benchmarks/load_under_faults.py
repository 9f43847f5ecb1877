"""Load under faults: many jobs on two cores, and a fault every few seconds.

    python -m benchmarks.load_under_faults [--jobs 500] [--rate 5] [--every 5] [--seed 0] [--minutes 30] [--quiet]

Two orchestrators, two workers, the API, a PostgreSQL and a Redis of its own, a scripted model and kernels that do
nothing: what a step takes is the service itself. Faults are those of `tests.random_faults.processes`, drawn from the
seed, until 95 % of the jobs have ended or the minutes are over; then everything is healed, all jobs must end, and
nothing may be lost or doubled. `--quiet` leaves the faults out. Prints seconds and processor time a step; a step's
seconds go from its start to its record, waiting for a core and for what is broken included.
"""

from __future__ import annotations

import argparse
import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from functools import partial

import httpx
import numpy as np

from benchmarks.load import report_load
from benchmarks.processor_time import ProcessorTime
from tests.faults.installation import ROUNDS, Installation
from tests.faults.rows import ground
from tests.random_faults.processes import ProcessGround
from tests.random_faults.schedule import Fault, Kind
from tests.waiting import until

END_S = 1800.0
FAULTS_TO = 0.95
"""Faults go on until this share of the jobs has ended."""
GOAL_MS = 50.0
"""Of a step, at the 95th percentile."""


class Submitter(threading.Thread):
    """Submits jobs at a steady rate; submissions refused during a fault are sent again, as clients do."""

    def __init__(self, place: Installation, count: int, rate: float) -> None:
        super().__init__(daemon=True)
        self._place, self._count, self._pause_s = place, count, 1 / rate
        self.jobs: list[str] = []
        self.refused = 0
        self.over = threading.Event()
        self.fault: Exception | None = None

    def run(self) -> None:
        """Until all are sent or it is over; `fault` is what ended it otherwise."""
        try:
            self._send()
        except Exception as error:  # noqa: BLE001 - raised again by who waits
            self.fault = error

    def _send(self) -> None:
        began = time.monotonic()
        while len(self.jobs) < self._count and not self.over.is_set():
            time.sleep(max(0.0, began + len(self.jobs) * self._pause_s - time.monotonic()))
            try:
                self.jobs += self._place.submit()
            except httpx.HTTPStatusError as error:
                if error.response.status_code != 503:
                    raise
                self.refused += 1
                time.sleep(0.5)


def break_it(place: Installation, played: ProcessGround, sent: Submitter, given: argparse.Namespace) -> None:
    """A fault every so many seconds, while jobs come and run."""
    chance, happened = random.Random(given.seed), Counter[str]()
    end = time.monotonic() + 60 * given.minutes
    while time.monotonic() < end:
        time.sleep(given.every)
        if not sent.is_alive() and place.open(sent.jobs) <= (1 - FAULTS_TO) * given.jobs:
            break
        if not given.quiet:
            fault = Fault(kind=chance.choice(list(Kind)), at=0, seconds=chance.uniform(1, 40))
            happened[played.strike(fault, chance)] += 1
            played.replace_dead()
    sent.over.set()
    sent.join()
    if sent.fault is not None:
        raise sent.fault
    print(f"{happened.total()} faults: {', '.join(f'{name} {times}' for name, times in sorted(happened.items()))}")


def report(place: Installation, jobs: Sequence[str], wall_s: float, used: dict[str, float]) -> bool:
    """Print how long steps took; return whether the goal is reached."""
    query = "SELECT extract(epoch FROM finished_at - started_at)::float FROM steps WHERE job_id = ANY(%s)"
    took = np.array([float(str(row[0])) * 1e3 for row in place.postgres.rows(query, list(jobs))])
    steps = len(jobs) * ROUNDS
    assert len(took) == steps
    print(f"{len(jobs)} jobs of {ROUNDS} steps in {wall_s:.0f} s: {steps / wall_s:.1f} steps/s, all ended, none twice")
    shown = ", ".join(f"p{share * 100:.0f} {np.quantile(took, share):.0f} ms" for share in (0.5, 0.9, 0.95, 0.99))
    print(f"a step: {shown} (goal: p95 at most {GOAL_MS:.0f} ms)")
    print(f"processor time a step: {', '.join(f'{name} {cpu_s / steps * 1e3:.0f} ms' for name, cpu_s in used.items())}")
    return bool(np.quantile(took, 0.95) <= GOAL_MS)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=500)
    parser.add_argument("--rate", type=float, default=5.0, help="submissions a second")
    parser.add_argument("--every", type=float, default=5.0, help="seconds between faults")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--minutes", type=float, default=30.0, help="submit no more jobs and inject no more faults after this time"
    )
    parser.add_argument("--quiet", action="store_true", help="the same load without faults")
    given = parser.parse_args()
    report_load()
    with ground() as place:
        place.settings |= {"FAULT_PHASE_S": "0", "KERNELWRIGHT_LEASE_S": "15", "KERNELWRIGHT_CLAIM_S": "30"}
        with closing(ProcessGround(place)) as played:
            played.heal()
            sent = Submitter(place, given.jobs, given.rate)
            with ProcessorTime(partial(_pids, place, played)) as processor:
                began = time.monotonic()
                sent.start()
                break_it(place, played, sent, given)
                played.heal()
                healed_s = until(lambda: place.open(sent.jobs) == 0, "the end of all jobs", limit_s=END_S)
                wall_s = time.monotonic() - began
            place.check(sent.jobs)
            print(f"{sent.refused} submissions refused and sent again; all ended {healed_s:.1f} s after healing")
            reached = report(place, sent.jobs, wall_s, processor.used_s)
    report_load()
    return 0 if reached else 1


def _pids(place: Installation, played: ProcessGround) -> dict[str, list[int]]:
    """Who is at work: roots of trees of processes."""
    server = place.postgres.data / "postmaster.pid"
    lines = server.read_text().splitlines() if server.exists() else []
    return {"API": [place.parts[0].process.pid], **played.pids, "PostgreSQL": [int(line) for line in lines[:1]]}


if __name__ == "__main__":
    raise SystemExit(main())
