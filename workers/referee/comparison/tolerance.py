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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from services.domain.gates import ErrorCheck
from workers.ipc.tensors import TensorMeta
from workers.referee.comparison.block_errors import (
    lines,
    real_pairs,
    worst_band,
    worst_faint_line,
    worst_line,
    worst_slot,
)
from workers.referee.comparison.error_log import Account, largest_step, pieces, worst_element
from workers.referee.inputs.float8 import EIGHT_BIT_NAMES, LEAST_SHARE, is_eight_bit, steps_apart, widened

ERROR_MULTIPLE = 16.0
"""How many times the reference's own error a candidate may be off."""
ROUNDED_MULTIPLE = 3.0
"""The same for 16-bit types, whose error is at least one rounding."""
LINE_MULTIPLE = 5.0
"""How many times as much a single row or column may be off: its own error is one draw of a random figure."""
MOST_FAINT = 0.01
"""Relative error of the reference's faint lines from which on it says nothing of a kernel's."""
ROUNDED_LINE_MULTIPLE = 1.5
"""The same for 16-bit types: roundings of many elements are much alike in sum."""
STEPS_MULTIPLE = 4.0
"""Rounded results that may be one step off, over those that are where inputs are nudged."""
FEW_STEPS = 2.5
"""Elements that may be so where that is known to happen at all."""
PEAK_MULTIPLE = 8.0
"""How many times the reference's largest own element error is allowed on top of the tolerance of an element."""
_TINY = 1e-300


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
    looser: bool = False
    """Whether the problem's file permits more than it would be allowed without."""

    def bound(self, relative: float, known: bool) -> float:
        """The relative error that is allowed in addition to the reference's own, where that is known."""
        if self.looser or not known or not self.rounding:
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
    faint_row: float = 0.0
    """Relative error of the worst of its faint rows, over that row's own magnitude."""
    faint_column: float = 0.0
    """The same of its faint columns."""
    usual: tuple[float, ...] = ()
    """Magnitude of each element over several draws, where there are so few that those of one draw may nearly cancel;
    nothing elsewhere. Errors are measured against it."""
    slot: float = 0.0
    """Error of the worst of these elements, over its usual magnitude."""
    most: float = math.inf
    """Root mean square error that is allowed where an output that takes no work passes the other bounds; see
    `trivial_outputs`."""
    nearest: str = ""
    """Which output that is, and how far it is off, in words."""
    exact: bool = False
    """Whether all values are inputs' or constants', as they are."""
    remarks: tuple[str, ...] = ()
    """What the bounds cannot decide about this output."""


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
    """Tolerances by dtype name, with a problem's own `TOLERANCE` on top: a stricter one of an element leaves the bounds
    on whole outputs as they are, a looser one takes their place. Raises `ValueError`, `TypeError`."""
    table = dict(_DEFAULTS)
    for key, value in (given or {}).items():
        name = str(key).removeprefix("torch.")
        atol, rtol = (float(item) for item in value)
        if not (0 <= atol < float("inf") and 0 <= rtol < 1):
            raise ValueError(f"{name}: atol must be ≥ 0 and rtol in [0, 1)")
        usual = _DEFAULTS.get(name)
        if usual is not None and atol <= usual.atol and rtol <= usual.rtol:
            table[name] = replace(usual, atol=atol, rtol=rtol, given=True)
        elif usual is not None or name in EIGHT_BIT_NAMES:
            floor = max(rtol, (usual or _EXACT).error_floor)
            table[name] = Tolerance(atol=atol, rtol=rtol, error_floor=floor, given=True, looser=True)
        else:
            known = ", ".join((*_DEFAULTS, *EIGHT_BIT_NAMES))
            raise ValueError(f"{name} is compared exactly; only these have a tolerance: {known}")
    return table


def self_attested(table: Mapping[str, Tolerance]) -> str | None:
    """Why an accepted result rests on the problem's own word: its `TOLERANCE` permits more than the default. None where
    it does not."""
    looser = [f"{name} ({one.atol:g}, {one.rtol:g})" for name, one in table.items() if one.looser]
    return f"the problem's TOLERANCE is looser than the referee's for {', '.join(looser)}" if looser else None


