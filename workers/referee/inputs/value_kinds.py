"""What a tensor of inputs holds: general numbers, whole numbers, codes, or one value."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from workers.referee.inputs.float8 import widened
from workers.referee.inputs.uniformity import is_even

SAMPLE = 1024
FEW_VALUES = 16
FEW_WHOLE = 16
"""Different whole numbers of a draw that has few."""
WIDEST_WHOLE = {torch.int16: 1 << 12, torch.int32: 1 << 15, torch.int64: 1 << 20}
"""Largest whole numbers that are drawn where a problem's are smaller: their products fit into the dtype."""
WHOLE_DTYPES = (torch.uint8, torch.int8, *WIDEST_WHOLE)
"""Integers that may be drawn from all of their dtype's range."""
MOST_CHANCE = 16
"""Squared count over range, from which on independent whole numbers are never all different (about e^-8)."""
FEW_KINDS = 3
"""Kinds of floats that stand for a choice (no and yes; minus one, zero and one)."""
FEW_MAY_REPEAT = 4
"""Whole numbers below which nothing is known of their order."""
LEAST_SLICES = 4
"""Leading size from which on one slice may hold what is not finite: the others have to be right."""


def is_code(tensor: torch.Tensor) -> bool:
    """Whether a tensor holds a mask, labels of few kinds or bytes, drawn for each place: nothing in order, in blocks,
    of which each row has as many, or all different."""
    tensor = widened(tensor)
    if tensor.is_complex() or tensor.numel() < 2 * FEW_WHOLE or is_whole(tensor):
        return False
    kinds = int(torch.unique(sampled_values(tensor)).numel())
    if kinds < 2 or kinds == tensor.numel() or (tensor.element_size() > 1 and kinds > FEW_VALUES):
        return False
    return is_even(tensor) and not _differ_in_lines(tensor)


def has_one_a_row(tensor: torch.Tensor) -> bool:
    """Whether one element of each row stands out from all others, which are alike: it names a place in the row."""
    if tensor.dim() < 2 or tensor.numel() < 2 * FEW_WHOLE or tensor.is_complex():
        return False
    rows = rows_of(widened(tensor))
    return rows.shape[1] > 1 and bool(((rows != rows.min()).sum(dim=1) == 1).all())


def is_few_floats(tensor: torch.Tensor) -> bool:
    """Whether a tensor holds floats of two or three kinds, drawn for each place: a choice, or weights of zero and
    one."""
    if not tensor.is_floating_point() or tensor.element_size() == 1 or not is_code(tensor):
        return False
    return int(torch.unique(sampled_values(tensor)).numel()) <= FEW_KINDS


def is_constant(tensor: torch.Tensor) -> bool:
    """Whether a tensor of several floating-point numbers holds one value: ones for a scale, zeros for a shift."""
    if not tensor.is_floating_point() or tensor.numel() < 2:
        return False
    numbers = widened(tensor).reshape(-1)
    return bool(torch.isfinite(numbers[0])) and bool((numbers == numbers[0]).all())


def is_whole(tensor: torch.Tensor) -> bool:
    """Whether a tensor holds general whole numbers: no mask or code of few values, nor anything in order (offsets), nor
    all different ones (a permutation), in each line or as a whole."""
    if tensor.dtype not in WIDEST_WHOLE or tensor.numel() < 2 * FEW_WHOLE:
        return False
    rows = rows_of(tensor)[:LEAST_SLICES]
    if int(torch.unique(sampled_values(tensor)).numel()) <= FEW_VALUES:
        return False
    if tensor.numel() ** 2 < MOST_CHANCE * (float(tensor.max()) - float(tensor.min()) + 1.0):
        return False  # so few of so many that they are all different by chance, or now and then not
    is_in_order = bool((rows[:, 1:] >= rows[:, :-1]).all()) or bool((rows[:, 1:] <= rows[:, :-1]).all())
    return not is_in_order and int(torch.unique(tensor).numel()) < tensor.numel() and not _differ_in_lines(tensor)


def may_repeat(tensor: torch.Tensor) -> bool:
    """Whether a tensor holds whole numbers in no order that are no permutation: labels, tokens, indices."""
    return tensor.dtype in WIDEST_WHOLE and _are_loose(tensor)


def are_numbers(tensor: torch.Tensor) -> bool:
    """The same of many different values, in a byte too: what only compares them might be given any other ones."""
    if tensor.dtype not in WHOLE_DTYPES or tensor.numel() < 2 * FEW_WHOLE:
        return False
    return int(torch.unique(sampled_values(tensor)).numel()) > FEW_VALUES and _are_loose(tensor)


