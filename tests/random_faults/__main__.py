"""Random faults in process, as a table; a seed that fails is repeated by `--seed`.

python -m tests.random_faults [--seeds 950] [--first 0]
python -m tests.random_faults --seed 17
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections import Counter

from tests.random_faults.checking import violations
from tests.random_faults.running import run
from tests.random_faults.schedule import Kind, drawn


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=950, help="how many")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, help="only this one, with its schedule")
    given = parser.parse_args()
    if given.seed is not None:
        sys.stdout.write(f"{drawn(given.seed)}\n")
    seeds = range(given.first, given.first + given.seeds) if given.seed is None else [given.seed]
    happened: Counter[Kind] = Counter()
    schedules: Counter[Kind] = Counter()
    failed, began = 0, time.monotonic()
    for seed in seeds:
        ground = asyncio.run(run(drawn(seed)))
        happened += ground.happened
        schedules.update(set(ground.happened))
        if found := violations(ground):
            failed += 1
            sys.stdout.write(f"seed {seed} (python -m tests.random_faults --seed {seed}):\n")
            sys.stdout.writelines(f"  {text}\n" for text in found)
    sys.stdout.write("| fault | times | in schedules |\n|---|---|---|\n")
    sys.stdout.writelines(f"| {kind} | {happened[kind]} | {schedules[kind]} |\n" for kind in Kind)
    seconds = time.monotonic() - began
    sys.stdout.write(f"{len(seeds)} schedules, {failed} with violations, {seconds:.0f} s\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
