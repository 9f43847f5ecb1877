"""How exact outputs are: scales from exact results, and what widens them."""

from __future__ import annotations

import dataclasses

import torch

from workers.referee.comparison import (
    ERROR_MULTIPLE,
    PEAK_MULTIPLE,
    ROUNDED_MULTIPLE,
    ErrorScale,
    error_scale,
    step_scale,
)
from workers.referee.draws import COARSE, ROUNDING


def lies_in(tensor: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether a tensor begins in another one's memory."""
    return 0 <= tensor.data_ptr() - other.data_ptr() < other.numel() * other.element_size()


def scales_of(outputs: list[torch.Tensor], exact: list[torch.Tensor]) -> tuple[ErrorScale, ...]:
    """How far outputs are from the exact ones, one figure each; nothing is known where there are none."""
    if len(exact) != len(outputs):
        return tuple(ErrorScale() for _ in outputs)
    pairs = zip(map(real_pairs, outputs), map(real_pairs, exact), strict=True)
    return tuple(error_scale(output, other) for output, other in pairs)


def real_pairs(tensor: torch.Tensor) -> torch.Tensor:
    """Complex numbers as pairs of real ones."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def with_shift(scale: ErrorScale, output: torch.Tensor, by: float) -> ErrorScale:
    """With a relative error of every element that inputs of such magnitude explain; see `EXPONENTIALS`."""
    if not output.is_floating_point() or output.dtype is torch.float64 or not scale.known:
        return scale
    share = min(by, 1e-2) / (ERROR_MULTIPLE if output.dtype is torch.float32 else ROUNDED_MULTIPLE)
    peak = min(by, 1e-2) * largest_finite(output) / PEAK_MULTIPLE
    return dataclasses.replace(
        scale,
        relative=max(scale.relative, share),
        peak=max(scale.peak, peak),
        rms=scale.rms,
        row=max(scale.row, share),
        column=max(scale.column, share),
        block=max(scale.block, share),
        faint=1.0,
    )


def largest_finite(tensor: torch.Tensor) -> float:
    """The largest finite magnitude of floating-point numbers; 0 for others."""
    if not tensor.is_floating_point() or tensor.numel() == 0:
        return 0.0
    return float(tensor.abs().nan_to_num(0.0, 0.0, 0.0).max())


def jumps(moved: torch.Tensor, exact: torch.Tensor) -> bool:
    """Whether a rounding of the inputs changes whole numbers by more than one step."""
    if exact.is_floating_point() or exact.is_complex() or moved.shape != exact.shape or exact.numel() == 0:
        return False
    return int((moved.long() - exact.long()).abs().max()) > 1


def with_steps(scale: ErrorScale, moved: torch.Tensor, exact: torch.Tensor, own: torch.Tensor) -> ErrorScale:
    """With the share of rounded results that a rounding of the inputs changes, or roundings on the way to them: those
    in which the reference's `own` results are not the exact ones (an exponential of nearly nothing is one or just
    below, and no change of the input in proportion tells)."""
    if exact.is_floating_point() or exact.is_complex():
        return scale
    inputs = step_scale(moved, exact) * ROUNDING / COARSE
    return dataclasses.replace(scale, steps=max(inputs, step_scale(own, exact)))


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
