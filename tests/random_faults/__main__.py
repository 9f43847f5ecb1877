"""Random faults as a table, in process or on real processes; a seed that fails is repeated by `--seed`.

python -m tests.random_faults --all [--passed FILE]
python -m tests.random_faults [--seeds 950] [--first 0]
python -m tests.random_faults --processes [--seeds 50] [--passed FILE]
python -m tests.random_faults [--processes] --seed 17

`--all` plays both, 1,000 schedules. `--passed` names a file of the seeds that held on real processes: they are added to
it, and left out where a run that was interrupted is taken up again.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from tests.faults.ground import UnavailableError
from tests.faults.rows import ground
from tests.random_faults.checking import violations
from tests.random_faults.processes import ProcessGround
from tests.random_faults.running import run
from tests.random_faults.schedule import Kind, drawn

IN_PROCESS, ON_PROCESSES = 950, 50


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, help="how many; 950 in process, 50 on processes")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, help="only this one, with its schedule")
    parser.add_argument("--processes", action="store_true", help="real processes, with their own Redis and PostgreSQL")
    parser.add_argument("--all", action="store_true", help="950 in process, then 50 on real processes")
    parser.add_argument("--passed", type=Path, help="file of the seeds that held on real processes")
    given = parser.parse_args()
    if given.all:
        return max(in_process(range(IN_PROCESS)), on_processes(range(ON_PROCESSES), given.passed))
    if given.seed is not None:
        sys.stdout.write(f"{drawn(given.seed)}\n")
    count = given.seeds or (ON_PROCESSES if given.processes else IN_PROCESS)
    seeds = range(given.first, given.first + count) if given.seed is None else [given.seed]
    return on_processes(seeds, given.passed) if given.processes else in_process(seeds)


def in_process(seeds: Sequence[int]) -> int:
    """Play schedules over the stores in memory; 1 where something was violated."""
    happened: Counter[Kind] = Counter()
    schedules: Counter[Kind] = Counter()
    failed, began = 0, time.monotonic()
    for seed in seeds:
        played = asyncio.run(run(drawn(seed)))
        happened += played.happened
        schedules.update(set(played.happened))
        if found := violations(played):
            failed += 1
            sys.stdout.write(f"seed {seed} (python -m tests.random_faults --seed {seed}):\n")
            sys.stdout.writelines(f"  {text}\n" for text in found)
    _print({kind: happened[kind] for kind in Kind}, schedules, len(seeds), failed, time.monotonic() - began)
    return 1 if failed else 0


def on_processes(seeds: Sequence[int], passed: Path | None = None) -> int:
    """Play schedules on real processes; 1 where something was violated, 2 where a server is not installed."""
    happened: Counter[str] = Counter()
    schedules: Counter[str] = Counter()
    failed, slowest_s, began = 0, 0.0, time.monotonic()
    held = _held(passed)
    left = [seed for seed in seeds if seed not in held]
    if len(left) < len(seeds):
        sys.stdout.write(f"{len(seeds) - len(left)} schedules held in an earlier run\n")
    try:
        with ground() as place, closing(ProcessGround(place)) as played:
            for seed in left:
                try:
                    struck = played.play(drawn(seed))
                except Exception:  # noqa: BLE001 - the other seeds are played too
                    failed += 1
                    place.keep()
                    sys.stdout.write(f"seed {seed} (python -m tests.random_faults --processes --seed {seed}):\n")
                    sys.stdout.write(traceback.format_exc(limit=-3))
                    continue
                happened += struck.happened
                schedules.update(set(struck.happened))
                slowest_s = max(slowest_s, struck.healed_s)
                sys.stdout.write(f"seed {seed}: {dict(struck.happened)}, ended {struck.healed_s:.1f} s after healing\n")
                sys.stdout.flush()
                _keep(passed, seed)
    except UnavailableError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    _print(dict(sorted(happened.items())), schedules, len(left), failed, time.monotonic() - began)
    sys.stdout.write(f"all jobs ended at most {slowest_s:.1f} s after everything was healed\n")
    return 1 if failed else 0


def _held(passed: Path | None) -> set[int]:
    return set() if passed is None or not passed.exists() else {int(line) for line in passed.read_text().split()}


def _keep(passed: Path | None, seed: int) -> None:
    if passed is not None:
        with passed.open("a") as kept:
            kept.write(f"{seed}\n")


def _print(
    happened: dict[Kind, int] | dict[str, int],
    schedules: Counter[Kind] | Counter[str],
    count: int,
    failed: int,
    took_s: float,
) -> None:
    sys.stdout.write("| fault | times | in schedules |\n|---|---|---|\n")
    sys.stdout.writelines(f"| {name} | {times} | {schedules[name]} |\n" for name, times in happened.items())  # type: ignore[index]
    sys.stdout.write(f"{count} schedules, {failed} with violations, {took_s:.0f} s\n")


if __name__ == "__main__":
    sys.exit(main())
