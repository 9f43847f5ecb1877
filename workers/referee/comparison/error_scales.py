"""How exact outputs are: scales from exact results, and what widens them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import torch

from workers.referee.comparison.block_errors import real_pairs, worst_slot
from workers.referee.comparison.tolerance import (
    ERROR_MULTIPLE,
    PEAK_MULTIPLE,
    ROUNDED_MULTIPLE,
    ErrorScale,
    error_scale,
    step_scale,
)
from workers.referee.comparison.usual_magnitudes import Slots
from workers.referee.inputs.distributions import COARSE, ROUNDING
from workers.referee.inputs.float8 import is_eight_bit, widened

ANOTHER = 1e-2
"""Of an output's largest magnitude, by which no rounding changes an element."""
ANY = 1e9
"""A relative error that nothing finite and bounded has."""


def scales_of(outputs: list[torch.Tensor], exact: list[torch.Tensor], usual: Sequence[Slots]) -> tuple[ErrorScale, ...]:
    """How far outputs are from the exact ones, one figure each; nothing is known where there are none. `usual` has
    their usual magnitudes, where they have few elements."""
    if [one.shape for one in exact] != [one.shape for one in outputs]:
        return tuple(ErrorScale(usual=one) for one in usual)
    pairs = zip(map(real_pairs, outputs), map(real_pairs, exact), usual, strict=True)
    return tuple(_with_usual(error_scale(output, other), output, other, one) for output, other, one in pairs)


def _with_usual(scale: ErrorScale, output: torch.Tensor, exact: torch.Tensor, usual: Slots) -> ErrorScale:
    """With errors measured against the usual magnitudes of an output of few elements, where its own are smaller."""
    if not usual or not scale.known:
        return scale
    slot = worst_slot(output, exact, usual)[0]
    rms = math.hypot(*usual) / len(usual) ** 0.5
    if scale.rms and rms > scale.rms:
        off = float((output.double() - exact.double()).nan_to_num(0.0, 0.0, 0.0).norm())
        scale = dataclasses.replace(scale, relative=min(off / (rms * len(usual) ** 0.5), 1e-2), rms=rms)
    return dataclasses.replace(scale, usual=usual, slot=slot)


def without_lines(scale: ErrorScale) -> ErrorScale:
    """Without bounds on rows, columns, blocks and slots, where each holds little more than one sum."""
    return dataclasses.replace(scale, row=1.0, column=1.0, block=1.0, faint_row=1.0, faint_column=1.0, slot=1.0)


def without_faint_lines(scale: ErrorScale) -> ErrorScale:
    """Without bounds on faint rows and columns: in a gradient, terms that cancel each other leave a rounding there,
    which something huge makes larger."""
    return dataclasses.replace(scale, faint_row=1.0, faint_column=1.0)


def with_lines_of(scale: ErrorScale, other: ErrorScale) -> ErrorScale:
    """With the errors of another run's worst lines, and its faint ones, where those are larger."""
    return dataclasses.replace(
        scale,
        row=max(scale.row, other.row),
        column=max(scale.column, other.column),
        faint_row=max(scale.faint_row, other.faint_row),
        faint_column=max(scale.faint_column, other.faint_column),
    )


def with_shifts(
    scales: Sequence[ErrorScale], given: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]
) -> tuple[ErrorScale, ...]:
    """With what a rounding of the largest number given explains in every element; see `with_shift`."""
    by = ROUNDING * max(map(largest_finite, given), default=0.0)
    return tuple(with_shift(scale, output, by) for scale, output in zip(scales, outputs, strict=True))


def with_shift(scale: ErrorScale, output: torch.Tensor, by: float) -> ErrorScale:
    """With a relative error of every element that inputs of such magnitude explain; see `EXPONENTIALS`. Of an output of
    zeros alone, which is what is left of terms about one, an absolute error."""
    if not output.is_floating_point() or output.dtype is torch.float64 or not scale.known:
        return scale
    share = min(by, 1e-2) / (ERROR_MULTIPLE if output.dtype is torch.float32 else ROUNDED_MULTIPLE)
    peak = min(by, 1e-2) * (largest_finite(output) or 1.0) / PEAK_MULTIPLE
    return dataclasses.replace(
        scale,
        relative=max(scale.relative, share),
        peak=max(scale.peak, peak),
        rms=scale.rms,
        row=max(scale.row, share),
        column=max(scale.column, share),
        block=max(scale.block, share),
        faint=1.0,
        faint_row=max(scale.faint_row, share),
        faint_column=max(scale.faint_column, share),
        slot=max(scale.slot, share),
    )


