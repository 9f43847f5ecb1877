"""Whole jobs through each adapter against a provider that fails three requests of ten, as a table.

python -m tests.model_faults [--jobs 200] [--seed 7] [--only openai]
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from tests.fakes.chat_bench import NAMES
from tests.model_faults.survey import CAP, Survey, survey

HEAD = (
    "| adapter | jobs | ended | solved, no gain, unsolved, failed | calls | HTTP requests (of them faults) | "
    f"most requests for one question (cap {CAP}) | stopped by a budget | budgets passed | crashes | time |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|\n"
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=200, help="of each adapter")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--only", default="", help="adapters whose name contains this")
    given = parser.parse_args()
    sys.stdout.write(HEAD)
    holds = [_printed(name, given.jobs, given.seed) for name in NAMES if given.only in name]
    return 0 if all(holds) else 1


def _printed(name: str, jobs: int, seed: int) -> bool:
    with tempfile.TemporaryDirectory(prefix="kernelwright-faults-") as folder:
        found = asyncio.run(survey(name, jobs, Path(folder), seed=seed))
    sys.stdout.write(_row(found))
    sys.stdout.writelines(f"  {complaint}\n" for complaint in found.crashes + found.over_budget + found.over_cap)
    sys.stdout.write(f"  <!-- faults: {dict(sorted(found.faults.items()))} -->\n")
    sys.stdout.flush()
    return found.holds


def _row(found: Survey) -> str:
    ends = ", ".join(str(found.statuses[status]) for status in ("solved", "no_gain", "unsolved", "failed"))
    cells = (
        f"`{found.model.partition(':')[0]}`", found.jobs, found.ended, ends, found.calls,
        f"{found.requests} ({found.share_of_faults:.0%})", found.most_requests, found.stopped_by_budget,
        len(found.over_budget), len(found.crashes), f"{found.seconds:.0f} s",
    )  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |\n"


if __name__ == "__main__":
    sys.exit(main())
