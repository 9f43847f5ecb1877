"""Structure that all draws share, of arguments that vary from draw to draw, and values that lack it.

Rows of sum one or of length one, rows in order, symmetric matrices, many zeros; ids without gaps, masks that are
prefixes, one place named in each row, every number once, lengths within a row: a kernel may have been written for them
alone. So each is removed in one call, where the reference takes that. What floats are made to have (probabilities, unit
vectors), orders, and lengths within a row kernels may rely on: the report then says so. Of ids and masks they may not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from workers.ipc.sparse import is_sparse
from workers.ipc.tensors import flatten, leaves, relaid, with_leaves
from workers.referee.inputs.distributions import loose, rebuilt
from workers.referee.inputs.unvarying import Freedom, stands_alone
from workers.referee.inputs.value_kinds import (
    FEW_VALUES,
    FEW_WHOLE,
    WHOLE_DTYPES,
    has_one_a_row,
    is_continuous,
    must_differ,
    rows_of,
)
from workers.referee.inputs.value_structure import (
    has_many_zeros,
    has_rows_of_length_one,
    has_rows_of_sum_one,
    is_in_order,
    is_symmetric,
    with_rows_of,
)

MOST_WHOLE = 1 << 23
"""Elements of masks and whole numbers up to which a structure is looked for."""
LEAST_ROW = 4
"""Elements of a mask's rows from which on their structure is no chance."""


@dataclass(frozen=True, kw_only=True)
class Removal:
    """Arguments of which one leaf lacks a structure."""

    place: int
    """The number of the leaf."""
    arguments: list[Any]
    structure: str
    """What it lacks, in words."""
    is_promise: bool
    """Whether a kernel may rely on it."""


@dataclass(frozen=True, kw_only=True)
class _Structure:
    name: str
    holds: Callable[[torch.Tensor], bool]
    without: Callable[[torch.Tensor], torch.Tensor]
    """The tensor without it; only where it holds."""
    is_promise: bool = True
    needs_repeats: bool = False
    needs_restarts: bool = False


def without_structure(
    arguments: Sequence[Any],
    others: Callable[[], Iterable[Sequence[Any]]],
    places: Iterable[int],
    freedom: Freedom,
) -> Iterator[Removal]:
    """Arguments without one structure of one leaf, of `places`, that `others` (further draws) have too; the reference
    may not take some of them. None of leaves that follow from other ones, or others from them."""
    found, tensors = _values(arguments), flatten(list(arguments))
    free = [one for one in tensors if not is_sparse(one)]
    free = loose(free) if len(free) == len(tensors) else []
    seen = list[tuple[int, _Structure]]()
    for place in places:
        value = found[place]
        if isinstance(value, torch.Tensor) and any(value is one for one in free) and stands_alone(arguments, place):
            seen += ((place, one) for one in _structures(found, place) if _fits(one, freedom) and one.holds(value))
    for draw in others() if seen else ():
        other = _values(draw)
        seen = [(place, one) for place, one in seen if len(other) == len(found) and one.holds(other[place])]
    for place, structure in seen:
        changed = list(found)
        changed[place] = structure.without(found[place])
        if not torch.equal(changed[place], found[place]):
            laid = list(with_leaves(list(arguments), changed))
            laid = list(rebuilt(laid, relaid(flatten(laid), tensors)))
            yield Removal(place=place, arguments=laid, structure=structure.name, is_promise=structure.is_promise)


def _values(arguments: Sequence[Any]) -> list[Any]:
    return [value for _, value in leaves(list(arguments))]


def _fits(structure: _Structure, freedom: Freedom) -> bool:
    return (freedom.repeats or not structure.needs_repeats) and (freedom.restarts or not structure.needs_restarts)


def _structures(found: Sequence[Any], place: int) -> Sequence[_Structure]:
    """Those that a leaf may have, by what it holds."""
    tensor = found[place]
    if tensor.numel() < FEW_VALUES or tensor.is_complex():
        return ()
    if is_continuous(tensor) and tensor.element_size() > 1:
        return _OF_FLOATS
    if tensor.numel() > MOST_WHOLE or (tensor.is_floating_point() and tensor.element_size() == 1):
        return ()
    if _kinds(tensor) == 2:
        return _OF_MASKS
    if tensor.dtype not in WHOLE_DTYPES:
        return ()
    sizes = _sizes(found, place)
    offsets = tensor.dim() == 1 and int(tensor[0]) == 0 and int(tensor[-1]) in {*sizes, *_all_sizes(found)}
    lengths = [_lengths_within(size) for size in sizes]
    return (*(() if offsets else _OF_WHOLE), *lengths)


