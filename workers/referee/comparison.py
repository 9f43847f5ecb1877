"""Is an output right? Shape, dtype, where it is not finite, a tolerance per element, and a bound on its whole error.

The element tolerance alone is not enough: zeros pass where outputs are small, and a silent downgrade to half precision
passes 1e-3. The bound compares the relative Frobenius error with the reference's own error against float64: honest
reassociation stays within a small multiple of it, TF32 and fp16 are two orders of magnitude away. In 16-bit types the
rounding of the result is most of the error, for everybody: the multiple is small there. Rows and columns have bounds of
their own, since faint ones do not count in the whole.
"""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from workers.ipc.tensors import TensorMeta
from workers.referee.pieces import pieces

ERROR_MULTIPLE = 16.0
"""How many times the reference's own error a candidate may be off."""
ROUNDED_MULTIPLE = 3.0
"""The same for 16-bit types, whose error is at least one rounding."""
LINE_MULTIPLE = 5.0
"""How many times as much a single row or column may be off: its own error is one draw of a random figure."""
ROUNDED_LINE_MULTIPLE = 1.5
"""The same for 16-bit types: roundings of many elements are much alike in sum."""
LEAST_LINE = 32
"""Elements from which on a row or column has a bound of its own."""
BLOCK = 64
"""Neighbouring elements of a row that have a bound of their own together."""
BANDS = 24
"""Powers of four of magnitude, from the largest element on, in which elements are judged together."""
LEAST_BAND = 32
"""Elements from which on a band is judged."""
FAINT_LINE = 1e-3
"""Rows weaker than this share of the usual one are measured against that share."""
STEPS_MULTIPLE = 4.0
"""Rounded results that may be one step off, over those that are where inputs are nudged."""
FEW_STEPS = 2.5
"""Elements that may be so where that is known to happen at all."""
MOST_COMPARED = 1 << 20
"""Elements of which rows and columns are looked at: a stretch of leading slices chosen at random."""
MOST_BANDED = 1 << 17
"""The same for judging by magnitude, which takes longer."""
PEAK_MULTIPLE = 8.0
"""How many times the reference's largest own element error is allowed on top of the tolerance of an element."""
_TINY = 1e-300
_NOTHING = torch.zeros(1), torch.ones(1)
"""Norms where there is nothing to judge."""


@dataclass(frozen=True, kw_only=True)
class Tolerance:
    """What one dtype is allowed."""

    atol: float
    """For outputs whose root mean square is 1; scaled down for smaller ones unless the problem gave it."""
    rtol: float
    error_floor: float
    """Relative Frobenius error that is always accepted (summation in another order)."""
    rounding: float = 0.0
    """Relative Frobenius error of rounding once, for types in which that is most of the error."""
    given: bool = False
    """Whether the problem's file set it."""

    def bound(self, relative: float, known: bool) -> float:
        """The relative error that is allowed beside the reference's own, where that is known."""
        if self.given or not known or not self.rounding:
            return max(ERROR_MULTIPLE * relative, self.error_floor)
        return ROUNDED_MULTIPLE * max(relative, self.rounding)


@dataclass(frozen=True, kw_only=True)
class ErrorScale:
    """How far the reference itself is from float64, for one kind of draw and one output."""

    relative: float = 0.0
    """Relative Frobenius error."""
    peak: float = 0.0
    """Largest absolute error of an element."""
    rms: float | None = None
    """Root mean square of the output, which `peak` belongs to."""
    row: float = 0.0
    """Relative error of its worst row."""
    column: float = 0.0
    """Relative error of its worst column."""
    block: float = 0.0
    """Relative error of its worst block of neighbours."""
    faint: float = 1.0
    """Error of faint elements, over the root mean square of all, that is everybody's: where results are sums, faint
    ones are what is left of large terms. 1 where nothing is known of it."""
    known: bool = False
    """Whether there was a float64 run to compare with."""
    steps: float = 0.0
    """Share of whole numbers that are one step off where inputs are nudged: what was rounded lay near the middle."""


@dataclass(frozen=True, kw_only=True)
class Mismatch:
    """The first thing that is wrong with an output."""

    detail: str


_DEFAULTS = {
    "float64": Tolerance(atol=1e-8, rtol=1e-8, error_floor=1e-12),
    "float32": Tolerance(atol=1e-4, rtol=1e-4, error_floor=2e-5),
    "float16": Tolerance(atol=1e-2, rtol=1e-2, error_floor=1.5e-3, rounding=2.1e-4),
    "bfloat16": Tolerance(atol=1e-2, rtol=1.6e-2, error_floor=1.2e-2, rounding=1.7e-3),
    "complex64": Tolerance(atol=1e-4, rtol=1e-4, error_floor=2e-5),
    "complex128": Tolerance(atol=1e-8, rtol=1e-8, error_floor=1e-12),
}
_EXACT = Tolerance(atol=0.0, rtol=0.0, error_floor=0.0)


