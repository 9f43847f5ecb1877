"""Arguments that are close to each other, opposite, equal, or one tensor: what draws made apart from each other never
are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from workers.ipc.tensors import flatten, relaid
from workers.referee.inputs.distributions import rebuilt
from workers.referee.inputs.float8 import is_eight_bit
from workers.referee.inputs.index_structure import index_structure
from workers.referee.inputs.transforms import PLANTED, is_one_signed
from workers.referee.inputs.value_kinds import is_code, is_continuous, may_repeat, sampled_values
from workers.referee.inputs.value_structure import structured

NEAR = 1e-3
"""Distance of close tensors, over the standard deviation."""
NEAREST = 0.98
"""Share of a power of two from which on whole numbers up to there may be meant."""
REARRANGED = 1e-6
"""By how much, in proportion, restoring a structure may change a copy that has it already."""


def close(arguments: list[Any]) -> list[Any] | None:
    """Arguments whose later tensors are close to earlier ones like them: floats by noise, others in most elements.
    None where no two tensors are alike."""
    tensors, pairs = flatten(arguments), _pairs(flatten(arguments))
    for source, place in pairs:
        tensors[place] = _near(tensors[place], _copied(tensors[source], tensors[place]))
    return list(rebuilt(arguments, relaid(tensors, flatten(arguments)))) if pairs else None


def opposite(arguments: list[Any]) -> list[Any] | None:
    """Arguments whose later tensors are close to the negatives of earlier ones like them, or, of whole numbers and
    codes, to what is missing to the end of their range: of a sum, hardly anything is left, or a carry goes all the way.
    None where no two tensors are alike, or floats have one sign."""
    tensors, given = flatten(arguments), flatten(arguments)
    pairs = [(source, place) for source, place in _pairs(given) if _has_an_opposite(given[source])]
    for source, place in pairs:
        tensors[place] = _near(tensors[place], _copied(_mirrored(tensors[source]), tensors[place]))
    return list(rebuilt(arguments, relaid(tensors, given))) if pairs else None


def equal(arguments: list[Any], *, shared: bool) -> list[Any] | None:
    """Arguments whose later tensors hold what earlier ones like them hold. They lie in the earlier one's memory where
    it is as large and they may be `shared`. None where no two tensors are alike."""
    tensors, given = flatten(arguments), flatten(arguments)
    pairs = [(source, place) for source, place in _pairs(given) if _may_hold(given[place], given[source])]
    for source, place in pairs:
        one, other = tensors[source], tensors[place]
        may_share = shared and one.is_contiguous() and other.is_contiguous() and one.shape[0] >= other.shape[0]
        shared_one = one if one.shape == other.shape else one[: other.shape[0]]
        tensors[place] = shared_one if may_share else _copied(one, other)
    return list(rebuilt(arguments, tensors)) if pairs else None


def _pairs(tensors: Sequence[torch.Tensor]) -> list[tuple[int, int]]:
    """Places of tensors, each with that of the first one before it that is alike."""
    structure = index_structure(tensors)
    fixed = structure.places if structure is not None else frozenset()
    pairs = list[tuple[int, int]]()
    for place, tensor in enumerate(tensors):
        taken = {later for _, later in pairs}
        firsts = (one for one in range(place) if one not in fixed | taken and _are_alike(tensors[one], tensor))
        source = next(firsts, None) if place not in fixed else None
        if source is not None:
            pairs.append((source, place))
    return pairs


def _are_alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether values of one tensor, or of its first slices, may be another's: both of a kind and in one range."""
    if one.dtype != other.dtype or one.dim() != other.dim() or one.dim() == 0:
        return False
    same = one.shape == other.shape if one.dim() == 1 else one.shape[1:] == other.shape[1:]
    if not same or min(one.numel(), other.numel()) < 2 or one.is_complex() or is_eight_bit(one):
        return False
    if is_continuous(one) and is_continuous(other):
        return bool((sampled_values(one) < 0).any()) == bool((sampled_values(other) < 0).any())
    if one.is_floating_point():
        return False
    loose = all(may_repeat(tensor) or is_code(tensor) for tensor in (one, other))
    return loose and bool(one.min() >= other.min()) and bool(one.max() <= other.max())


def _has_an_opposite(tensor: torch.Tensor) -> bool:
    return not tensor.is_floating_point() or not is_one_signed(tensor)


def _mirrored(tensor: torch.Tensor) -> torch.Tensor:
    """The negatives of floats; of others, from the other end of their range: all bits, where these may be any."""
    if tensor.is_floating_point():
        return -tensor
    if tensor.dtype is torch.bool:
        return ~tensor
    low, high = (int(end) for end in tensor.aminmax())
    whole = (1 << high.bit_length()) - 1
    is_whole = low >= 0 and high > NEAREST * whole and low < (1 - NEAREST) * whole
    low, high = (0, whole) if is_whole else (low, high)
    return low + (high - tensor) if low >= 0 else (low + high) - tensor


def _copied(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Another tensor with one's values, as far as there are."""
    count, changed = min(one.shape[0], other.shape[0]), other.clone(memory_format=torch.contiguous_format)
    changed[:count] = one[:count]
    return changed


def _may_hold(tensor: torch.Tensor, one: torch.Tensor) -> bool:
    """Whether a copy of one tensor has the structure of another: its zeros, its order, its sums."""
    if not tensor.is_floating_point():
        return True
    copy = _copied(one, tensor)
    return torch.allclose(structured(tensor, copy), copy, rtol=REARRANGED, atol=0.0)


def _near(tensor: torch.Tensor, copy: torch.Tensor) -> torch.Tensor:
    if not tensor.is_floating_point():
        return torch.where(torch.rand(tensor.shape, device=tensor.device) < PLANTED, tensor, copy)
    spread = NEAR * float(sampled_values(copy).double().std())
    noise = torch.randn(tensor.shape, device=tensor.device) * spread
    changed = (copy + noise).to(tensor.dtype)
    return structured(tensor, changed if bool((copy < 0).any()) else changed.abs())
