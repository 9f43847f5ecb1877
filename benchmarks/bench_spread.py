"""How far two runs of `kernelwright bench --json` lie apart, problem by problem.

    kernelwright bench examples/problems --json > a.json; kernelwright bench examples/problems --json > b.json
    python -m benchmarks.bench_spread a.json b.json

Prints the speedup against the faster baseline (and against eager) of both runs and their difference, and how many
problems are within 10 %. Two runs start from two databases, or the second one begins with the first one's memory.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

WITHIN = 0.10
GOAL = 0.9
FIGURES = ("best_baseline", "eager")


def difference(one: float, other: float) -> float:
    """The larger over the smaller, less one."""
    return max(one, other) / min(one, other) - 1


def speedups(path: Path, figure: str) -> dict[str, float]:
    """Speedup of every accepted problem of a run."""
    document: dict[str, Any] = json.loads(path.read_text())
    return {row["problem"]: row["speedup"][figure] for row in document["problems"] if row["accepted"]}


def tell(paths: tuple[Path, Path], figure: str) -> bool:
    """Print one figure's differences; whether nine of ten are within 10 %."""
    one, other = (speedups(path, figure) for path in paths)
    both = [name for name in one if name in other]
    apart = {name: difference(one[name], other[name]) for name in both}
    for name in both:
        mark = "" if apart[name] <= WITHIN else "  *"
        print(f"{figure:14} {name:22} {one[name]:6.2f} {other[name]:6.2f}  {apart[name]:6.1%}{mark}")
    close = sum(value <= WITHIN for value in apart.values())
    print(f"{figure:14} within 10 %: {close} of {len(both)}\n")
    return bool(both) and close >= GOAL * len(both)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("one", type=Path)
    parser.add_argument("other", type=Path)
    given = parser.parse_args()
    met = [tell((given.one, given.other), figure) for figure in FIGURES]
    raise SystemExit(0 if met[0] else 1)


if __name__ == "__main__":
    main()
