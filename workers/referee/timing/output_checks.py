"""Every timed call's outputs compared with those that the baseline returned for the same values.

Running the reference for each timed call would double an evaluation; the baseline has just run on the same values, and
its outputs lie there. So all calls are looked at, at random places where outputs are large. What differs is no
evidence: the baseline may be compiled code, which rounds otherwise. Such a call is judged as those chosen at random
are, and how far it was off is no reason any more once it was judged right.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from workers.referee.comparison.call_outputs import Fetched, Output
from workers.referee.comparison.tolerance import Tolerance
from workers.referee.inputs.float8 import is_eight_bit

BLOCKS, BLOCK = 64, 4096
"""Of an output of more elements than these together, so many blocks are looked at."""
LENIENCE = 2.0
"""How many times as far off as a call that was judged right another may be."""
DIFFERS = 1e6
"""How far off is what cannot be compared, or holds other whole numbers."""


class Beside:
    """Looks at the calls of one measurement."""

    def __init__(self, table: Mapping[str, Tolerance]) -> None:
        """`table` has what each dtype is allowed."""
        self._table = table
        self._usual = 1.0
        """How far off calls may be, in allowances."""
        self._seen = 0.0

    def agrees(self, candidate: Fetched, baseline: Fetched) -> bool:
        """Whether a call returned about what the baseline did."""
        own, other = candidate.outputs, baseline.outputs
        if len(own) != len(other):
            self._seen = DIFFERS
            return False
        self._seen = max((self._apart(one, two) for one, two in zip(own, other, strict=True)), default=0.0)
        return self._seen <= self._usual

    def was_right(self) -> None:
        """What was looked at last has been judged right."""
        self._usual = max(self._usual, LENIENCE * self._seen)

    def _apart(self, own: Output, other: Output) -> float:
        if own.value is None or other.value is None or own.meta != other.meta:
            return DIFFERS
        one, two = _same_places(own.value.reshape(-1), other.value.reshape(-1))
        tolerance = self._table.get(own.meta.dtype) if own.meta is not None else None
        if is_eight_bit(one):
            one, two = one.view(torch.int8), two.view(torch.int8)
        if tolerance is None or not (one.is_floating_point() or one.is_complex()):
            return 0.0 if torch.equal(one, two) else 1.0 + float((one != two).double().mean())
        return apart(one, two, tolerance)


def apart(one: torch.Tensor, two: torch.Tensor, tolerance: Tolerance) -> float:
    """How far floating-point values are off, in allowances of an element or of the whole."""
    if one.numel() == 0 or torch.equal(one, two):
        return 0.0
    one, two = (value.to(torch.complex128 if value.is_complex() else torch.float64) for value in (one, two))
    same = (one == two) | (torch.isnan(one) & torch.isnan(two))
    difference = torch.where(same, 0.0, (one - two).abs())
    size = torch.where(torch.isfinite(two), two.abs(), 0.0)
    norm = float(torch.linalg.vector_norm(size))
    rms = norm / max(1, size.numel()) ** 0.5
    element = float((difference / (tolerance.atol * min(1.0, rms) + tolerance.rtol * size + 1e-300)).max())
    whole = float(torch.linalg.vector_norm(difference)) / (norm + 1e-300) / max(tolerance.error_floor, 1e-300)
    found = max(element, whole)
    return min(DIFFERS, found)  # NaN too


def _same_places(one: torch.Tensor, two: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Everything, or blocks at random places; both ends are among them as often as any other place."""
    count = one.numel()
    if count <= BLOCKS * BLOCK:
        return one, two
    starts = torch.randint(1 - BLOCK, count, (BLOCKS,)).tolist()
    spans = [(max(0, start), min(count, start + BLOCK)) for start in starts]
    return (
        torch.cat([one[start:end] for start, end in spans]),
        torch.cat([two[start:end] for start, end in spans]),
    )