def may_be_any(tensor: torch.Tensor) -> bool:
    """Whether a tensor holds whole numbers of more than two kinds, in no order, that are no permutation."""
    if tensor.dtype not in WHOLE_DTYPES or not _are_loose(tensor):
        return False
    return int(torch.unique(sampled_values(tensor)).numel()) > 2  # a mask has two


def hold_any_whole(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether tensors hold such numbers, and no other whole ones but codes: what is compared with places or offsets is
    one too."""
    whole = [one for one in tensors if one.dtype in WHOLE_DTYPES and one.numel() > 1]
    return any(map(are_numbers, whole)) and all(are_numbers(one) or is_code(one) for one in whole)


def _are_loose(tensor: torch.Tensor) -> bool:
    """Whether whole numbers are in no order and no permutation."""
    if tensor.numel() < FEW_MAY_REPEAT:
        return False
    rows = rows_of(tensor)
    is_rising, is_falling = ((one >= other).all() for one, other in _neighbours(rows))
    if bool(is_rising) or bool(is_falling) or _differ_in_lines(tensor):
        return False
    if int(torch.unique(tensor).numel()) < tensor.numel():
        return True
    return int(tensor.max()) - int(tensor.min()) >= tensor.numel()


def differ_along(tensor: torch.Tensor, dim: int) -> bool:
    """Whether no line of a tensor along a dimension holds a number twice."""
    lines = tensor.movedim(dim, -1)
    for some in (lines[:FEW_WHOLE], lines) if tensor.dim() > 1 else (lines,):  # those few decide in most cases
        ordered = some.sort(dim=-1).values
        if bool((ordered[..., 1:] == ordered[..., :-1]).any()):
            return False
    return True


def must_differ(tensor: torch.Tensor, dim: int) -> bool:
    """Whether the lines of a tensor along a dimension hold different whole numbers, where chance would have made some
    equal: each is an order of its own, or a choice of the best few."""
    size = tensor.shape[dim]
    if tensor.dtype not in WHOLE_DTYPES or size < 2 or tensor.numel() == 0:
        return False
    extent = float(tensor.max()) - float(tensor.min()) + 1.0
    return tensor.numel() * size >= MOST_CHANCE * extent and differ_along(tensor, dim)


def _differ_in_lines(tensor: torch.Tensor) -> bool:
    """The same of a matrix, or of more dimensions, along any of them."""
    return tensor.dim() > 1 and any(must_differ(tensor, dim) for dim in range(tensor.dim()))


def _neighbours(rows: torch.Tensor) -> tuple[tuple[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]:
    """Later and earlier elements, and the other way round: differences would overflow."""
    later, earlier = rows[:, 1:], rows[:, :-1]
    return (later, earlier), (earlier, later)


def rows_of(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor as a matrix of its rows along the last dimension; a vector is one row."""
    dense = tensor.contiguous()
    return dense.view(-1, dense.shape[-1]) if dense.dim() > 1 else dense.view(1, -1)


def magnitude(tensor: torch.Tensor) -> float:
    """About the largest: a draw of many has values a little beyond those that were looked at."""
    return float(torch.linalg.vector_norm(sampled_values(tensor), ord=math.inf))


def is_continuous(tensor: torch.Tensor) -> bool:
    """Whether a tensor holds general numbers rather than a mask, labels or codes."""
    if tensor.is_complex():
        return is_continuous(torch.view_as_real(tensor.resolve_conj()))
    if not tensor.is_floating_point() or tensor.numel() < 2:
        return False
    sample = sampled_values(tensor)
    if not bool(torch.isfinite(sample).all()):
        return False
    return int(torch.unique(sample).numel()) > min(FEW_VALUES, sample.numel() // 2)


def holds_nan(tensor: torch.Tensor) -> bool:
    """Whether a tensor of floats holds NaN."""
    return tensor.is_floating_point() and bool(torch.isnan(tensor).any())


def sampled_values(tensor: torch.Tensor) -> torch.Tensor:
    """Up to `SAMPLE` values of a tensor, evenly spread."""
    flat = tensor.reshape(-1)
    places = torch.linspace(0, flat.numel() - 1, min(SAMPLE, flat.numel()), device=tensor.device)
    return widened(flat[places.long().clamp_(max=flat.numel() - 1)])
