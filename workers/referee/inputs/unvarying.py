"""Arguments that are the same in every draw, and other values that a caller could give for them.

A mask that lets everything through, offsets of equal segments, `steps=3`: as long as such a leaf of the arguments never
changes, nothing distinguishes a kernel that reads it from one that does not. So each takes other values, of those that
keep what can be seen of its structure: order, different values in a row, equal sums of rows, a triangle, symmetry,
where a sequence begins and ends, a sum that is another tensor's size, and leaves that follow from one another (lengths
from offsets). Then each takes a few that lack a structure which callers need not keep (`loosened`). A number that
follows from what varies changes with that, and a single number that varies gets larger ones than any draw has. A
problem's reference has the last word on what is legal: it must take them.
"""

from __future__ import annotations

import itertools
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
from workers.referee.inputs.transforms import general
from workers.referee.inputs.value_kinds import is_constant, is_continuous, rows_of
from workers.referee.inputs.value_structure import is_symmetric, prefix_kinds, prefixes

MOST_OTHERS = 2
"""Other values that are tried of one leaf."""
MOST_FOR_NONE = 3
"""The same of what stands for `None`."""
MOST_NUMBERS = 10
"""Other values that are tried of all numbers together, where these are few; of each at least `MOST_OTHERS`."""
MOST_OF_ONE = 5
WIDER = (16, 256)
"""By how much a single number that varies is larger than in any draw."""
SHORTER, LONGER = (5, 8), (3, 2)
"""By what lengths are multiplied from which a number follows."""
TEXTS = tuple(
    tuple(words.split())
    for words in (
        "none mean sum batchmean",
        "zeros border reflection",
        "constant reflect replicate circular",
        "nearest bilinear bicubic area nearest-exact",
        "none tanh",
        "floor trunc",
        "sum prod mean amax amin",
        "mean sum max",
        "linear ndim",
    )
)
"""Texts of which PyTorch's functions take each."""
TURNED_OFF = 0.125
"""Share of a mask's elements that are turned off."""
WHOLE_DTYPES = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
APART = "other values, alone, of"
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
    what: str = "other values of"
    """What is different, in words that a leaf's name follows."""


@dataclass(frozen=True, kw_only=True)
class Freedom:
    """What a model's operators permit of values that lack a structure."""

    repeats: bool = True
    """Whether whole numbers in order may be equal, or begin again: not for places that are written to."""
    restarts: bool = True
    """Whether whole numbers in order may begin again: not for what is searched."""
    empty_rows: bool = True
    """Whether masks may let nothing through."""


def unvarying(draws: Iterable[Sequence[Any]]) -> list[int]:
    """Numbers of the leaves that no draw changes and that no kind of values changes either: tensors that are neither
    general numbers nor full of one, numbers, truth values, texts and None. The draws are looked at one after the
    other."""
    following = iter(draws)
    first = [value for _, value in leaves(list(next(following)))]
    places = list(range(len(first)))
    for draw in following:
        other = [value for _, value in leaves(list(draw))]
        places = [place for place in places if len(other) == len(first) and _is_same(first[place], other[place])]
    tensors = [value for value in first if isinstance(value, torch.Tensor) and not is_sparse(value)]
    together = index_structure(tensors)
    fixed = [tensors[place] for place in together.places] if together is not None and together.ordered else []
    return [place for place in places if _may_vary(first[place]) and not any(first[place] is one for one in fixed)]


def variations(
    arguments: Sequence[Any], place: int, generator: random.Random, texts: Sequence[str] = ()
) -> Iterator[Variation]:
    """Arguments with other values for a leaf that does not vary, and for those that follow from it; the reference may
    not take some of them. None for a leaf that follows from another one: it changes with that. `texts`: others that
    the model compares a text with."""
    if follows(arguments, place):
        return
    found = [value for _, value in leaves(list(arguments))]
    tensors = [value for index, value in enumerate(found) if index != place and isinstance(value, torch.Tensor)]
    others: Iterable[Any] = _others(found[place], other_sizes(arguments, place), generator)
    if isinstance(found[place], str):
        others = _other_texts(found[place], texts, generator)
    elif found[place] is None:
        others = in_place_of_none(tensors)
    for other in others:
        derived = _derived(found, place, other)
        of_tensors = {index: value for index, value in derived.items() if isinstance(value, torch.Tensor)}
        ways: list[dict[int, Any]] = [derived, of_tensors]  # a number may follow by chance
        for changes in ways if len(of_tensors) < len(derived) else ways[:1]:
            changed = [changes.get(index, old) for index, old in enumerate(found)]
            changed[place] = other
            places = frozenset(index for index, old in enumerate(found) if not _is_same(old, changed[index]))
            yield Variation(places=places, arguments=list(with_leaves(list(arguments), changed)))