def error_scale(output: torch.Tensor, exact: torch.Tensor | None) -> ErrorScale:
    """How far the reference's `output` is from its `exact` float64 counterpart."""
    if exact is None or not output.is_floating_point() or output.numel() == 0 or output.shape != exact.shape:
        return ErrorScale()
    if is_eight_bit(output):  # is judged by steps
        return ErrorScale()
    norm, error, peak = 0.0, 0.0, 0.0
    for own, other in pieces(output, exact):
        finite = torch.isfinite(own) & torch.isfinite(other)
        difference = torch.where(finite, own.double() - other, 0.0)
        norm = math.hypot(norm, _norm(torch.where(finite, other, 0.0)))
        error = math.hypot(error, _norm(difference))
        peak = max(peak, float(difference.abs().max()))
    rms = norm / max(1.0, float(output.numel())) ** 0.5
    of_lines = lines(output, exact)
    row, column, block = (worst_line(*norms)[0] for norms in of_lines)
    faint_row, faint_column = (worst_faint_line(*norms, least=0.0)[0] for norms in of_lines[:2])
    return ErrorScale(
        relative=min(error / max(norm, _TINY), 1e-2),
        peak=peak,
        rms=rms,
        row=row,
        column=column,
        block=block,
        faint_row=faint_row,
        faint_column=faint_column,
        known=exact.dtype is torch.float64,
    )


