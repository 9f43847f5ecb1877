"""`python -m tests.fuzz`: the whole fuzzing of the REST API, with a table."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.databases import postgres_database
from tests.fuzz.asking import Tally, fuzz
from tests.fuzz.ground import prepared


def main() -> int:
    """Run it; 1 where something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=5200, help="about how many in total")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--database", choices=("sqlite", "postgres"), default="sqlite")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        if given.database == "sqlite":
            tallies = _run(Path(home), None, given.cases, given.seed)
        else:
            with postgres_database() as address:
                tallies = _run(Path(home), address, given.cases, given.seed)
    return report(tallies)


def _run(home: Path, address: str | None, cases: int, seed: int) -> list[Tally]:
    with prepared(home, address) as ground:
        _say(f"{'operation':<58} {'cases':>5} {'of others':>9} {'s':>6}  answers")
        return [_told(tally) for tally in fuzz(ground, cases, number=seed)]


def _told(tally: Tally) -> Tally:
    answers = " ".join(f"{status}×{count}" for status, count in sorted(tally.statuses.items()))
    _say(f"{tally.operation:<58} {tally.cases:>5} {tally.foreign:>9} {tally.seconds:>6.1f}  {answers}")
    return tally


def report(tallies: list[Tally]) -> int:
    """Print the sum and what was wrong; the exit code."""
    faults = [f"{tally.operation}: {fault}" for tally in tallies for fault in tally.faults]
    statuses = sum((tally.statuses for tally in tallies), Counter[int]())
    broken = sum(count for status, count in statuses.items() if status >= 500)
    cases, foreign = sum(tally.cases for tally in tallies), sum(tally.foreign for tally in tallies)
    _say(
        f"\n{len(tallies)} operations, {cases} cases, {foreign} of them about another team's things: "
        f"{broken} answers of 500 and above, {len(faults)} faults, {sum(tally.seconds for tally in tallies):.0f} s"
    )
    for fault in faults[:40]:
        _say(f"\n✗ {fault}")
    return 1 if faults else 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