def _sizes(found: Sequence[Any], place: int) -> list[int]:
    """Sizes of what a number for each slice of another tensor may be a length of; none where all of them have a sum
    that is a size."""
    tensor = found[place]
    if tensor.dim() != 1 or int(tensor.sum()) in _all_sizes(found):
        return []
    others = [one for index, one in enumerate(found) if index != place and isinstance(one, torch.Tensor)]
    sizes = {size for one in others if one.dim() > 1 and one.shape[0] == tensor.numel() for size in one.shape[1:]}
    return sorted(size for size in sizes if size // 2 < int(tensor.max()) <= size)[:1]


def _all_sizes(found: Sequence[Any]) -> set[int]:
    return {size for one in found if isinstance(one, torch.Tensor) for size in one.shape}


def _kinds(tensor: torch.Tensor) -> int:
    return 2 if tensor.dtype is torch.bool else int(torch.unique(tensor).numel())


def _rescaled(tensor: torch.Tensor) -> torch.Tensor:
    """Each row times a number of its own."""
    rows = rows_of(tensor)
    factor = 0.5 + 1.5 * torch.rand(rows.shape[0], 1, device=tensor.device)
    return (rows * factor.to(tensor.dtype)).view(tensor.shape)


def _shuffled(tensor: torch.Tensor) -> torch.Tensor:
    """Each row in an order of its own."""
    rows = rows_of(tensor)
    return rows.gather(1, torch.rand(rows.shape, device=tensor.device).argsort(dim=-1)).view(tensor.shape)


def _skewed(tensor: torch.Tensor) -> torch.Tensor:
    """Each element above the diagonal times a number of its own."""
    factor = (0.5 + torch.rand(tensor.shape, device=tensor.device)).to(tensor.dtype)
    above = torch.ones(tensor.shape[-2:], dtype=torch.bool, device=tensor.device).triu(1)
    return torch.where(above, tensor * factor, tensor)


def _filled(tensor: torch.Tensor) -> torch.Tensor:
    """Other elements in the place of zeros; what rows have otherwise, and symmetry, stays."""
    is_zero = tensor == 0
    values = tensor[~is_zero]
    if values.numel() == 0:
        return tensor
    drawn = values[torch.randint(values.numel(), (tensor.numel(),), device=tensor.device)].view(tensor.shape)
    changed = torch.where(is_zero, drawn, tensor)
    if is_symmetric(tensor):
        changed = changed.tril() + changed.tril(-1).mT
    return with_rows_of(tensor, changed)


def _is_padding(mask: torch.Tensor) -> bool:
    """Whether rows of two kinds of values have all of one before all of the other, in one order; no triangle."""
    rows = rows_of(mask)
    if rows.shape[1] < LEAST_ROW or (mask.dim() > 1 and mask.shape[-1] == mask.shape[-2] and _is_triangle(mask)):
        return False
    on = rows != rows.min()
    begins, ends = bool((on[:, 1:] <= on[:, :-1]).all()), bool((on[:, 1:] >= on[:, :-1]).all())
    return begins != ends and rows.shape[0] > 1


def _is_triangle(mask: torch.Tensor) -> bool:
    """Whether a square mask has one kind of values above the diagonal."""
    above = torch.ones(mask.shape[-2:], dtype=torch.bool, device=mask.device).triu(1)
    return bool((mask[..., above] == mask[..., above].reshape(-1)[0]).all())


def _on_the_other_side(mask: torch.Tensor) -> torch.Tensor:
    """Half of the rows turned round, some in another order."""
    rows = rows_of(mask)
    chance = torch.rand(rows.shape[0], 1, device=mask.device)
    mixed = (rows != rows[:, :1]).any(dim=1).nonzero()[:, 0]
    chance[mixed[0] if mixed.numel() else 0] = 0.0
    shuffled = rows_of(_shuffled(mask))
    changed = torch.where(chance < 0.5, rows.flip(-1), torch.where(chance < 0.75, shuffled, rows))
    return changed.view(mask.shape)


def _names_a_place(mask: torch.Tensor) -> bool:
    return has_one_a_row(mask) and mask.shape[-1] >= LEAST_ROW


def _several_places(mask: torch.Tensor) -> torch.Tensor:
    """Shares of one in the place of a float's one, and in half of the rows of others a second one."""
    rows = rows_of(mask)
    if mask.is_floating_point() and (float(rows.min()), float(rows.max())) == (0.0, 1.0):
        return torch.rand(rows.shape, device=mask.device).mul_(4).softmax(dim=-1).to(mask.dtype).view(mask.shape)
    other = torch.rand(rows.shape[0], device=mask.device) < 0.5
    other[0] = True
    both = torch.where(rows != rows.min(), rows, rows.roll(1, dims=-1))
    return torch.where(other.unsqueeze(1), both, rows).view(mask.shape)


def _has_no_gap(tensor: torch.Tensor) -> bool:
    """Whether whole numbers rise as a whole, some of them several times, and none is missing."""
    kinds = torch.unique(tensor)
    if tensor.dim() != 1 or not LEAST_ROW <= kinds.numel() < tensor.numel():
        return False
    return bool((tensor[1:] >= tensor[:-1]).all()) and int(kinds[-1]) - int(kinds[0]) == kinds.numel() - 1


def _with_gaps(tensor: torch.Tensor) -> torch.Tensor:
    """Some numbers in the place of the ones below them, the first one among these now and then."""
    low, high = int(tensor.min()), int(tensor.max())
    first = low + int(torch.randint(0, 2, ()))
    return torch.where((tensor < high) & ((tensor - first) % 3 == 0), tensor + 1, tensor)


def _is_sorted(tensor: torch.Tensor) -> bool:
    rows = rows_of(tensor)
    return rows.shape[1] >= FEW_WHOLE and is_in_order(rows) and not bool((rows.diff() == 1).all())


def _are_all_different(tensor: torch.Tensor) -> bool:
    return must_differ(tensor, -1) and not _are_orders(tensor)


def _are_orders(tensor: torch.Tensor) -> bool:
    """Whether each row holds all numbers from zero on."""
    rows = rows_of(tensor)
    places = torch.arange(rows.shape[1], device=rows.device)
    return rows.shape[1] >= FEW_WHOLE and bool((rows.sort(dim=-1).values == places).all())


def _repeated(tensor: torch.Tensor) -> torch.Tensor:
    """Elements of each row drawn from those that it has; in order, if they were."""
    rows = rows_of(tensor)
    changed = rows.gather(1, torch.randint(rows.shape[1], rows.shape, device=rows.device))
    return (changed.sort(dim=-1).values if bool((rows.diff() > 0).all()) else changed).view(tensor.shape)


def _lengths_within(size: int) -> _Structure:
    def holds(tensor: torch.Tensor) -> bool:
        return int(tensor.min()) >= 0 and size // 2 < int(tensor.max()) <= size

    def beyond(tensor: torch.Tensor) -> torch.Tensor:
        chosen = torch.rand(tensor.shape, device=tensor.device) < 0.25
        chosen[int(torch.randint(0, tensor.numel() - 1, ()))] = True
        chosen[-1] = False  # what reads on behind a row is in the next one
        longer = size + 1 + torch.randint(0, size // 2 + 1, tensor.shape, device=tensor.device)
        longer = longer.clamp(max=torch.iinfo(tensor.dtype).max)
        return torch.where(chosen, longer.to(tensor.dtype), tensor)

    return _Structure(name=f"numbers up to {size}", holds=holds, without=beyond)


_OF_FLOATS = (
    _Structure(name="rows of sum one", holds=has_rows_of_sum_one, without=_rescaled),
    _Structure(name="rows of length one", holds=has_rows_of_length_one, without=_rescaled),
    _Structure(name="rows in order", holds=is_in_order, without=_shuffled, needs_restarts=True),
    _Structure(name="symmetric matrices", holds=is_symmetric, without=_skewed),
    _Structure(name="many zeros", holds=has_many_zeros, without=_filled),
)
_OF_MASKS = (
    _Structure(name="one place in each row", holds=_names_a_place, without=_several_places),
    _Structure(name="padding on one side", holds=_is_padding, without=_on_the_other_side, is_promise=False),
)
_OF_WHOLE = (
    _Structure(name="numbers without gaps", holds=_has_no_gap, without=_with_gaps, is_promise=False),
    _Structure(name="numbers in order", holds=_is_sorted, without=_shuffled, needs_restarts=True),
    _Structure(
        name="different numbers", holds=_are_all_different, without=_repeated, is_promise=False, needs_repeats=True
    ),
    _Structure(name="all numbers once", holds=_are_orders, without=_repeated, needs_repeats=True),
)
