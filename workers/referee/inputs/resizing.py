"""Inputs of other sizes, cut from or repeated out of those at hand."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import torch

from workers.ipc.tensors import base_of
from workers.referee.inputs.eight_bits import is_eight_bit, narrowed, widened
from workers.referee.inputs.value_kinds import is_continuous
from workers.referee.inputs.value_structure import has_zeros_in_place, is_symmetric, with_rows_of

MOST_SIZES = 4
"""Further sizes that are cut."""


def cut_along(tensors: Sequence[torch.Tensor], *, last: bool, generator: random.Random) -> list[torch.Tensor] | None:
    """Smaller inputs: the first (or last) dimension that the tensors share, cut to an odd size; None if there is none.

    The dimension is the first tensor's; every tensor with the same size there is cut with it.
    """
    size = _shared_size(tensors, last=last)
    if size is None or size < 4:
        return None
    return resized(tensors, _odd_part(size, generator), last=last)


def _odd_part(size: int, generator: random.Random) -> int:
    """An odd size below a given one, half of it or more where that is not too many."""
    new = min(generator.randrange(size // 2, size), 67)
    return new - 1 + new % 2


def resized(tensors: Sequence[torch.Tensor], new: int, *, last: bool) -> list[torch.Tensor] | None:
    """Inputs whose first (or last) dimension has a new size, larger ones repeating what is there; None as above.

    None too where that would break a structure: a triangle, symmetry."""
    size = _shared_size(tensors, last=last)
    if size is None or size < 1:
        return None
    if new > size and any(map(has_zeros_in_place, tensors)):
        return None
    axis = -1 if last else 0
    return [
        _resized(tensor, axis, new) if tensor.dim() and tensor.shape[axis] == size else tensor for tensor in tensors
    ]


def cut_sizes(tensors: Sequence[torch.Tensor], generator: random.Random) -> Iterator[list[torch.Tensor]]:
    """Smaller inputs by each further size among all dimensions (a middle one, columns of a second factor): every
    dimension of that size is cut with it."""
    if any(map(is_symmetric, tensors)):
        return
    known = [_shared_size(tensors, last=last) for last in (False, True)]
    sizes = dict.fromkeys(size for tensor in tensors for size in tensor.shape if size >= 4 and size not in known)
    for size in list(sizes)[:MOST_SIZES]:
        new = _odd_part(size, generator)
        cut = list(tensors)
        for index, tensor in enumerate(tensors):
            for axis in range(tensor.dim()):
                cut[index] = cut[index].narrow(axis, 0, new) if tensor.shape[axis] == size else cut[index]
        yield [_with_structure(old, new.contiguous()) for old, new in zip(tensors, cut, strict=True)]


def _shared_size(tensors: Sequence[torch.Tensor], *, last: bool) -> int | None:
    if not tensors or tensors[0].dim() < (2 if last else 1) or any(map(is_symmetric, tensors)):
        return None
    return int(tensors[0].shape[-1 if last else 0])


def _resized(tensor: torch.Tensor, axis: int, new: int) -> torch.Tensor:
    """The beginning, or the whole followed by its beginning: rows in another order are new rows to a kernel."""
    size = tensor.shape[axis]
    if new <= size:
        return _with_structure(tensor, tensor.narrow(axis, 0, new).contiguous())
    plain = tensor.view(torch.uint8) if is_eight_bit(tensor) else tensor  # which cannot be turned as they are
    copies = [plain.flip(axis)] * (new // size) + [plain.narrow(axis, 0, new % size)]
    return _with_structure(tensor, torch.cat(copies, dim=axis).view(tensor.dtype))


def _with_structure(tensor: torch.Tensor, changed: torch.Tensor) -> torch.Tensor:
    if is_continuous(tensor):
        changed = narrowed(with_rows_of(widened(tensor), widened(changed)), changed.dtype)
    return changed if tensor.is_contiguous() else _laid_as(tensor, changed)


def _laid_as(tensor: torch.Tensor, changed: torch.Tensor) -> torch.Tensor:
    """The change, its dimensions in memory in the order of the tensor's, and repeated where those are."""
    shape = changed.shape
    for dimension, size in enumerate(base_of(tensor).shape):
        changed = changed.narrow(dimension, 0, min(1, shape[dimension])) if size == 1 else changed
    order = sorted(range(tensor.dim()), key=tensor.stride().__getitem__, reverse=True)
    made = torch.empty_permuted(changed.shape, order, dtype=changed.dtype, device=changed.device)
    return made.copy_(changed).expand(shape)