def loosened(arguments: Sequence[Any], place: int, freedom: Freedom) -> Iterator[Variation]:
    """Arguments with values of a leaf that lack a structure which announced ones have: nothing in some rows of a mask,
    empty segments, positions that begin again, general numbers in the place of a choice; and with other values of one
    of several equal leaves alone. None for a leaf that follows from another one."""
    found = [value for _, value in leaves(list(arguments))]
    if not isinstance(found[place], torch.Tensor) or found[place].numel() < 2 or follows(arguments, place):
        return
    sizes = other_sizes(arguments, place)
    ways = [(APART, other, _derived_apart(found, place, other)) for other in _first_other(found, place, sizes)]
    ways += [(what, other, _derived(found, place, other)) for what, other in _loosened(found[place], sizes, freedom)]
    for what, other, derived in ways:
        if derived is None:
            continue
        changed = [derived.get(index, old) for index, old in enumerate(found)]
        changed[place] = other
        places = frozenset(index for index, old in enumerate(found) if not _is_same(old, changed[index]))
        yield Variation(places=places, arguments=list(with_leaves(list(arguments), changed)), what=what)


def with_sources(arguments: Sequence[Any], place: int) -> Iterator[Variation]:
    """Arguments with another value of a number that follows from another leaf, which has other values, too: in
    another order, or shorter and longer ones, which are in the same relation to the sizes of tensors."""
    found = [value for _, value in leaves(list(arguments))]
    if isinstance(found[place], torch.Tensor):
        return
    for source in _sources(found, place):
        for other in _moved(found[source], other_sizes(arguments, source)):
            derived = _derived(found, source, other)
            changed = [derived.get(index, old) for index, old in enumerate(found)]
            changed[source] = other
            places = frozenset(index for index, old in enumerate(found) if not _is_same(old, changed[index]))
            if place in places and all(_is_alike(*pair) for pair in zip(found, changed, strict=True)):
                yield Variation(places=places, arguments=list(with_leaves(list(arguments), changed)))


def identities(arguments: Sequence[Any], place: int) -> Iterator[Variation]:
    """Arguments with a number for which there may be nothing to do: the size of a tensor, in order, zero and one. They
    begin with the number as it is."""
    number = leaves(list(arguments))[place][1]
    sizes = sorted(other_sizes(arguments, place) - {0, 1}) if isinstance(number, int) else []
    for other in dict.fromkeys([number, *sizes, *map(type(number), (0, 1))]):
        yield Variation(places=frozenset([place]), arguments=with_leaf(arguments, place, other))


def wider_numbers(draws: Sequence[Sequence[Any]]) -> Iterator[tuple[int, int, list[Any]]]:
    """A draw's arguments with another value of a fraction that varies alone, a number or a tensor of one, which is by
    each of `WIDER` larger than in any draw, of a sign that one has: its place, by how much, and the arguments."""
    found = [[value for _, value in leaves(list(draw))] for draw in draws]
    for place, column in enumerate(zip(*found, strict=False)):
        numbers = [fraction(value) for value in column]
        known = [number for number in numbers if number is not None]
        if len(known) < len(numbers) or len(set(known)) == 1:
            continue
        for factor in WIDER:
            other = math.copysign(factor * max(map(abs, known)), random.choice(known))  # noqa: S311 - no secret
            if not isinstance(column[0], torch.Tensor) or other <= torch.finfo(column[0].dtype).max:
                yield place, factor, with_leaf(draws[0], place, other)


