"""The pairs of a calibration, kept in a file, and how often their intervals hold by the current statistics."""

from __future__ import annotations

import contextlib
import json
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from workers.referee.timing.statistics import NoFigureError, Ratio, Uncertainty, Z, paired_ratio


@dataclass(frozen=True, kw_only=True)
class Pair:
    """One measurement of a model against itself, in seconds."""

    problem: str
    fresh_processes: bool
    """Whether both processes were started for this pair."""
    spread: float
    """What the interval allows for two processes of the same kind, as a standard deviation of the ratio's logarithm."""
    batched: bool
    candidate: tuple[float, ...]
    baseline: tuple[float, ...]
    shorter_s: float
    """A call may be so much shorter than it reads, ..."""
    longer_s: float
    """... or so much longer."""
    load: float
    """Load average over one minute, when it was taken."""
    at_s: float
    """Wall-clock time of the measurement."""

    @property
    def ratio(self) -> Ratio:
        """What a report would say of the speedup, which is 1 in truth. Raises `NoFigureError`."""
        off = Uncertainty(shorter_s=self.shorter_s, longer_s=self.longer_s)
        return paired_ratio(self.baseline, self.candidate, off, self.spread)


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What has to be the same for all pairs of a file."""

    device: str
    load: int
    """Other processes that are kept busy meanwhile."""
    sampling_s: float
    """Seconds for the samples of one pair."""


class Cell:
    """The pairs of one device under one load, in a file that grows."""

    def __init__(self, path: Path, terms: Terms | None = None) -> None:
        """Raises `ValueError` where the file belongs to another cell. Without `terms` it is only read."""
        self.pairs: list[Pair] = []
        self._path = path
        if terms is not None and not path.exists():
            path.write_text(json.dumps(asdict(terms)) + "\n", encoding="utf-8")
        first, *rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        self.terms = Terms(**first)
        if terms is not None and self.terms != terms:
            raise ValueError(f"{path} holds pairs measured on other terms: {self.terms}, not {terms}")
        self.pairs = [_pair(row) for row in rows]

    def add(self, pair: Pair) -> None:
        """Append a pair to the file at once."""
        self.pairs.append(pair)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(pair)) + "\n")


def _pair(row: dict[str, Any]) -> Pair:
    return Pair(**{**row, "candidate": tuple(row["candidate"]), "baseline": tuple(row["baseline"])})


def wilson(hits: int, count: int) -> tuple[float, float]:
    """95 % interval of a share."""
    share, square = hits / count, Z * Z / count
    middle = (share + square / 2) / (1 + square)
    reach = Z * math.sqrt(share * (1 - share) / count + square / (4 * count)) / (1 + square)
    return middle - reach, middle + reach


def report(cell: Cell) -> str:
    """The cell as text: a line for each problem, for both kinds of processes, and for all."""
    terms, pairs = cell.terms, cell.pairs
    loads = sorted(pair.load for pair in pairs)
    measured = (
        f"{terms.device}, {terms.load} busy processes of ours, {terms.sampling_s} s a pair; load average "
        f"{loads[0]:.1f} to {loads[-1]:.1f}, median {statistics.median(loads):.1f}"
    )
    names = sorted({pair.problem for pair in pairs})
    lines = [measured, *(line([pair for pair in pairs if pair.problem == name], name) for name in names)]
    for fresh, what in ((True, "fresh processes"), (False, "same processes")):
        if some := [pair for pair in pairs if pair.fresh_processes is fresh]:
            lines.append(line(some, what))
    return "\n".join([*lines, line(pairs, "all")])


def line(pairs: Sequence[Pair], what: str) -> str:
    """One line about some pairs."""
    ratios = list(_figures(pairs))
    if not ratios:
        return f"{what:16} {len(pairs)} without a figure"
    hits = sum(one.ci95[0] <= 1.0 <= one.ci95[1] for one in ratios)
    low, high = wilson(hits, len(ratios))
    spread = statistics.pstdev([math.log(one.value) for one in ratios])
    width = statistics.median(one.ci95[1] - one.ci95[0] for one in ratios)
    typical = statistics.median(1e6 * statistics.median(pair.candidate) for pair in pairs)
    others = {"batched": sum(pair.batched for pair in pairs), "without a figure": len(pairs) - len(ratios)}
    return (
        f"{what:16} {hits:3}/{len(ratios):<3} contain 1: {hits / len(ratios):4.0%} ({low:.0%}–{high:.0%})   "
        f"ratios spread by {spread:5.1%}, intervals {width:5.1%} wide   {typical:6.0f} µs"
        f"{''.join(f', {count} {name}' for name, count in others.items() if count)}"
    )


def _figures(pairs: Sequence[Pair]) -> Iterator[Ratio]:
    for pair in pairs:
        with contextlib.suppress(NoFigureError):
            yield pair.ratio
