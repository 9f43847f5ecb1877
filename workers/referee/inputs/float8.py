"""Floating-point numbers of eight bits: PyTorch converts and copies them, and computes nothing with them.

They are looked at, drawn and changed as float, which holds them exactly. As outputs they are judged by steps: of so few
numbers the right one is known nearly always, and a tolerance that permits a rounding of 6 % permits nearly everything.
A few results lie so near the middle between two numbers that honest kernels round them either way.
"""

from __future__ import annotations

import torch

EIGHT_BITS = (torch.float8_e4m3fn, torch.float8_e5m2)
EIGHT_BIT_NAMES = tuple(str(dtype).removeprefix("torch.") for dtype in EIGHT_BITS)
LEAST_SHARE = 1e-4
"""Share of results that may be one step off in any case. A sum in float in another order is (2^-23 · 16, times some)
off by 1e-6 of a step in the mean, long ones by 2e-5; in half precision 4e-3 of the results are."""
FAINT = 2e-5
"""Of the root mean square: what is off by no more is not counted in steps, which are arbitrarily small about zero."""
WIDEST = 0.5
"""Of the largest number: where most of a changed draw ends that would lie beyond it."""


def is_eight_bit(tensor: torch.Tensor) -> bool:
    """Whether a tensor holds floating-point numbers of eight bits."""
    return tensor.dtype in EIGHT_BITS


def widened(tensor: torch.Tensor) -> torch.Tensor:
    """Numbers that can be computed with: 8-bit ones as float, others as they are."""
    return tensor.float() if is_eight_bit(tensor) else tensor


def narrowed(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Numbers in a dtype. In 8 bits a draw is scaled so that most of it neither vanishes nor is cut off, and what is
    beyond the largest number then is the largest."""
    if dtype not in EIGHT_BITS:
        return tensor
    info = torch.finfo(dtype)
    finite = tensor[torch.isfinite(tensor)].abs()
    usual = float(finite.mean()) if finite.numel() else 0.0
    if usual > WIDEST * info.max:
        tensor = tensor * (WIDEST * info.max / usual)
    elif 0.0 < usual < 8 * info.tiny:
        tensor = tensor * (8 * info.tiny / usual)
    within = tensor.clamp(-info.max, info.max)
    return torch.where(torch.isinf(tensor), tensor, within).to(dtype)


def steps_apart(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """For each pair of finite numbers how many representable ones lie between them, counting one of the two. Zero and
    its negative are one number; what is negligible next to the whole is not off."""
    apart = (_places(one) - _places(other)).abs()
    wide, wanted = one.float(), other.float()
    finite = torch.where(torch.isfinite(wanted), wanted, 0.0)
    rms = float(torch.linalg.vector_norm(finite, dtype=torch.float64)) / max(1, finite.numel()) ** 0.5
    is_faint = (wide - wanted).abs() <= FAINT * rms
    return torch.where(is_faint & (apart > 1), 1, apart)


def _places(tensor: torch.Tensor) -> torch.Tensor:
    """Each number's place among all of its type, 0 for zero."""
    bits = tensor.contiguous().view(torch.int8).short()
    return torch.where(bits >= 0, bits, -128 - bits)