def with_leaf(arguments: Sequence[Any], place: int, value: Any) -> list[Any]:
    """Arguments with another number in the place of a leaf, which may be a tensor of one."""
    changed = [value for _, value in leaves(list(arguments))]
    own = changed[place]
    changed[place] = torch.full_like(own, value) if isinstance(own, torch.Tensor) else value
    return list(with_leaves(list(arguments), changed))


def follows(arguments: Sequence[Any], place: int) -> bool:
    """Whether one of the leaves follows from another one, which does not follow from it."""
    return bool(_sources([value for _, value in leaves(list(arguments))], place))


def _sources(found: Sequence[Any], place: int) -> list[int]:
    """The leaves that one follows from, and that do not follow from it."""
    own = derivations(found, place)
    others = (source for source in range(len(found)) if source != place and source not in own)
    return [source for source in others if place in derivations(found, source)]


def stands_alone(arguments: Sequence[Any], place: int) -> bool:
    """Whether a leaf follows from no other one, and no other one from it."""
    found = [value for _, value in leaves(list(arguments))]
    return not derivations(found, place) and not follows(arguments, place)


def other_sizes(arguments: Sequence[Any], place: int) -> set[int]:
    """Sizes of the tensors but for one leaf."""
    found = [value for _, value in leaves(list(arguments))]
    tensors = [value for index, value in enumerate(found) if index != place and isinstance(value, torch.Tensor)]
    return {size for tensor in tensors for size in tensor.shape}


def _is_alike(one: Any, other: Any) -> bool:
    """Whether two leaves have one shape, where they are tensors."""
    return not isinstance(one, torch.Tensor) or one is other or one.shape == other.shape


def fraction(value: Any) -> float | None:
    """The fraction that a leaf is, or a tensor of one; None where it is none, or not finite."""
    if isinstance(value, torch.Tensor):
        if is_sparse(value) or value.numel() != 1 or not value.is_floating_point() or value.element_size() == 1:
            return None
        value = value.item()
    return value if isinstance(value, float) and math.isfinite(value) else None


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
        return (
            value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value))
        )
    if value.numel() == 0 or value.is_complex() or is_constant(value) or is_continuous(value):
        return False
    if value.is_floating_point() and value.element_size() == 1:
        return False  # no arithmetic on 8-bit floats
    return value.dtype is torch.bool or value.dtype in WHOLE_DTYPES or value.is_floating_point()


def _others(value: Any, sizes: set[int], generator: random.Random) -> Iterator[Any]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from _other_whole(value, sizes, generator)
    elif isinstance(value, float):
        yield from _other_numbers(value, generator)
    elif value.numel() == 1:
        yield from _other_single(value, sizes, generator)
    else:
        yield from _other_tensors(value, sizes)