def worse(one: ErrorScale, other: ErrorScale) -> ErrorScale:
    """Both errors are allowed, of the first one's output."""
    return dataclasses.replace(
        one,
        relative=max(one.relative, other.relative),
        peak=max(one.peak, other.peak),
        row=max(one.row, other.row),
        column=max(one.column, other.column),
        block=max(one.block, other.block),
        faint=max(one.faint, other.faint),
        faint_row=max(one.faint_row, other.faint_row),
        faint_column=max(one.faint_column, other.faint_column),
        slot=max(one.slot, other.slot),
        steps=max(one.steps, other.steps),
        most=max(one.most, other.most),
        exact=one.exact and other.exact,
    )


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One output and what was expected."""

    mismatch: Mismatch | None
    """None when it is right."""
    account: Account | None
    """How far it is off; None where shapes or dtypes differ, and where there are no elements."""


def compare(
    actual: torch.Tensor, expected: torch.Tensor, scale: ErrorScale, table: Mapping[str, Tolerance]
) -> Mismatch | None:
    """The first mismatch of one output, or None when it is right."""
    return examine(actual, expected, scale, table).mismatch


def examine(
    actual: torch.Tensor, expected: torch.Tensor, scale: ErrorScale, table: Mapping[str, Tolerance]
) -> Comparison:
    """The first mismatch of one output, with how far it is off."""
    if actual.shape != expected.shape:
        return _incomparable(f"has shape {list(actual.shape)}, expected {list(expected.shape)}")
    if actual.dtype != expected.dtype:
        return _incomparable(f"has dtype {_name(actual)}, expected {_name(expected)}")
    if expected.numel() == 0:
        return Comparison(mismatch=None, account=None)
    account = Account(dtype=_name(expected))
    return Comparison(mismatch=_examined(actual, expected, scale, table, account), account=account)


def _incomparable(detail: str) -> Comparison:
    return Comparison(mismatch=Mismatch(detail=detail), account=None)


def _examined(
    actual: torch.Tensor,
    expected: torch.Tensor,
    scale: ErrorScale,
    table: Mapping[str, Tolerance],
    account: Account,
) -> Mismatch | None:
    tolerance = table.get(_name(expected), _EXACT)
    is_whole = not (expected.is_floating_point() or expected.is_complex())
    if scale.exact and not is_whole and not tolerance.looser:
        return _compare_moved(widened(actual), widened(expected), account)
    if is_eight_bit(expected):
        if not tolerance.given:
            return _compare_steps(actual, expected, scale, account)
        actual, expected = actual.float(), expected.float()
    if is_whole:
        return _compare_exactly(actual, expected, scale, account)
    difference = actual - expected
    largest = _largest(difference)
    if largest == 0.0:  # all equal, and finite: infinities and NaN differ from themselves
        account.exact()
        return None
    if math.isfinite(largest):  # then everything is finite, and that took one pass
        return _compare_values(actual, expected, (difference, largest), scale, tolerance, account)
    wrong = _compare_finiteness(actual, expected)
    if wrong is not None:
        account.not_finite()
        return wrong
    finite = torch.isfinite(expected)
    difference = torch.where(finite, difference, 0)
    apart = (difference, _largest(difference))
    got, wanted = (torch.where(finite, tensor, 0) for tensor in (actual, expected))
    return _compare_values(got, wanted, apart, scale, tolerance, account)


def step_scale(nudged: torch.Tensor, exact: torch.Tensor) -> float:
    """Share of whole numbers that differ by one step; 0 where any differs by more: those are no rounded figures."""
    if nudged.shape != exact.shape or nudged.numel() == 0:
        return 0.0
    if is_eight_bit(nudged):
        return float((steps_apart(nudged, exact.to(nudged.dtype)) > 0).double().mean())
    apart = (nudged.long() - exact.long()).abs()
    return 0.0 if int(apart.max()) > 1 else float(apart.double().mean())


def _compare_exactly(
    actual: torch.Tensor, expected: torch.Tensor, scale: ErrorScale, account: Account
) -> Mismatch | None:
    if torch.equal(actual, expected):
        account.exact()
        return None
    account.max_abs = largest_step(actual, expected)
    if scale.steps > 0:
        share, most = step_scale(actual, expected), max(STEPS_MULTIPLE * scale.steps, FEW_STEPS / expected.numel())
        if 0 < share <= most:
            account.note(ErrorCheck.STEPS, share, most)
            return None
    account.note(ErrorCheck.ELEMENT, account.max_abs, 0.0)
    return _worst(actual, expected, (actual != expected).to(torch.uint8), "differs")


def moved_apart(actual: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    """Where values differ that were only moved. Zeros of both signs are one value, what a processor may flush to zero
    is zero, and any NaN is any other."""
    least = torch.finfo(expected.dtype).tiny
    are_nothing = (actual.abs() < least) & (expected.abs() < least)
    return (actual != expected) & ~are_nothing & ~(torch.isnan(actual) & torch.isnan(expected))


def _compare_moved(actual: torch.Tensor, expected: torch.Tensor, account: Account) -> Mismatch | None:
    """Values that were only moved, selected or compared."""
    if torch.equal(actual, expected):
        account.exact()
        return None
    if (wrong := _compare_finiteness(actual, expected)) is not None:
        account.not_finite()
        return wrong
    apart = moved_apart(actual, expected)
    if not bool(apart.any()):
        account.exact()
        return None
    account.max_abs = float(torch.where(apart, actual - expected, 0).abs().max())
    account.note(ErrorCheck.ELEMENT, account.max_abs, 0.0)
    what = f"differs in {int(apart.sum())} elements, where every operator moves or selects values as they are"
    return _worst(actual, expected, apart.to(torch.uint8), what)


def _compare_steps(
    actual: torch.Tensor, expected: torch.Tensor, scale: ErrorScale, account: Account
) -> Mismatch | None:
    """8-bit numbers: few may be the next one, none another."""
    wide, wanted = actual.float(), expected.float()
    if (wrong := _compare_finiteness(wide, wanted)) is not None:
        account.not_finite()
        return wrong
    finite = torch.isfinite(wanted)
    apart = torch.where(finite, steps_apart(actual, expected), 0)
    account.max_abs = float(torch.where(finite, wide - wanted, 0.0).abs().max())
    if int(apart.max()) > 1:
        account.note(ErrorCheck.ELEMENT, float(apart.max()), 1.0)
        return _worst(wide, wanted, apart, "differs by more than one representable number")
    share = float((apart > 0).double().mean())
    most = max(STEPS_MULTIPLE * scale.steps, LEAST_SHARE, FEW_STEPS / expected.numel())
    account.note(ErrorCheck.STEPS, share, most)
    if share <= most:
        return None
    what = f"is off by one representable number in {share:.2%} of its elements; the bound is {most:.2%}"
    return _worst(wide, wanted, apart, what)


def _compare_finiteness(actual: torch.Tensor, expected: torch.Tensor) -> Mismatch | None:
    if _is_finite_by_sum(actual) and _is_finite_by_sum(expected):
        return None
    same_nan = torch.isnan(actual) == torch.isnan(expected)
    if expected.is_complex():  # which infinity a product of complex numbers is, is not specified
        wrong = ~same_nan | (torch.isinf(actual) != torch.isinf(expected))
    else:
        infinite = torch.isinf(actual) | torch.isinf(expected)
        wrong = ~same_nan | (infinite & (actual != expected))
    if not bool(wrong.any()):
        return None
    return _worst(actual, expected, wrong.to(torch.uint8), "is not finite where expected, or finite where not")


def _is_finite_by_sum(tensor: torch.Tensor) -> bool:
    """True only when every value is finite: then, overflow apart, their sum is, and that takes one pass."""
    return bool(torch.isfinite(tensor.sum())) or bool(torch.isfinite(tensor).all())


def _compare_values(
    actual: torch.Tensor,
    expected: torch.Tensor,
    apart: tuple[torch.Tensor, float],
    scale: ErrorScale,
    tolerance: Tolerance,
    account: Account,
) -> Mismatch | None:
    """`apart` is the difference and the magnitude of its largest element."""
    difference, largest = apart
    root = max(1.0, float(expected.numel())) ** 0.5
    norm = max(_norm(expected), math.hypot(*scale.usual))
    rms = norm / root
    error = _norm(difference) / max(norm, _TINY)
    if norm == 0.0:
        error = 0.0 if largest <= tolerance.atol * 1e-3 else float("inf")
    usual_bound = tolerance.bound(scale.relative, scale.known)
    bound = min(usual_bound, scale.most * root / max(norm, _TINY))
    allowed = _element_allowance(scale, tolerance, rms)
    account.worst = worst_element(actual, expected, difference, allowed, tolerance.rtol)
    account.whole(largest, error, bound)
    if largest > allowed:  # else no element can be off, and the passes below are saved
        parts = pieces(difference, expected)
        if max(float((apart.abs() - tolerance.rtol * one.abs()).max()) for apart, one in parts) > allowed:
            what = f"is off by more than {allowed:.3g} + {tolerance.rtol:.3g}·|expected|"
            return _worst(actual, expected, difference.abs() - tolerance.rtol * expected.abs(), what)
    if error > bound:
        detail = f"has a relative error of {error:.3g} as a whole; the bound is {bound:.3g}"
        if bound < usual_bound:
            off = error * norm / root
            detail = f"is off by {off:.3g} as a root mean square; {scale.nearest}, and the bound is {scale.most:.3g}"
        return _worst(actual, expected, difference.abs(), detail)
    return None if tolerance.looser else _compare_lines(actual, expected, scale, tolerance, account)


def _compare_lines(
    actual: torch.Tensor, expected: torch.Tensor, scale: ErrorScale, tolerance: Tolerance, account: Account
) -> Mismatch | None:
    """A row or column that is wrong for itself, however little it counts in the whole."""
    actual, expected = real_pairs(actual), real_pairs(expected)
    names = ((ErrorCheck.ROW, scale.row), (ErrorCheck.COLUMN, scale.column), (ErrorCheck.BLOCK, scale.block))
    whole = tolerance.bound(scale.relative, scale.known)
    multiple = ROUNDED_LINE_MULTIPLE if tolerance.rounding and scale.known else LINE_MULTIPLE
    found = lines(actual, expected)
    for (name, own), norms in zip(names, found, strict=True):
        bound = max(multiple * whole, tolerance.bound(own, scale.known))
        error, index = worst_line(*norms)
        account.note(name, error, bound)
        if error > bound:
            return Mismatch(
                detail=f"has a relative error of {error:.3g} in {name.value} {index}; the bound is {bound:.3g}"
            )
    if scale.known:
        faint = _compare_faint_lines(found[:2], scale, tolerance, multiple * whole, account)
        wrong = faint or _compare_slots(actual, expected, scale, tolerance, multiple * whole, account)
        if wrong is not None:
            return wrong
    if not tolerance.rounding and scale.known and scale.faint < whole:
        over, magnitude = worst_band(actual, expected, multiple * whole, scale.faint)
        account.note(ErrorCheck.MAGNITUDE, over, 1.0)
        if over > 1.0:
            return Mismatch(detail=f"is off {over:.3g} times the bound where it is about {magnitude:.3g}")
    return None


def _compare_faint_lines(
    rows_and_columns: Sequence[tuple[torch.Tensor, torch.Tensor]],
    scale: ErrorScale,
    tolerance: Tolerance,
    usual: float,
    account: Account,
) -> Mismatch | None:
    """Rows and columns so faint that they do not count next to others, by themselves: where the reference is exact
    there, a candidate is. `usual` is what a line is allowed."""
    faint = ((ErrorCheck.ROW, scale.faint_row), (ErrorCheck.COLUMN, scale.faint_column))
    for (name, own), norms in zip(faint, rows_and_columns, strict=True):
        if own > MOST_FAINT:
            continue
        bound = max(usual, tolerance.bound(own, known=True))
        error, index = worst_faint_line(*norms)
        account.note(name, error, bound)
        if error > bound:
            what = f"faint {name.value} {index}; the bound is {bound:.3g}"
            return Mismatch(detail=f"has a relative error of {error:.3g} in the {what}")
    return None


def _compare_slots(
    actual: torch.Tensor,
    expected: torch.Tensor,
    scale: ErrorScale,
    tolerance: Tolerance,
    usual: float,
    account: Account,
) -> Mismatch | None:
    """Each of few elements for itself, as `_compare_faint_lines` judges lines."""
    bound = max(usual, tolerance.bound(scale.slot, known=True))
    error, index = worst_slot(actual, expected, scale.usual)
    account.note(ErrorCheck.ELEMENT, error, bound)
    if error > bound:
        what = f"element {index}, of what it usually is; the bound is {bound:.3g}"
        return Mismatch(detail=f"has an error of {error:.3g} in {what}")
    return None


def _element_allowance(scale: ErrorScale, tolerance: Tolerance, rms: float) -> float:
    if tolerance.looser:
        return tolerance.atol
    peak = scale.peak * (rms / scale.rms if scale.rms else 1.0)
    allowed = tolerance.atol * min(1.0, rms) + PEAK_MULTIPLE * peak
    return min(allowed, tolerance.atol) if tolerance.given else allowed


def _largest(tensor: torch.Tensor) -> float:
    """The largest magnitude; NaN where there is one. (A norm of infinite order says the same, ten times as slowly.)"""
    if tensor.is_complex():
        return float(tensor.abs().max())
    return max(abs(float(end)) for end in tensor.aminmax())


def _norm(tensor: torch.Tensor) -> float:
    if tensor.dtype is torch.float32:
        quick = float(torch.linalg.vector_norm(tensor))
        if 1e-10 < quick < 1e15:  # far from where squares overflow or vanish
            return quick
    dtype = torch.complex128 if tensor.is_complex() else torch.float64
    norm = float(torch.linalg.vector_norm(tensor, dtype=dtype).real)
    largest = _largest(tensor) if tensor.dtype is dtype and not 1e-140 < norm < 1e140 else 0.0
    if 0.0 < largest < math.inf:
        return largest * float(torch.linalg.vector_norm(tensor / largest).real)
    return norm


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


def tells_elements(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether an element of every floating output is not NaN."""
    floats = [widened(real_pairs(one)) for one in tensors if one.is_floating_point() or one.is_complex()]
    return all(one.numel() == 0 or not bool(torch.isnan(one).all()) for one in floats)


def finite_slices(tensor: torch.Tensor) -> torch.Tensor:
    """Which slices of the leading dimension are finite."""
    return torch.isfinite(widened(tensor)).reshape(tensor.shape[0], -1).all(dim=1)


def all_finite(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether every floating-point value is finite."""
    return all(bool(torch.isfinite(widened(tensor)).all()) for tensor in tensors if tensor.is_floating_point())
