"""Inputs of other sizes, cut from or repeated out of those at hand."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence

import torch

from workers.ipc.tensors import base_of
from workers.referee.inputs.dependence import refitted
from workers.referee.inputs.float8 import is_eight_bit, narrowed, widened
from workers.referee.inputs.index_structure import INDEX_DTYPES
from workers.referee.inputs.value_kinds import differ_along, has_one_a_row, is_code, is_continuous, must_differ
from workers.referee.inputs.value_structure import has_zeros_in_place, is_symmetric, with_rows_of

SMALL = 4
"""Places from which on a dimension can be cut."""
MOST_SIZES = 4
"""Dimensions of its size with which a dimension is changed, one at a time."""
SHRINKING = 1 - 1 / 64
"""Factor of each earlier copy, where inputs grow, or of several where there are many: the last one is as it was."""
MOST_SHRUNK = 16
"""Such factors at most."""
FEW_PLACES = 12
"""Places below which all may lie in the first half of a dimension by chance."""
LEAST_PLACES = 8
"""Places below which indices are not spread anew: hardly two of them would differ."""
MOST_GAP_BYTES = 64 << 20
"""Of a slice with its gaps: larger ones come without."""
Steps = Mapping[tuple[int, int], int]
"""What sizes are multiples of, by a tensor's place in a call and its dimension; 0 where a size is fixed."""
NO_STEPS: Steps = {}
Axes = Sequence[tuple[int, int]]
"""Dimensions, each as a tensor's place in a call and the dimension's number."""


def cut_along(
    tensors: Sequence[torch.Tensor], *, last: bool, generator: random.Random, steps: Steps = NO_STEPS
) -> list[torch.Tensor] | None:
    """Smaller inputs: the first (or last) dimension that the tensors share, cut to an odd size; None if there is none.

    The dimension is the first tensor's; every tensor with the same size there is cut with it. Where `steps` says what
    sizes are multiples of, the size is the next legal one.
    """
    size = _shared_size(tensors, last=last)
    if size is None or size < SMALL:
        return None
    return resized(tensors, odd_part(size, generator), last=last, steps=steps)