def _other_whole(value: int, sizes: set[int], generator: random.Random) -> Iterator[int]:
    """Whole numbers that are larger, up to the largest size, of the other sign, next to one, smaller, and multiples, of
    which sizes may have to be ones. Of a number that is a size, larger ones and smaller ones take turns: it may have to
    be one."""
    size, sign, most = abs(value), -1 if value < 0 else 1, max(sizes, default=0)
    larger = [generator.randint(2 * size + 1, 4 * size + 1)]
    larger += [generator.randint(larger[0], most)] if most > larger[0] else []
    near, smaller = [value - 1, value + 1], [value // 2, 0, 1]
    generator.shuffle(near)
    generator.shuffle(smaller)
    multiples = [4 * value, 2 * value, *(sign * one // 2 for one in sizes if size and one % (2 * size) == 0)]
    larger = [sign * one for one in larger]
    found = [*larger, -value if value else -1, *near, multiples[0], *smaller, *multiples[1:]]
    if value in sizes:
        found = [larger[0], smaller[0], *near, *found]
    yield from dict.fromkeys(one for one in found if one != value)


def _other_single(tensor: torch.Tensor, sizes: set[int], generator: random.Random) -> Iterator[torch.Tensor]:
    number = tensor.item()
    if isinstance(number, bool):
        yield torch.logical_not(tensor)
    elif isinstance(number, int):
        for other in _other_whole(number, sizes, generator):
            if torch.iinfo(tensor.dtype).min <= other <= torch.iinfo(tensor.dtype).max:
                yield torch.full_like(tensor, other)
    elif math.isfinite(number):
        yield from (torch.full_like(tensor, other) for other in _other_numbers(number, generator))


def _other_numbers(number: float, generator: random.Random) -> Iterator[float]:
    """Numbers about as large, of the other sign, beyond one and the number itself, and those that mean nothing to a
    product or a sum."""
    factor = generator.uniform(0.6, 1.6)
    yield number * factor if number else factor - 1.1
    yield -generator.uniform(0.6, 1.6) * (number or 1.0)
    yield math.copysign(generator.uniform(1.5, 4.0) * max(1.0, abs(number)), number)
    yield from (one for one in generator.sample((0.0, 1.0), 2) if one != number)


def _other_texts(text: str, texts: Sequence[str], generator: random.Random) -> list[str]:
    """The texts that the model compares with, and those that PyTorch's functions take where they take this one."""
    found = dict.fromkeys([*texts, *(one for family in TEXTS if text in family for one in family)])
    return generator.sample([one for one in found if one != text], len(found) - (text in found))


def in_place_of_none(tensors: Sequence[torch.Tensor]) -> Iterator[Any]:
    """What may be given where nothing was: a vector along the first tensor's last dimension, a tensor of its shape,
    vectors along its other dimensions, and a number."""
    like = next((one for one in tensors if is_continuous(one) and one.element_size() > 1), None)
    if like is not None:
        last, *vectors = ((size,) for size in reversed(like.shape))
        for shape in dict.fromkeys([last, tuple(like.shape), *vectors]):
            yield torch.randn(shape, dtype=like.dtype, device=like.device)
    yield 0.5


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
        if keeps_structure(tensor, changed):
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


def _moved(source: torch.Tensor, sizes: set[int]) -> Iterator[torch.Tensor]:
    """Other values of a vector of whole numbers: in order between the same ends, of the same sum where that is a size
    of a tensor, or else shorter, and longer up to the next size, where they are not negative."""
    rows, least, most = rows_of(source), int(source.min()), int(source.max())
    if _rises(rows) or _falls(rows):
        found = [_other_order(rows)]
    elif int(source.sum()) in sizes:
        found = [_composition(rows, int(source.sum())) if least > 0 else None]
    else:
        room = min((size for size in sizes if size >= most), default=most)
        scaled = [(rows.long() * by // over).clamp(min=least) for by, over in (SHORTER, LONGER)]
        found = [one.to(rows.dtype) for one in scaled if least >= 0 and int(one.max()) <= room]
    for one in found:
        if one is not None and keeps_structure(source, one.view(source.shape)):
            yield one.view(source.shape)


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
    room = high - low - (inside + 1 if strict else 0)  # what is left to distribute besides steps of one
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


def _first_other(found: Sequence[Any], place: int, sizes: set[int]) -> Iterator[torch.Tensor]:
    """Another value of a vector that is equal to another leaf."""
    if any(derive is _DERIVATIONS[0] for derive in derivations(found, place).values()):
        yield from itertools.islice(_other_tensors(found[place], sizes), 1)


def _loosened(tensor: torch.Tensor, sizes: set[int], freedom: Freedom) -> Iterator[tuple[str, torch.Tensor]]:
    """Other values of a tensor, each with what they lack or have."""
    rows, kinds = rows_of(tensor), torch.unique(tensor).tolist()
    if len(kinds) == FEW_KINDS if tensor.is_floating_point() else set(kinds) <= {0, 1}:
        yield from ((what, other) for what, other in _loosened_mask(tensor, freedom) if not torch.equal(tensor, other))
    elif tensor.dtype not in WHOLE_DTYPES or tensor.numel() < 3:
        return
    elif bool((rows.diff() == 1).all()):
        begin = int(torch.randint(1, rows.shape[1], ()))
        if freedom.repeats and freedom.restarts:
            both = torch.cat((rows[:, : rows.shape[1] - begin], rows[:, :begin]), dim=1)
            yield "a new beginning in", both.view(tensor.shape)
        later = torch.arange(rows.shape[1], device=rows.device) >= begin
        yield "a gap in", (rows + later.to(rows.dtype)).view(tensor.shape)
    elif not freedom.repeats or tensor.dim() != 1:
        return
    elif bool((tensor.diff() > 0).all()) and kinds[0] == 0:
        places = torch.randint(0, kinds[-1] + 1, tensor.shape, device=tensor.device).sort().values
        places[:2], places[-2:] = 0, kinds[-1]
        yield "empty segments in", places.to(tensor.dtype)
    elif kinds[0] > 0 and (len(kinds) == 1 or not (_rises(rows) or _differ(rows))):
        yield "zeros in", _with_zeros(tensor, sizes)


def _loosened_mask(tensor: torch.Tensor, freedom: Freedom) -> Iterator[tuple[str, torch.Tensor]]:
    rows = rows_of(tensor)
    chosen = rows != rows.min()
    if any(bool((chosen.sum(dim=dim) == 1).all()) for dim in (0, 1)):
        return  # it names a place in each row or column
    is_prefix = _falls(rows) and float(rows.max()) > 0 and not _is_lower(tensor)
    if tensor.is_floating_point() and not is_prefix:
        other = general(tensor)
        yield "general numbers in", other.tril() + other.tril(-1).mT if is_symmetric(tensor) else other
    low, high = tensor.aminmax() if tensor.is_floating_point() else (0, 1)
    ways = (("nothing in some rows of", low, TURNED_OFF), ("everything in some rows of", high, TURNED_OFF))
    for what, value, share in (*ways, ("nothing in", low, 1.0)) if freedom.empty_rows else ():
        other = _rows_of_one(rows, value, share).view(tensor.shape)
        if all(not holds(tensor) or holds(other) for holds in _MATRICES):
            yield what, other


def _rows_of_one(rows: torch.Tensor, value: Any, share: float) -> torch.Tensor:
    """Rows of which some, at least one, hold one value."""
    changed, count = rows.clone(), max(1, int(rows.shape[0] * share))
    changed[torch.randperm(rows.shape[0], device=rows.device)[:count]] = value
    return changed


def _with_zeros(lengths: torch.Tensor, sizes: set[int]) -> torch.Tensor:
    """Lengths of which some are zero; their neighbours are so much longer where the sum is another tensor's size."""
    changed, place = lengths.clone(), 2 * int(torch.randint(0, lengths.numel() // 2, ()))
    if int(lengths.sum()) in sizes:
        changed[place + 1] += changed[place]
    changed[place] = 0
    return changed


def keeps_structure(tensor: torch.Tensor, changed: torch.Tensor) -> bool:
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


def derivations(found: Sequence[Any], source: int) -> dict[int, Derivation]:
    """The places of leaves that follow from one that is a vector of whole numbers, each with how it follows."""
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
    values = {index: derive(other) for index, derive in derivations(found, place).items()}
    return {
        index: value.to(found[index].dtype) if isinstance(value, torch.Tensor) else value
        for index, value in values.items()
        if value is not None
    }


def _derived_apart(found: Sequence[Any], place: int, other: torch.Tensor) -> dict[int, Any] | None:
    """The same where leaves that are equal to the first keep their values: of as many leaves that follow in one way,
    the first one follows from it; of a single number, the larger one holds for all. None where that cannot be seen."""
    related = derivations(found, place)
    sources = 1 + sum(derive is _DERIVATIONS[0] for derive in related.values())
    changes = dict[int, Any]()
    for derive in set(related.values()) - {_DERIVATIONS[0]}:
        group, value = [index for index in related if related[index] is derive], derive(other)
        old = found[group[0]]
        if value is None or (len(group) != sources and isinstance(value, torch.Tensor)):
            return None
        if isinstance(value, torch.Tensor):
            changes[min(group)] = value.to(old.dtype)
        else:
            changes |= dict.fromkeys(group[:1] if len(group) == sources else group, max(value, old))
    return changes