def tolerances(given: Mapping[Any, Any] | None) -> dict[str, Tolerance]:
    """Tolerances by dtype name, with a problem's own `TOLERANCE` on top. Raises `ValueError`, `TypeError`."""
    table = dict(_DEFAULTS)
    for key, value in (given or {}).items():
        name = str(key).removeprefix("torch.")
        atol, rtol = (float(item) for item in value)
        if not (0 <= atol < float("inf") and 0 <= rtol < 1):
            raise ValueError(f"{name}: atol must be ≥ 0 and rtol in [0, 1)")
        floor = max(rtol, _DEFAULTS.get(name, _EXACT).error_floor)
        table[name] = Tolerance(atol=atol, rtol=rtol, error_floor=floor, given=True)
    return table


def error_scale(output: torch.Tensor, exact: torch.Tensor | None) -> ErrorScale:
    """How far the reference's `output` is from its `exact` float64 counterpart."""
    if exact is None or not output.is_floating_point() or output.numel() == 0 or output.shape != exact.shape:
        return ErrorScale()
    norm, error, peak = 0.0, 0.0, 0.0
    for own, other in pieces(output, exact):
        finite = torch.isfinite(own) & torch.isfinite(other)
        difference = torch.where(finite, own.double() - other, 0.0)
        norm = math.hypot(norm, float(torch.linalg.vector_norm(torch.where(finite, other, 0.0))))
        error = math.hypot(error, float(torch.linalg.vector_norm(difference)))
        peak = max(peak, float(difference.abs().max()))
    rms = norm / max(1.0, float(output.numel())) ** 0.5
    row, column, block = (_worst_line(*lines)[0] for lines in _lines(output, exact))
    return ErrorScale(
        relative=min(error / max(norm, _TINY), 1e-2),
        peak=peak,
        rms=rms,
        row=row,
        column=column,
        block=block,
        known=exact.dtype is torch.float64,
    )


def worse(one: ErrorScale, other: ErrorScale) -> ErrorScale:
    """Both errors are allowed."""
    return dataclasses.replace(
        one,
        relative=max(one.relative, other.relative),
        peak=max(one.peak, other.peak),
        row=max(one.row, other.row),
        column=max(one.column, other.column),
        block=max(one.block, other.block),
        faint=max(one.faint, other.faint),
        steps=max(one.steps, other.steps),
    )


def _lines(actual: torch.Tensor, expected: torch.Tensor) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Norms of the differences and of the expected values, for rows (of the last dimension), columns and blocks.

    Of large outputs a stretch of the leading dimension, chosen at random, is looked at."""
    if expected.dim() < 1 or not expected.is_floating_point():
        return [_NOTHING] * 3
    apart, wanted = _stretch(actual, expected)
    if expected.dim() < 2:
        return [_NOTHING, _NOTHING, _blocks(apart, wanted)]
    found = []
    for axis, length in ((1, wanted.shape[1]), (0, wanted.shape[0])):
        long = length >= LEAST_LINE
        found.append(
            (torch.linalg.vector_norm(apart, dim=axis), torch.linalg.vector_norm(wanted, dim=axis))
            if long
            else _NOTHING
        )
    return [*found, _blocks(apart, wanted)]


def _stretch(
    actual: torch.Tensor, expected: torch.Tensor, most: int = MOST_COMPARED
) -> tuple[torch.Tensor, torch.Tensor]:
    """Differences and expected values of a stretch of the leading dimension, as rows, without what is not finite."""
    slices = max(1, min(expected.shape[0], most * expected.shape[0] // max(1, expected.numel())))
    start = random.randrange(expected.shape[0] - slices + 1) if slices < expected.shape[0] else 0  # noqa: S311
    last = expected.shape[-1] if expected.dim() > 1 else slices
    wanted = expected.narrow(0, start, slices).float().reshape(-1, last)
    apart = (actual.narrow(0, start, slices).float().reshape(wanted.shape) - wanted).nan_to_num(0.0, 0.0, 0.0)
    return apart, wanted.nan_to_num(0.0, 0.0, 0.0)


def _blocks(apart: torch.Tensor, wanted: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The norms of blocks of neighbours within rows; they begin at a place that nobody knows."""
    count = wanted.shape[1] // BLOCK
    if count < 2 or wanted.shape[0] == 0:
        return _NOTHING
    start = random.randrange(wanted.shape[1] - count * BLOCK + 1)  # noqa: S311 - no secret, but hard to foresee
    parts = (one.narrow(1, start, count * BLOCK).reshape(-1, BLOCK) for one in (apart, wanted))
    errors, norms = (torch.linalg.vector_norm(part, dim=1) for part in parts)
    return errors, norms