def legal_size(new: int, size: int, places: Iterable[tuple[int, int]], steps: Steps) -> int | None:
    """The size next to `new` that dimensions which are `size` long may all have: the next smaller one of a cut, but not
    zero, and the next larger one where they grow. None where there is none but `size` itself."""
    step = math.lcm(*(steps.get(place, 1) for place in places))  # with a fixed one: 0
    if step == 0:
        return None
    if new < size:
        legal = new if new == 0 else max(step, new // step * step)
        return legal if legal < size else None
    return -(-new // step) * step


def odd_part(size: int, generator: random.Random) -> int:
    """An odd size below a given one, half of it or more where that is not too many."""
    new = min(generator.randrange(size // 2, size), 67)
    return new - 1 + new % 2


def resized(
    tensors: Sequence[torch.Tensor], new: int, *, last: bool, apart: bool = False, steps: Steps = NO_STEPS
) -> list[torch.Tensor] | None:
    """Inputs whose first (or last) dimension has a new size, as by `resized_at`; None as above."""
    size = _shared_size(tensors, last=last)
    if size is None:
        return None
    axis = -1 if last else 0
    alike = [(place, axis % one.dim()) for place, one in enumerate(tensors) if one.dim() and one.shape[axis] == size]
    return resized_at(tensors, alike, new, apart=apart, steps=steps)


def resized_at(
    tensors: Sequence[torch.Tensor], axes: Axes, new: int, *, apart: bool = False, steps: Steps = NO_STEPS
) -> list[torch.Tensor] | None:
    """Inputs of which dimensions of one size have a new size, larger ones repeating what is there.

    With `apart`, general numbers are not repeated as they are, but a little smaller: for references that may choose any
    of equals. Indices, lengths and offsets within a dimension that is cut stay within it. None where the new size would
    break a structure: a triangle, symmetry, indices that all differ. Where `steps` says what sizes are multiples of,
    the size is the next legal one."""
    size = tensors[axes[0][0]].shape[axes[0][1]]
    legal = legal_size(new, size, axes, steps) if size else None
    if legal is None:
        return None
    changed = list(tensors)
    for place in dict.fromkeys(place for place, _ in axes):
        along = [axis for at, axis in axes if at == place]
        larger = _larger_matrix(tensors[place], along, legal) if legal > size else None
        if larger is None and legal > size and _grows_beyond_its_structure(tensors[place], along):
            return None
        for axis in () if larger is not None else along:
            changed[place] = _resized(changed[place], axis, legal, apart=apart)
        changed[place] = changed[place] if larger is None else larger
    if any(has_one_a_row(old) and not has_one_a_row(one) for old, one in zip(tensors, changed, strict=True)):
        return None
    within = _within(changed, size, legal)
    if within is None:
        return None
    if any(is_symmetric(old) and not is_symmetric(one) for old, one in zip(tensors, within, strict=True)):
        return None
    kept = [old if one is old else _with_structure(old, one) for old, one in zip(tensors, within, strict=True)]
    return refitted(tensors, kept)


def dimensions(tensors: Sequence[torch.Tensor]) -> list[tuple[int, int]]:
    """Each dimension whose size may change, as a tensor's place and the dimension's number: the first tensor's first
    and last one before others."""
    found = [
        (place, axis) for place, one in enumerate(tensors) for axis in range(one.dim()) if one.shape[axis] >= SMALL
    ]
    return sorted(found, key=lambda one: (one[0] > 0, one[1] not in (0, tensors[one[0]].dim() - 1)))


def small_dimensions(tensors: Sequence[torch.Tensor]) -> list[tuple[int, int]]:
    """Each dimension of fewer than four places, as above: it may only grow. A last one of one place makes a column,
    which is another thing than a matrix."""
    return [
        (place, axis)
        for place, one in enumerate(tensors)
        for axis, size in enumerate(one.shape)
        if 1 <= size < SMALL and not (size == 1 and axis == one.dim() - 1)
    ]


def growing_together(tensors: Sequence[torch.Tensor], dimension: tuple[int, int]) -> list[Axes]:
    """The same as `sharing` for a dimension of few places. One of a single place grows with those of tensors of its
    shape; there is none where another tensor has one too, which may be there to broadcast."""
    own, axis = dimension
    if tensors[own].shape[axis] > 1:
        return sharing(tensors, dimension)
    rest = tensors[own].dim() - axis
    alike = tuple((place, axis) for place, one in enumerate(tensors) if one.shape == tensors[own].shape)
    others = [one for one in tensors if one.shape != tensors[own].shape]
    sizes = [one.shape[at] for one in others for at in {axis, one.dim() - rest} if 0 <= at < one.dim()]
    return [] if 1 in sizes else [alike]


def sharing(tensors: Sequence[torch.Tensor], dimension: tuple[int, int]) -> list[Axes]:
    """Which dimensions of one size may have to change together with a given one, likely sets first: the same dimension
    of other tensors, counted from either end; itself, and itself with one other, where nothing says that equal sizes
    mean the same (an index, a triangle); all that have its size."""
    own, axis = dimension
    size, rest = tensors[own].shape[axis], tensors[own].dim() - axis
    alike = [(place, at) for place, one in enumerate(tensors) for at in range(one.dim()) if one.shape[at] == size]
    front = tuple(one for one in alike if one[1] == axis)
    back = tuple(one for one in alike if tensors[one[0]].dim() - one[1] == rest)
    sets: list[Axes] = [front, back] if axis == 0 else [back, front]
    others = [one for one in alike if one != dimension]
    if any(one.dtype in INDEX_DTYPES or has_zeros_in_place(one) for one in tensors):
        sets = [axes for axes in sets if len(axes) > 1 or not others]
    else:
        sets += [(dimension,), *((dimension, other) for other in others[:MOST_SIZES])]
    return list(dict.fromkeys([*sets, tuple(alike)]))


def spread(tensors: Sequence[torch.Tensor], dimension: tuple[int, int]) -> list[torch.Tensor] | None:
    """Inputs of which a boolean mask's dimension of size one, that broadcasts along another tensor's, has that tensor's
    size and other values at each place; None where there is no such dimension or value. Numbers stay as they are: one
    for each row is meant as one."""
    place, axis = dimension
    tensor, rest = tensors[place], tensors[place].dim() - axis
    size = max((one.shape[one.dim() - rest] for one in tensors if one.dim() >= rest), default=1)
    is_mask = tensor.dtype is torch.bool
    if not is_mask or tensor.shape[axis] != 1 or size == 1 or tensor.numel() < 2 or not tensor.is_contiguous():
        return None
    turned = max(range(tensor.dim()), key=lambda one: tensor.shape[one])
    changed = list(tensors)
    changed[place] = torch.cat([tensor.roll(number, turned) for number in range(size)], dim=axis)
    return changed


def parts(tensors: Sequence[torch.Tensor], most_bytes: int, steps: Steps = NO_STEPS) -> Iterator[list[torch.Tensor]]:
    """Inputs of at most so many bytes together: cut along the first dimension, along the last one, or along all
    dimensions of the largest size. Structures are kept, and sizes legal, as by `resized`."""
    total = sum(tensor.nbytes for tensor in tensors)
    share = min(1.0, most_bytes / max(1, total))
    cuts = list[list[torch.Tensor] | None]()
    for last in (False, True):
        size = _shared_size(tensors, last=last)
        if size is not None:
            cuts.append(resized(tensors, max(1, int(size * share)), last=last, steps=steps))
    if not any(map(is_symmetric, tensors)):
        size = max((size for tensor in tensors for size in tensor.shape), default=1)
        times = max((tuple(tensor.shape).count(size) for tensor in tensors), default=1)
        cuts.append(_cut_everywhere(tensors, size, max(1, int(size * share ** (1 / max(1, times)))), steps))
    yield from (cut for cut in cuts if cut is not None and sum(tensor.nbytes for tensor in cut) <= most_bytes)


def _cut_everywhere(tensors: Sequence[torch.Tensor], size: int, new: int, steps: Steps) -> list[torch.Tensor] | None:
    """Every dimension of a size cut to another one, or to the legal one next to it; None where a structure breaks."""
    places = [
        (place, axis) for place, one in enumerate(tensors) for axis in range(one.dim()) if one.shape[axis] == size
    ]
    return resized_at(tensors, places, new, steps=steps) if places else None


def _shared_size(tensors: Sequence[torch.Tensor], *, last: bool) -> int | None:
    if not tensors or tensors[0].dim() < (2 if last else 1) or any(map(is_symmetric, tensors)):
        return None
    return int(tensors[0].shape[-1 if last else 0])


def _grows_beyond_its_structure(tensor: torch.Tensor, axes: Sequence[int]) -> bool:
    """Whether more of the same has another structure: a triangle's zeros would stand elsewhere, and a definite matrix
    would be definite no longer. More matrices of the same size have the same."""
    if all(axis < tensor.dim() - 2 for axis in axes):
        return False
    return is_symmetric(tensor) or (has_zeros_in_place(tensor) and not is_code(tensor))


def _larger_matrix(tensor: torch.Tensor, axes: Sequence[int], new: int) -> torch.Tensor | None:
    """Larger triangles in the place of triangles, each row and column as often as the others; None for what is none."""
    last = (tensor.dim() - 2, tensor.dim() - 1)
    if tuple(sorted(axes)) != last or tensor.shape[-1] != tensor.shape[-2]:
        return None
    if tensor.is_complex() or is_eight_bit(tensor) or not tensor.is_contiguous():
        return None
    is_lower, is_upper = not bool(tensor.triu(1).any()), not bool(tensor.tril(-1).any())
    if is_lower == is_upper or not bool((tensor.diagonal(dim1=-2, dim2=-1) != 0).all()):
        return None
    source = torch.arange(new, device=tensor.device) * tensor.shape[-1] // new
    spread = tensor.index_select(-1, source).index_select(-2, source)
    return (spread.tril() if is_lower else spread.triu()).contiguous()


def _within(tensors: Sequence[torch.Tensor], size: int, new: int) -> list[torch.Tensor] | None:
    """The tensors, those that hold places in a dimension cut from `size` spread over what is left of it, in the same
    order; None where they cannot be: hardly any places are left, or all are different and would no longer be. Of few
    numbers, none may happen to lie in the second half."""
    changed = list(tensors)
    for index, tensor in enumerate(tensors):
        if tensor.dtype not in INDEX_DTYPES or not tensor.dim() or not tensor.numel():
            continue
        low, high = (int(end) for end in tensor.aminmax())
        counts = low > 0 or high == size  # lengths, or where something ends
        is_clear = high > size // 2
        if low < 0 or high > size or high < new + counts or not (is_clear or tensor.numel() < FEW_PLACES):
            continue
        if is_clear and new < LEAST_PLACES:
            return None
        numbers = tensor.long()
        spread = -(-numbers * new // size) if counts else numbers * new // size
        if any(differ_along(numbers, dim) and not differ_along(spread, dim) for dim in range(tensor.dim())):
            return None
        changed[index] = spread.to(tensor.dtype)
    return changed


def _resized(tensor: torch.Tensor, axis: int, new: int, *, apart: bool) -> torch.Tensor:
    """The beginning, or the whole followed by its beginning: rows in another order are new rows to a kernel."""
    size = tensor.shape[axis]
    if new <= size:
        return _with_structure(tensor, tensor.narrow(axis, 0, new).contiguous())
    if tensor.dtype in INDEX_DTYPES and must_differ(tensor, axis) and int(tensor.min()) >= 0:
        return _with_further(tensor, axis, new)
    plain = tensor.view(torch.uint8) if is_eight_bit(tensor) else tensor  # which cannot be turned as they are
    copies = [plain.flip(axis)] * (new // size) + [plain.narrow(axis, 0, new % size)]
    if apart and is_continuous(tensor) and not is_eight_bit(tensor):
        by = min(1.0, MOST_SHRUNK / len(copies))
        copies = [copy * SHRINKING ** (by * number) for number, copy in enumerate(reversed(copies))][::-1]
    changed = torch.cat(copies, dim=axis).view(tensor.dtype)
    if tensor.dtype in INDEX_DTYPES and tensor.dim() == 1 and bool((tensor[1:] >= tensor[:-1]).all()):
        changed = changed.sort().values
    return _with_structure(tensor, changed)


def _with_further(tensor: torch.Tensor, axis: int, new: int) -> torch.Tensor:
    """Different whole numbers and further ones from zero on that are none of them: a permutation stays one, and
    permutations of each row do. In order, if they were."""
    lines = tensor.movedim(axis, -1)
    is_used = torch.zeros(*lines.shape[:-1], new + 1, dtype=torch.bool, device=tensor.device)
    is_used.scatter_(-1, lines.clamp(max=new).long(), value=True)
    further = is_used[..., :new].long().argsort(dim=-1, stable=True)[..., : new - lines.shape[-1]]
    longer = torch.cat((lines, further.to(tensor.dtype)), dim=-1)
    rises = bool((lines[..., 1:] > lines[..., :-1]).all())
    return (longer.sort(dim=-1).values if rises else longer).movedim(-1, axis).contiguous()


def _with_structure(tensor: torch.Tensor, changed: torch.Tensor) -> torch.Tensor:
    if is_continuous(tensor):
        changed = narrowed(with_rows_of(widened(tensor), widened(changed)), changed.dtype)
    return changed if tensor.is_contiguous() else _laid_as(tensor, changed)


def _laid_as(tensor: torch.Tensor, changed: torch.Tensor) -> torch.Tensor:
    """The change, its dimensions in memory in the order of the tensor's, as far apart in proportion, and repeated where
    those are."""
    shape = changed.shape
    for dimension, size in enumerate(base_of(tensor).shape):
        changed = changed.narrow(dimension, 0, min(1, shape[dimension])) if size == 1 else changed
    order = sorted(range(tensor.dim()), key=tensor.stride().__getitem__, reverse=True)
    rooms, apart = _rooms(tensor, order, changed.shape)
    if math.prod(rooms) * apart * changed.element_size() > MOST_GAP_BYTES:
        rooms, apart = tuple(changed.shape), 1
    made = torch.empty_permuted((*rooms, apart), (*order, tensor.dim()), dtype=changed.dtype, device=changed.device)
    made = made.select(-1, 0)
    for dimension, size in enumerate(changed.shape):
        made = made.narrow(dimension, 0, size)
    return made.copy_(changed).expand(shape)


def _rooms(tensor: torch.Tensor, order: Sequence[int], shape: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """Sizes of what a changed tensor of that shape is a slice of, in proportion to the tensor's own, and how far its
    neighbours lie apart. Without gaps where the tensor's elements are in each other's way."""
    rooms, base = list(shape), base_of(tensor)
    steps = [(dimension, base.stride(dimension)) for dimension in order if base.shape[dimension] > 1]
    for (_, outer), (dimension, inner) in itertools.pairwise(steps):
        size = base.shape[dimension]
        if outer % inner or outer // inner < size:
            return tuple(shape), 1
        rooms[dimension] = max(shape[dimension], round(outer // inner * shape[dimension] / size))
    return tuple(rooms), steps[-1][1] if steps else 1
