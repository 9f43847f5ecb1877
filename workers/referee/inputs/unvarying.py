"""Arguments that are the same in every draw, and other values that a caller could give for them.

A mask that lets everything through, offsets of equal segments, `steps=3`: as long as such a leaf of the arguments
never changes, nothing tells a kernel that reads it from one that does not. So each takes other values, of those that
keep what can be seen of its structure: order, different values in a row, equal sums of rows, a triangle, symmetry,
where a sequence begins and ends, a sum that is another tensor's size, and leaves that follow from one another (lengths
from offsets). A problem's reference has the last word on what is legal: it must take them.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from workers.ipc.sparse import is_sparse
from workers.ipc.tensors import leaves, with_leaves
from workers.referee.inputs.index_structure import index_structure
from workers.referee.inputs.value_kinds import is_constant, is_continuous, rows_of
from workers.referee.inputs.value_structure import is_symmetric, prefix_kinds, prefixes

MOST_OTHERS = 2
"""Other values that are tried of one leaf."""
TURNED_OFF = 0.125
"""Share of a mask's elements that are turned off."""
WHOLE_DTYPES = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
FEW_KINDS = 2
"""Different values of a mask."""
MOST_SEGMENTED = 1 << 24
"""Elements of segments up to which each one's segment is looked for among the arguments."""
Derivation = Callable[[torch.Tensor], Any]


@dataclass(frozen=True, kw_only=True)
class Variation:
    """Arguments of which one leaf, and what follows from it, have other values."""

    places: frozenset[int]
    """The numbers of the leaves that are different."""
    arguments: list[Any]


def unvarying(draws: Iterable[Sequence[Any]]) -> list[int]:
    """Numbers of the leaves that no draw changes and that no kind of values changes either: tensors that are neither
    general numbers nor full of one, numbers and truth values. The draws are looked at one after the other."""
    following = iter(draws)
    first = [value for _, value in leaves(list(next(following)))]
    places = list(range(len(first)))
    for draw in following:
        other = [value for _, value in leaves(list(draw))]
        places = [place for place in places if len(other) == len(first) and _is_same(first[place], other[place])]
    tensors = [value for value in first if isinstance(value, torch.Tensor) and not is_sparse(value)]
    together = index_structure(tensors)
    fixed = [tensors[place] for place in together.places] if together is not None else []
    return [place for place in places if _may_vary(first[place]) and not any(first[place] is one for one in fixed)]


def variations(arguments: Sequence[Any], place: int, generator: random.Random) -> Iterator[Variation]:
    """Arguments with other values for a leaf that does not vary, and for those that follow from it; the reference may
    not take some of them. None for a leaf that follows from another one: it changes with that."""
    if follows(arguments, place):
        return
    found = [value for _, value in leaves(list(arguments))]
    tensors = [value for index, value in enumerate(found) if index != place and isinstance(value, torch.Tensor)]
    sizes = {size for tensor in tensors for size in tensor.shape}
    for other in _others(found[place], sizes, generator):
        derived = _derived(found, place, other)
        surely = {index: value for index, value in derived.items() if isinstance(value, torch.Tensor)}
        ways: list[dict[int, Any]] = [derived, surely]  # a number may follow by chance
        for changes in ways if len(surely) < len(derived) else ways[:1]:
            changed = [changes.get(index, old) for index, old in enumerate(found)]
            changed[place] = other
            places = frozenset(index for index, old in enumerate(found) if not _is_same(old, changed[index]))
            yield Variation(places=places, arguments=list(with_leaves(list(arguments), changed)))


def follows(arguments: Sequence[Any], place: int) -> bool:
    """Whether one of the leaves follows from another one, which does not follow from it."""
    found = [value for _, value in leaves(list(arguments))]
    own = _relations(found, place)
    return any(
        place in _relations(found, source) for source in range(len(found)) if source != place and source not in own
    )


def derivations(found: Sequence[Any], source: int) -> dict[int, Derivation]:
    """The places of leaves that follow from one that is a vector of whole numbers, each with how it follows."""
    return _relations(found, source)


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor) or isinstance(other, torch.Tensor):
        both = isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor)
        if not both or is_sparse(one) or is_sparse(other) or one.shape != other.shape or one.dtype != other.dtype:
            return False
        return torch.equal(torch.isnan(one), torch.isnan(other)) and torch.equal(
            torch.where(torch.isnan(one), 0, one), torch.where(torch.isnan(other), 0, other)
        )
    return type(one) is type(other) and one == other