def _worst_band(actual: torch.Tensor, expected: torch.Tensor, relative: float, faint: float) -> tuple[float, float]:
    """Elements of like magnitude, judged together: the band whose error is most beyond what it is allowed, `relative`
    of its own magnitude and `faint` of the whole's. How many times as much, and the band's magnitude."""
    apart, wanted = (one.flatten() for one in _stretch(actual, expected, MOST_BANDED))
    magnitude = wanted.abs()
    largest = float(magnitude.max())
    if largest <= 0.0:
        return 0.0, 0.0
    band = (torch.log2(magnitude / largest) * -0.5).clamp_(0, BANDS - 1).long()
    sums = torch.zeros(3, BANDS)
    for row, values in zip(sums, (torch.ones_like(wanted), apart.square(), wanted.square()), strict=True):
        row.copy_(torch.bincount(band, weights=values, minlength=BANDS))
    counts, errors, squares = sums
    error, own = (errors / counts.clamp_min(1)).sqrt(), (squares / counts.clamp_min(1)).sqrt()
    usual = float((squares.sum() / counts.sum()).sqrt())
    over = torch.where(counts >= LEAST_BAND, error / (relative * own + faint * usual), 0.0)
    worst = int(over.argmax())
    return float(over[worst]), float(own[worst])


def _worst_line(errors: torch.Tensor, norms: torch.Tensor) -> tuple[float, int]:
    """The largest relative error of a line, and which line has it."""
    usual = float(torch.linalg.vector_norm(norms)) / max(1, norms.numel()) ** 0.5
    relative = errors / norms.clamp_min(max(FAINT_LINE * usual, 1e-30))
    worst = int(relative.argmax())
    return float(relative[worst]), worst


def compare(
    actual: torch.Tensor, expected: torch.Tensor, scale: ErrorScale, table: Mapping[str, Tolerance]
) -> Mismatch | None:
    """The first mismatch of one output, or None when it is right."""
    if actual.shape != expected.shape:
        return Mismatch(detail=f"has shape {list(actual.shape)}, expected {list(expected.shape)}")
    if actual.dtype != expected.dtype:
        return Mismatch(detail=f"has dtype {_name(actual)}, expected {_name(expected)}")
    if expected.numel() == 0:
        return None
    tolerance = table.get(_name(expected), _EXACT)
    if not (expected.is_floating_point() or expected.is_complex()):
        return _compare_exactly(actual, expected, scale)
    difference = actual - expected
    largest = _largest(difference)
    if largest == 0.0:  # all equal, and finite: infinities and NaN differ from themselves
        return None
    if math.isfinite(largest):  # then everything is finite, and that took one pass
        return _compare_values(actual, expected, (difference, largest), scale, tolerance)
    wrong = _compare_finiteness(actual, expected)
    if wrong is not None:
        return wrong
    finite = torch.isfinite(expected)
    difference = torch.where(finite, difference, 0)
    apart = (difference, _largest(difference))
    return _compare_values(actual, torch.where(finite, expected, 0), apart, scale, tolerance)


def step_scale(nudged: torch.Tensor, exact: torch.Tensor) -> float:
    """Share of whole numbers that differ by one step; 0 where any differs by more: those are no rounded figures."""
    if nudged.shape != exact.shape or nudged.numel() == 0:
        return 0.0
    apart = (nudged.long() - exact.long()).abs()
    return 0.0 if int(apart.max()) > 1 else float(apart.double().mean())


def _compare_exactly(actual: torch.Tensor, expected: torch.Tensor, scale: ErrorScale) -> Mismatch | None:
    if torch.equal(actual, expected):
        return None
    if scale.steps > 0:
        share = step_scale(actual, expected)
        if 0 < share <= max(STEPS_MULTIPLE * scale.steps, FEW_STEPS / expected.numel()):
            return None
    return _worst(actual, expected, (actual != expected).to(torch.uint8), "differs")


def _compare_finiteness(actual: torch.Tensor, expected: torch.Tensor) -> Mismatch | None:
    if _surely_finite(actual) and _surely_finite(expected):
        return None
    same_nan = torch.isnan(actual) == torch.isnan(expected)
    if expected.is_complex():
        wrong = ~same_nan
    else:
        infinite = torch.isinf(actual) | torch.isinf(expected)
        wrong = ~same_nan | (infinite & (actual != expected))
    if not bool(wrong.any()):
        return None
    return _worst(actual, expected, wrong.to(torch.uint8), "is not finite where expected, or finite where not")


