"""Break everything as often as the table asks, and print the table.

python -m tests.faults [--quick] [--only WORDS] [--times N]
"""

from __future__ import annotations

import argparse
import sys
import traceback

import pytest

from tests.faults.ground import UnavailableError
from tests.faults.installation import Installation
from tests.faults.rows import ROWS, Outcome, Row, ground, happen


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="each fault once or a few times, as in the test suite")
    parser.add_argument("--only", default="", help="faults whose name contains this")
    parser.add_argument("--times", type=int, help="how often, in place of the table's numbers")
    given = parser.parse_args()
    chosen = [row for row in ROWS if given.only.lower() in row.name.lower()]
    try:
        with ground() as place:
            failed = [row.name for row in chosen if not _printed(row, _times(row, given), place)]
    except UnavailableError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(f"\n{len(chosen) - len(failed)} of {len(chosen)} hold\n")
    return 1 if failed else 0


def _times(row: Row, given: argparse.Namespace) -> int:
    if given.times is not None:
        return int(given.times)
    return row.quick if given.quick else row.full


def _printed(row: Row, times: int, place: Installation) -> bool:
    """Let a fault happen and print its line; whether everything held."""
    if times == 0:
        return True
    try:
        outcome = happen(row, times, place)
    except (UnavailableError, pytest.skip.Exception) as error:
        outcome = Outcome(fault=row.name, times=0, holds=f"not tried: {error}", seconds=0.0)
    except Exception:  # noqa: BLE001 - the other faults are tried too
        traceback.print_exc(limit=-3)
        place.keep()
        outcome = Outcome(fault=row.name, times=times, holds="DOES NOT HOLD", seconds=0.0)
    sys.stdout.write(f"| {outcome.fault} | {outcome.times} | {outcome.holds} | {outcome.seconds:.0f} s |\n")
    sys.stdout.flush()
    return outcome.holds != "DOES NOT HOLD"


if __name__ == "__main__":
    sys.exit(main())