def within_range(scale: ErrorScale, largest: float) -> ErrorScale:
    """By which elements may be off by four times the largest output, whatever they are: what is far outside of a range
    is wrong, and what is not finite."""
    return dataclasses.replace(
        scale,
        relative=ANY,
        peak=4 * largest / PEAK_MULTIPLE,
        row=ANY,
        column=ANY,
        block=ANY,
        faint=ANY,
        faint_row=ANY,
        faint_column=ANY,
        slot=ANY,
    )


def is_by_range(scale: ErrorScale) -> bool:
    """Whether only what is far outside of the range is wrong."""
    return scale.relative == ANY


def largest_finite(tensor: torch.Tensor) -> float:
    """The largest finite magnitude of floating-point numbers; 0 for others."""
    if not tensor.is_floating_point() or tensor.numel() == 0:
        return 0.0
    return float(widened(tensor).abs().nan_to_num(0.0, 0.0, 0.0).max())


def is_counted(tensor: torch.Tensor) -> bool:
    """Whether an output is judged by how many of its elements are a step off: whole numbers and 8-bit ones."""
    return is_eight_bit(tensor) or not (tensor.is_floating_point() or tensor.is_complex())


def has_jumps(moved: Sequence[torch.Tensor], exact: Sequence[torch.Tensor], places: Sequence[int]) -> bool:
    """Whether roundings change whole numbers among the outputs in these places by more than one step, or what there
    is of outputs at all, as values beyond the ends of what may be do."""
    return len(moved) != len(exact) or any(_jumps(moved[place], exact[place]) for place in places)


def _jumps(moved: torch.Tensor, exact: torch.Tensor) -> bool:
    if exact.is_floating_point() or exact.is_complex() or moved.shape != exact.shape or exact.numel() == 0:
        return False
    return int((moved.long() - exact.long()).abs().max()) > 1


def other_elements(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Which elements of an output are others than in one of nearly the same arguments: places, or values from
    elsewhere. Both have one shape."""
    wide, known = (real_pairs(widened(tensor)) for tensor in (one, other))
    if is_counted(other) or not other.numel():
        return wide != known
    return ~((wide.double() - known.double()).abs() <= ANOTHER * known.double().abs().max())


def has_other_elements(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether it has such elements, or others by number."""
    return one.shape != other.shape or bool(other_elements(one, other).any())


def with_steps(
    scale: ErrorScale, coarse: torch.Tensor, moved: torch.Tensor, exact: torch.Tensor, own: torch.Tensor
) -> ErrorScale:
    """With the share of rounded results that a rounding of the inputs changes, or roundings on the way to them: those
    in which the reference's `own` results are not the exact ones (an exponential of nearly nothing is one or just
    below, and no change of the input in proportion shows that). What a rounding changes is few of many results, seen
    best by a `coarse` one; but not where inputs are such that results lie just between two numbers, as `moved`
    shows."""
    if (exact.is_floating_point() or exact.is_complex()) and not is_eight_bit(own):
        return scale
    inputs = step_scale(coarse.to(own.dtype), exact) * ROUNDING / COARSE
    inputs = max(inputs, step_scale(moved.to(own.dtype), exact))
    return dataclasses.replace(scale, steps=max(inputs, step_scale(own, exact.to(own.dtype))))


def same_bytes(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether two tensors hold the same bytes (NaN equals itself here)."""
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    if left.numel() == 0:
        return True
    kinds = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64, 16: torch.int64}
    kind = kinds[left.element_size()]
    flat_left, flat_right = left.contiguous().reshape(-1), right.contiguous().reshape(-1)
    return torch.equal(flat_left.view(kind), flat_right.view(kind))
