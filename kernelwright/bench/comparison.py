"""Two runs of a suite beside each other, problem by problem, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from kernelwright.bench.rows import STRONGEST, BenchRow
from kernelwright.bench.totals import sol_score
from services.domain.errors import ConflictError, UserError

DRAWS = 10_000
SEED = 20_261_123
Figure = Callable[[BenchRow], float]


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One figure of both runs, over the problems that both have."""

    name: str
    a: float
    b: float
    difference: float
    """b less a; for geometric means b over a."""
    low: float
    high: float
    """95 % interval of the difference: problems resampled in pairs."""
    problems: int

    @property
    def is_sure(self) -> bool:
        """Whether the interval leaves out equality."""
        equal = 1.0 if self.name.startswith("geometric mean") else 0.0
        return not self.low <= equal <= self.high


@dataclass(frozen=True, kw_only=True)
class Compared:
    """What two runs come to beside each other."""

    differences: tuple[Difference, ...]
    faster_in_a: tuple[str, ...]
    """Keys of problems whose kernels' 95 % latency intervals do not meet, a's below."""
    faster_in_b: tuple[str, ...]
    only_a: tuple[str, ...]
    """Accepted in a only."""
    only_b: tuple[str, ...]
    left_out: tuple[str, ...]
    """Keys that one run lacks, or whose problem's text differs."""


def compare(a: Sequence[BenchRow], b: Sequence[BenchRow]) -> Compared:
    """Both runs over the problems they share. Raises `UserError` where there are none, `ConflictError` where they were
    made on other hardware or under another referee."""
    _check_machines(a, b)
    known = {row.key: row for row in b}
    pairs = [(row, known[row.key]) for row in a if row.key in known and known[row.key].source_hash == row.source_hash]
    if not pairs:
        raise UserError("the two runs have no problem in common: name results of the same suite and part")
    shared = {one.key for one, _ in pairs}
    both = [(one, other) for one, other in pairs if one.accepted and other.accepted]
    measured = [pair for pair in both if all(row.figures.get(STRONGEST, 0.0) > 0 for row in pair)]
    timed = [(one, other) for one, other in both if one.latency_ci95_us and other.latency_ci95_us]
    return Compared(
        differences=tuple(_differences(pairs, measured)),
        faster_in_a=tuple(one.key for one, other in timed if _below(one, other)),
        faster_in_b=tuple(one.key for one, other in timed if _below(other, one)),
        only_a=tuple(one.key for one, other in pairs if one.accepted and not other.accepted),
        only_b=tuple(one.key for one, other in pairs if other.accepted and not one.accepted),
        left_out=tuple(sorted({row.key for row in (*a, *b)} - shared)),
    )


def _differences(
    pairs: Sequence[tuple[BenchRow, BenchRow]], measured: Sequence[tuple[BenchRow, BenchRow]]
) -> Iterator[Difference]:
    yield _mean("accepted (fast_0)", pairs, lambda row: float(row.accepted))
    for p in (1.0, 1.5, 2.0):
        yield _mean(f"fast_{p:g} vs strongest", pairs, partial(_is_faster, p=p))
    yield _mean("SOL score", pairs, sol_score)
    if measured:
        yield _geometric(measured)


def _is_faster(row: BenchRow, p: float) -> float:
    return float(row.accepted and row.figures.get(STRONGEST, 0.0) > p)


def _mean(name: str, pairs: Sequence[tuple[BenchRow, BenchRow]], figure: Figure) -> Difference:
    a, b = (np.array([figure(pair[side]) for pair in pairs]) for side in (0, 1))
    low, high = _interval(b - a)
    return Difference(
        name=name,
        a=float(a.mean()),
        b=float(b.mean()),
        difference=float((b - a).mean()),
        low=low,
        high=high,
        problems=len(pairs),
    )


def _geometric(pairs: Sequence[tuple[BenchRow, BenchRow]]) -> Difference:
    a, b = (np.log([pair[side].figures[STRONGEST] for pair in pairs]) for side in (0, 1))
    low, high = _interval(b - a)
    means = [float(np.exp(value)) for value in (a.mean(), b.mean(), (b - a).mean(), low, high)]
    return Difference(
        name="geometric mean vs strongest, accepted in both",
        a=means[0],
        b=means[1],
        difference=means[2],
        low=means[3],
        high=means[4],
        problems=len(pairs),
    )


def _interval(values: np.ndarray) -> tuple[float, float]:
    """Percentile bootstrap of the mean, the same on every call."""
    draws = np.random.default_rng(SEED).integers(0, len(values), size=(DRAWS, len(values)))
    low, high = np.percentile(values[draws].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)


def _below(one: BenchRow, other: BenchRow) -> bool:
    assert one.latency_ci95_us is not None
    assert other.latency_ci95_us is not None
    return one.latency_ci95_us[1] < other.latency_ci95_us[0]


def _check_machines(a: Sequence[BenchRow], b: Sequence[BenchRow]) -> None:
    for what in ("hardware", "referee_version"):
        sides = [{getattr(row, what) for row in rows} - {None} for rows in (a, b)]
        if all(sides) and sides[0] != sides[1]:
            first, second = (", ".join(sorted(side)) for side in sides)
            raise ConflictError(
                f"the runs differ in {what.replace('_', ' ')} ({first}; {second}): their figures cannot be set against "
                "each other; run both on the same machine and version"
            )
