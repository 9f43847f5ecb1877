"""What a table of rows comes to."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

from kernelwright.bench.categories import Category
from kernelwright.bench.rows import STRONGEST, BenchRow, DeviceSpending
from kernelwright.bench.terms import BenchTerms
from services.domain.measurements import BASELINES, Gain, gain_within

FAST_P = (0.0, 0.8, 1.0, 1.5, 2.0)
"""fast_p: share of all problems with a correct kernel more than p times as fast as a baseline (KernelBench, section 3);
fast_0 is correctness."""
RIVALS = (*BASELINES, STRONGEST)


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How accepted kernels stand against one baseline."""

    fast_p: dict[str, float]
    """p to the share of all problems, also those without a kernel."""
    surely_faster: int
    """Kernels whose 95 % interval lies above 1."""
    geometric_mean: float | None
    """Of the speedups of accepted kernels; None where there is none."""
    measured: int
    """How many kernels the mean is of: those accepted whose baseline was measured."""


@dataclass(frozen=True, kw_only=True)
class Totals:
    """What rows come to."""

    problems: int
    accepted: int
    """Problems with a correct kernel."""
    against: dict[str, Standing]
    """By baseline, `strongest` included."""
    statuses: dict[str, int]
    """How many jobs ended how."""
    authors: dict[str, int]
    """Who wrote how many of the best kernels."""
    from_compiler: int
    """Best kernels that are, or descend from, the compiler's draft."""
    device_s: DeviceSpending
    sol_score: float
    """Mean over all problems of `sol_score`; 0 counts where there is no kernel."""


@dataclass(frozen=True, kw_only=True)
class BenchDocument:
    """What `bench --json` prints and `results.json` holds."""

    terms: BenchTerms
    hardware: str | None
    referee_version: str | None
    problems: tuple[BenchRow, ...]
    accepted: int
    totals: Totals
    categories: dict[str, Totals]
    """By category, of those that occur."""
    groups: dict[str, Totals]
    """By the suite's own categories, where it has any."""
    remaining: tuple[str, ...]
    """Problems that were asked for and have no row yet."""


def summarise(rows: Sequence[BenchRow], terms: BenchTerms, remaining: Sequence[str] = ()) -> BenchDocument:
    """A table and its totals."""
    totals = total(rows)
    by_category = {each.value: [row for row in rows if row.category is each] for each in Category}
    return BenchDocument(
        terms=terms,
        hardware=next((row.hardware for row in rows if row.hardware is not None), None),
        referee_version=next((row.referee_version for row in rows if row.referee_version), terms.referee_version),
        problems=tuple(rows),
        accepted=totals.accepted,
        totals=totals,
        categories={name: total(found) for name, found in by_category.items() if found},
        groups={name: total([row for row in rows if row.group == name]) for name in _groups(rows)},
        remaining=tuple(remaining),
    )


def total(rows: Sequence[BenchRow]) -> Totals:
    """The totals of some rows."""
    accepted = [row for row in rows if row.accepted]
    return Totals(
        problems=len(rows),
        accepted=len(accepted),
        against={rival: _standing(rows, rival) for rival in RIVALS},
        statuses=_counted(rows, lambda row: row.status.value),
        authors=_counted(accepted, lambda row: row.author.value if row.author is not None else None),
        from_compiler=sum(row.from_compiler for row in accepted),
        device_s=reduce(DeviceSpending.__add__, (row.device_s for row in rows), DeviceSpending()),
        sol_score=math.fsum(map(sol_score, rows)) / len(rows) if rows else 0.0,
    )


def sol_score(row: BenchRow) -> float:
    """SOL-ExecBench's score, from 0 to 1: with times over that of the kernel, baseline b and floor f it is
    1 / (1 + (1 - f) / (b - f)), which is 0.5 for the strongest baseline's time and 1 for the roofline's.

    The floor is our own roofline, not the suite's. Both figures are of the first input set, the only one with a
    roofline. 0 where there is no accepted kernel, no roofline or no baseline."""
    floor, baseline = row.roofline_fraction, row.first_set_speedup
    if not row.accepted or floor is None or baseline is None:
        return 0.0
    if floor >= 1:
        return 1.0
    return 0.0 if baseline <= floor else (baseline - floor) / (baseline - floor + 1 - floor)


def share_faster(rows: Sequence[BenchRow], rival: str, p: float) -> float:
    """fast_p: more than p times as fast; at 0 every correct kernel counts, measured or not."""
    if not rows:
        return 0.0
    return sum(row.accepted and (p == 0 or row.figures.get(rival, 0.0) > p) for row in rows) / len(rows)


def accepted_figures(rows: Sequence[BenchRow], rival: str) -> list[float]:
    """Speedups of accepted kernels over a baseline, of those measured."""
    return [row.figures[rival] for row in rows if row.accepted and row.figures.get(rival, 0.0) > 0]


def _standing(rows: Sequence[BenchRow], rival: str) -> Standing:
    figures = accepted_figures(rows, rival)
    bounds = [row.bounds.get(rival) for row in rows if row.accepted]
    return Standing(
        fast_p={f"{p:g}": share_faster(rows, rival, p) for p in FAST_P},
        surely_faster=sum(gain_within(each) is Gain.SURELY for each in bounds),
        geometric_mean=math.exp(math.fsum(map(math.log, figures)) / len(figures)) if figures else None,
        measured=len(figures),
    )


def _groups(rows: Sequence[BenchRow]) -> list[str]:
    return sorted({row.group for row in rows if row.group is not None})


def _counted(rows: Sequence[BenchRow], what: Callable[[BenchRow], str | None]) -> dict[str, int]:
    return dict(Counter(name for name in map(what, rows) if name is not None).most_common())