def _surely_finite(tensor: torch.Tensor) -> bool:
    """True only when every value is finite: then, overflow apart, their sum is, and that takes one pass."""
    return bool(torch.isfinite(tensor.sum())) or bool(torch.isfinite(tensor).all())


def _compare_values(
    actual: torch.Tensor,
    expected: torch.Tensor,
    apart: tuple[torch.Tensor, float],
    scale: ErrorScale,
    tolerance: Tolerance,
) -> Mismatch | None:
    """`apart` is the difference and the magnitude of its largest element."""
    difference, largest = apart
    norm = _norm(expected)
    rms = norm / max(1.0, float(expected.numel())) ** 0.5
    error = _norm(difference) / max(norm, _TINY)
    if norm == 0.0:
        error = 0.0 if largest <= tolerance.atol * 1e-3 else float("inf")
    bound = tolerance.bound(scale.relative, scale.known)
    allowed = _element_allowance(scale, tolerance, rms)
    if largest > allowed:  # else no element can be off, and the passes below are saved
        excess = difference.abs() - tolerance.rtol * expected.abs()
        if float(excess.max()) > allowed:
            what = f"is off by more than {allowed:.3g} + {tolerance.rtol:.3g}·|expected|"
            return _worst(actual, expected, excess, what)
    if error > bound:
        detail = f"has a relative error of {error:.3g} as a whole; the bound is {bound:.3g}"
        return _worst(actual, expected, difference.abs(), detail)
    return None if tolerance.given else _compare_lines(actual, expected, scale, tolerance)


def _compare_lines(
    actual: torch.Tensor, expected: torch.Tensor, scale: ErrorScale, tolerance: Tolerance
) -> Mismatch | None:
    """A row or column that is wrong for itself, however little it counts in the whole."""
    names = (("row", scale.row), ("column", scale.column), ("block", scale.block))
    whole = tolerance.bound(scale.relative, scale.known)
    multiple = ROUNDED_LINE_MULTIPLE if tolerance.rounding and scale.known else LINE_MULTIPLE
    for (name, own), lines in zip(names, _lines(actual, expected), strict=True):
        bound = max(multiple * whole, tolerance.bound(own, scale.known))
        error, index = _worst_line(*lines)
        if error > bound:
            return Mismatch(detail=f"has a relative error of {error:.3g} in {name} {index}; the bound is {bound:.3g}")
    if not tolerance.rounding and scale.known and scale.faint < whole:
        over, magnitude = _worst_band(actual, expected, multiple * whole, scale.faint)
        if over > 1.0:
            return Mismatch(detail=f"is off {over:.3g} times the bound where it is about {magnitude:.3g}")
    return None


def _element_allowance(scale: ErrorScale, tolerance: Tolerance, rms: float) -> float:
    if tolerance.given:
        return tolerance.atol
    peak = scale.peak * (rms / scale.rms if scale.rms else 1.0)
    return tolerance.atol * min(1.0, rms) + PEAK_MULTIPLE * peak


def _largest(tensor: torch.Tensor) -> float:
    """The largest magnitude; NaN where there is one."""
    return float(torch.linalg.vector_norm(tensor, ord=math.inf))


def _norm(tensor: torch.Tensor) -> float:
    if tensor.dtype is torch.float32:
        quick = float(torch.linalg.vector_norm(tensor))
        if 1e-10 < quick < 1e15:  # far from where squares overflow or vanish
            return quick
    dtype = torch.complex128 if tensor.is_complex() else torch.float64
    return float(torch.linalg.vector_norm(tensor, dtype=dtype).real)


def _worst(actual: torch.Tensor, expected: torch.Tensor, badness: torch.Tensor, what: str) -> Mismatch:
    flat = int(badness.flatten().argmax())
    index = [int(item) for item in torch.unravel_index(torch.tensor(flat), expected.shape)]
    got, wanted = actual.flatten()[flat].item(), expected.flatten()[flat].item()
    return Mismatch(detail=f"{what}: at {index} got {got:.9g}, expected {wanted:.9g}")


def _name(tensor: torch.Tensor) -> str:
    return TensorMeta.of(tensor).dtype


def partly_finite(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether every output is floating, has several leading slices, and some of them are finite and some are not."""
    return all(
        tensor.is_floating_point() and tensor.dim() and 0 < int(finite_slices(tensor).sum()) < tensor.shape[0]
        for tensor in tensors
    )


def finite_slices(tensor: torch.Tensor) -> torch.Tensor:
    """Which slices of the leading dimension are finite."""
    return torch.isfinite(tensor).reshape(tensor.shape[0], -1).all(dim=1)


def all_finite(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether every floating-point value is finite."""
    return all(bool(torch.isfinite(tensor).all()) for tensor in tensors if tensor.is_floating_point())