def _may_vary(value: Any) -> bool:
    if not isinstance(value, torch.Tensor):
        return isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value))
    if value.numel() == 0 or value.is_complex() or is_constant(value) or is_continuous(value):
        return False
    if value.is_floating_point() and value.element_size() == 1:
        return False  # no arithmetic on 8-bit floats
    return value.dtype is torch.bool or value.dtype in WHOLE_DTYPES or value.is_floating_point()


def _others(value: Any, sizes: set[int], generator: random.Random) -> Iterator[Any]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from _other_whole(value, sizes)
    elif isinstance(value, float):
        yield _other_number(value, generator)
    elif value.numel() == 1:
        yield from _other_single(value, sizes, generator)
    else:
        yield from _other_tensors(value, sizes)


def _other_whole(value: int, sizes: set[int]) -> Iterator[int]:
    """Whole numbers next to one, half and twice as large. A number that is a size may only become smaller."""
    near = (value - 1, value + 1, value // 2, 2 * value)
    least = min(value, 1) if value > 0 else 0
    kept = [one for one in near if (one < 0 if value < 0 else one >= least) and one != value]
    yield from dict.fromkeys(one for one in kept if one < value or value not in sizes)


def _other_single(tensor: torch.Tensor, sizes: set[int], generator: random.Random) -> Iterator[torch.Tensor]:
    number = tensor.item()
    if isinstance(number, bool):
        yield torch.logical_not(tensor)
    elif isinstance(number, int):
        for other in _other_whole(number, sizes):
            if torch.iinfo(tensor.dtype).min <= other <= torch.iinfo(tensor.dtype).max:
                yield torch.full_like(tensor, other)
    elif math.isfinite(number):
        yield torch.full_like(tensor, _other_number(number, generator))


def _other_number(number: float, generator: random.Random) -> float:
    factor = generator.uniform(0.6, 1.6)
    return number * factor if number else factor - 1.1


def _other_tensors(tensor: torch.Tensor, sizes: set[int]) -> Iterator[torch.Tensor]:
    rows = rows_of(tensor)
    if bool((rows == rows[0, 0]).all()):
        yield from (other.view(tensor.shape) for other in _unequal(rows, sizes))
        return
    for make in (_other_order, _shorter, _turned_off, _shuffled_in_rows, _shuffled_rows, _shifted):
        other = make(rows)
        if other is None or torch.equal(other, rows):
            continue
        changed = other.view(tensor.shape)
        if _keeps(tensor, changed):
            yield changed


def _unequal(rows: torch.Tensor, sizes: set[int]) -> Iterator[torch.Tensor]:
    """Other values for many of one: some of a mask's turned over, other lengths of the same sum or shorter ones, ones
    among zeros."""
    device, number = rows.device, rows[0, 0].item()
    if rows.dtype is torch.bool:
        yield rows ^ _some(rows)
    elif number == 0:
        yield _some(rows).to(rows.dtype)
    elif number == 1:
        yield rows - _some(rows).to(rows.dtype)
    elif number > 0:
        total = int(rows.sum())
        if total in sizes and number not in sizes:
            yield _composition(rows, total)
        else:
            yield torch.randint(1, int(number) + 1, rows.shape, device=device).to(rows.dtype)
    else:
        yield rows + _some(rows).to(rows.dtype)


def _some(rows: torch.Tensor) -> torch.Tensor:
    """Some elements, at least one of all, and not all of a row where it has several."""
    chosen = torch.rand(rows.shape, device=rows.device) < TURNED_OFF
    first = torch.randint(0, rows.shape[1], (rows.shape[0], 1), device=rows.device)
    if rows.shape[1] > 1:
        chosen.scatter_(1, first, value=False)
        first = (first + 1) % rows.shape[1]
    row = int(torch.randint(0, rows.shape[0], ()))
    chosen[row, first[row]] = True
    return chosen


def _composition(rows: torch.Tensor, total: int) -> torch.Tensor:
    """As many whole numbers from one on, with the same sum."""
    ends = torch.randperm(total - 1)[: rows.numel() - 1].sort().values + 1
    bounds = torch.cat((ends.new_zeros(1), ends, ends.new_full((1,), total)))
    return bounds.diff().to(device=rows.device, dtype=rows.dtype).view(rows.shape)


def _other_order(rows: torch.Tensor) -> torch.Tensor | None:
    """Rows of whole numbers in order, between the same ends."""
    if rows.dtype not in WHOLE_DTYPES or rows.shape[1] < 3:
        return None
    rises = bool((rows[:, 1:] >= rows[:, :-1]).all())
    if not rises and not bool((rows[:, 1:] <= rows[:, :-1]).all()):
        return None
    upward = rows.long() if rises else rows.long().flip(-1)
    strict = bool((upward[:, 1:] > upward[:, :-1]).all())
    low, high, inside = upward[:, :1], upward[:, -1:], rows.shape[1] - 2
    step = torch.arange(1, inside + 1, device=rows.device) if strict else 0
    room = high - low - (inside + 1 if strict else 0)  # what is left to distribute beside steps of one
    spread = (torch.rand(rows.shape[0], inside, dtype=torch.float64, device=rows.device) * (room + 1)).long()
    changed = upward.clone()
    changed[:, 1:-1] = low + spread.clamp(max=room).sort(dim=-1).values + step
    return (changed if rises else changed.flip(-1)).to(rows.dtype)


def _shorter(rows: torch.Tensor) -> torch.Tensor | None:
    """Rows of a mask that begin with what is let through, which now ends earlier, not before the first element."""
    off = _off(rows)
    if off is None:
        return None
    on = rows != off
    if bool((on[:, 1:] & ~on[:, :-1]).any()):
        return None
    lengths = on.sum(dim=-1, keepdim=True)
    kept = 1 + (torch.rand(lengths.shape, device=rows.device) * lengths).long().clamp(max=lengths - 1)
    place = torch.arange(rows.shape[1], device=rows.device)
    return torch.where(on & (place >= kept), torch.full_like(rows, off), rows)


def _turned_off(rows: torch.Tensor) -> torch.Tensor | None:
    """A mask that lets less through, something in each row that had something."""
    off = _off(rows)
    if off is None:
        return None
    on = rows != off
    chosen = (torch.rand(rows.shape, device=rows.device) < TURNED_OFF) & on
    weight = torch.rand(rows.shape, device=rows.device).masked_fill(~on, -1.0)
    chosen.scatter_(1, weight.argmax(dim=-1, keepdim=True), value=False)
    return torch.where(chosen, torch.full_like(rows, off), rows)


def _off(rows: torch.Tensor) -> Any:
    """The value of a mask that lets nothing through, the smaller one of two; None where rows are no mask."""
    kinds = torch.unique(rows)
    return kinds[0].item() if kinds.numel() == FEW_KINDS else None


def _shuffled_in_rows(rows: torch.Tensor) -> torch.Tensor:
    order = torch.rand(rows.shape, device=rows.device).argsort(dim=-1)
    return rows.gather(1, order)


def _shuffled_rows(rows: torch.Tensor) -> torch.Tensor | None:
    return rows[torch.randperm(rows.shape[0], device=rows.device)] if rows.shape[0] > 1 else None


def _shifted(rows: torch.Tensor) -> torch.Tensor | None:
    """Consecutive numbers that begin elsewhere: positions of a later part of a sequence."""
    if rows.dtype not in WHOLE_DTYPES or not bool((rows.diff() == 1).all()):
        return None
    return rows + 1 + int(torch.randint(0, rows.shape[1], ())) if int(rows.max()) < 2 * rows.shape[1] else None


def _keeps(tensor: torch.Tensor, changed: torch.Tensor) -> bool:
    """Whether a change keeps what can be seen of a tensor's structure."""
    rows, new = rows_of(tensor), rows_of(changed)
    return all(not holds(rows) or holds(new) for holds in _ROWS) and all(
        not holds(tensor) or holds(changed) for holds in _MATRICES
    )


def _rises(rows: torch.Tensor) -> bool:
    return bool((rows[:, 1:] >= rows[:, :-1]).all())


def _falls(rows: torch.Tensor) -> bool:
    return bool((rows[:, 1:] <= rows[:, :-1]).all())


def _differ(rows: torch.Tensor) -> bool:
    ordered = rows.sort(dim=-1).values
    return bool((ordered[:, 1:] != ordered[:, :-1]).all())


def _have_equal_sums(rows: torch.Tensor) -> bool:
    return _are_equal(rows.double().sum(dim=1)) if rows.shape[0] > 1 else False


def _have_equal_column_sums(rows: torch.Tensor) -> bool:
    return _are_equal(rows.double().sum(dim=0)) if rows.shape[0] > 1 else False


def _are_equal(sums: torch.Tensor) -> bool:
    return bool(torch.isfinite(sums).all()) and bool((sums - sums[0]).abs().max() <= 1e-6 * sums[0].abs())


def _have_something(rows: torch.Tensor) -> bool:
    return bool((rows != rows.min()).any(dim=1).all())


def _is_lower(tensor: torch.Tensor) -> bool:
    """Whether nothing is above the diagonal: zeros, or what a mask has where it lets nothing through."""
    if tensor.dim() < 2 or tensor.shape[-1] != tensor.shape[-2] or tensor.shape[-1] < 2:
        return False
    nothing = _off(tensor)
    above = torch.ones(tensor.shape[-2:], dtype=torch.bool, device=tensor.device).triu(1)
    return bool((tensor[..., above] == (0 if nothing is None else nothing)).all())


def _is_upper(tensor: torch.Tensor) -> bool:
    return tensor.dim() >= 2 and _is_lower(tensor.mT)


_ROWS: tuple[Callable[[torch.Tensor], bool], ...] = (
    _rises,
    _falls,
    _differ,
    _have_equal_sums,
    _have_equal_column_sums,
    _have_something,
)
_MATRICES: tuple[Callable[[torch.Tensor], bool], ...] = (_is_lower, _is_upper, is_symmetric)


def _lengths(offsets: torch.Tensor) -> torch.Tensor:
    return offsets.diff()


def _segments(lengths: torch.Tensor) -> torch.Tensor | None:
    if not bool((lengths >= 0).all()) or int(lengths.sum()) > MOST_SEGMENTED:
        return None
    return torch.repeat_interleave(torch.arange(lengths.numel(), device=lengths.device), lengths.long())


def _offsets(lengths: torch.Tensor) -> torch.Tensor:
    return torch.cat((lengths.new_zeros(1), lengths.cumsum(0).to(lengths.dtype)))


_DERIVATIONS: tuple[Derivation, ...] = (
    lambda source: source,
    lambda source: source[1:],
    lambda source: source[:-1],
    _lengths,
    lambda source: int(_lengths(source).max()),
    lambda source: _segments(_lengths(source)),
    _offsets,
    lambda source: source.cumsum(0),
    lambda source: int(source.max()),
    lambda source: int(source.sum()),
    _segments,
    lambda source: source.argsort() if _differ(rows_of(source)) else None,
)
"""What follows from a vector of whole numbers: its ends, lengths, the longest, each element's segment, offsets, its
inverse if it is a permutation."""


def _relations(found: Sequence[Any], source: int) -> dict[int, Derivation]:
    """Leaves that follow from one that is a vector of whole numbers."""
    value = found[source]
    if not isinstance(value, torch.Tensor) or value.dtype not in WHOLE_DTYPES or value.dim() != 1 or value.numel() < 2:
        return {}
    related: dict[int, Derivation] = {}
    for derive in _DERIVATIONS:
        result = derive(value)
        for place, other in enumerate(found):
            if place != source and place not in related and _is_equal(result, other):
                related[place] = derive
    for place, other in enumerate(found):
        if place not in related and isinstance(other, torch.Tensor) and not is_sparse(other):
            kinds = prefix_kinds(other, value)
            if kinds is not None:
                related[place] = partial(prefixes, other, kinds=kinds)
    return related


def _is_equal(result: Any, other: Any) -> bool:
    if isinstance(result, torch.Tensor):
        is_such = isinstance(other, torch.Tensor) and not is_sparse(other) and other.dtype in WHOLE_DTYPES
        return is_such and result.shape == other.shape and bool((result == other).all())
    if result is None or isinstance(other, bool):
        return False
    return isinstance(other, int) and result == other


def _derived(found: Sequence[Any], place: int, other: Any) -> dict[int, Any]:
    """Values of what follows from a leaf when that has another one."""
    if not isinstance(other, torch.Tensor):
        return {}
    values = {index: derive(other) for index, derive in _relations(found, place).items()}
    return {
        index: value.to(found[index].dtype) if isinstance(value, torch.Tensor) else value
        for index, value in values.items()
        if value is not None
    }
