"""A few elements of tensors changed, as a caller does who writes to a tensor in place between two calls.

A kernel that takes a sample of an argument for all of it still uses what it computed from older values. So does one
that knows an argument by what it looks like: a number by its first digits, a tensor by its sum.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from workers.ipc.sparse import is_sparse
from workers.ipc.tensors import flatten, leaves, overlap, relaid, with_leaves
from workers.referee.inputs.distributions import rebuilt
from workers.referee.inputs.index_structure import index_structure
from workers.referee.inputs.unvarying import keeps_structure, stands_alone, variations
from workers.referee.inputs.value_kinds import is_code, is_constant, may_repeat, rows_of
from workers.referee.inputs.value_structure import structured

RUN = 64
"""Elements in a row among which some change."""
TRIES = 8
SHARES = (1 / 3000, 1 / 300)
"""Of itself, by which a number changes: a kernel that rounds it takes it for the same."""
MOST_SMALL = 64
"""Elements of a small tensor."""
_GENERATOR = random.SystemRandom()
MOST_WHOLE = 1 << 23
"""Elements of masks and whole numbers, whose structure is looked at, up to which some change."""


def slightly_changed(arguments: Sequence[Any], other: Sequence[Any], *, whole: bool = True) -> list[Any] | None:
    """The arguments with a few other elements in each tensor, some of them from another draw; `whole`: in masks and
    whole numbers too. None where nothing can change that way."""
    found, others = ([value for _, value in leaves(list(one))] for one in (arguments, other))
    tensors = flatten(list(arguments))
    if len(found) != len(others) or any(map(is_sparse, found)):
        return None
    together = index_structure(tensors)
    fixed = [tensors[place] for place in together.places] if together is not None else []
    changed = list(found)
    for place, value in enumerate(found):
        if not isinstance(value, torch.Tensor) or not _may_change(value, tensors):
            continue
        if any(value is one for one in fixed):
            continue
        if value.is_floating_point() or (whole and value.numel() <= MOST_WHOLE and stands_alone(arguments, place)):
            ways = (_ways(value, source) for source in _sources(arguments, place, others[place]))
            kept = (one for one in itertools.chain.from_iterable(ways) if _is_kept(value, one))
            changed[place] = next(kept, value)
    if all(one is old for one, old in zip(changed, found, strict=True)):
        return None
    laid = list(with_leaves(list(arguments), changed))
    return list(rebuilt(laid, relaid(flatten(laid), tensors)))


def looking_alike(arguments: Sequence[Any]) -> Iterator[tuple[str, bool, list[list[list[Any]]]]]:
    """For each number that is no whole one, and each small tensor: what has become of it, whether it is a tensor, and
    calls with that, each in some ways, of which the reference may take none."""
    found, tensors = [value for _, value in leaves(list(arguments))], flatten(list(arguments))
    together = index_structure(tensors)
    fixed = [tensors[place] for place in together.places] if together is not None else []
    for place, value in enumerate(found):
        is_tensor = isinstance(value, torch.Tensor)
        if is_tensor and (is_sparse(value) or any(value is one for one in fixed)):
            continue
        if _is_number(value, tensors):
            ways = [[value * (1.0 + share), value * (1.0 - share)] for share in SHARES]
            what = "a number had changed by less than one percent"
        elif is_tensor and _may_be_reordered(arguments, place, value, tensors):
            ways = [[one] for one in _reordered(value)]
            what = "elements of a small tensor had changed places"
        else:
            continue
        calls = [[_with_leaf(arguments, found, place, one) for one in way if not _is_equal(value, one)] for way in ways]
        yield what, is_tensor, [call for call in calls if call]


def _is_number(value: Any, tensors: Sequence[torch.Tensor]) -> bool:
    """Whether this is a number with a fraction, or a tensor of one."""
    if isinstance(value, torch.Tensor):
        is_single = value.numel() == 1 and value.is_floating_point() and value.element_size() > 1
        return is_single and math.isfinite(float(value)) and not _is_shared(value, tensors)
    return isinstance(value, float) and math.isfinite(value)


def _may_be_reordered(arguments: Sequence[Any], place: int, value: torch.Tensor, tensors: list[torch.Tensor]) -> bool:
    if value.numel() > MOST_SMALL or not _may_change(value, tensors) or is_constant(value):
        return False
    if not value.is_floating_point():
        return stands_alone(arguments, place)
    steps = value.diff(dim=-1)
    return not bool((steps >= 0).all() or (steps <= 0).all())


def _reordered(tensor: torch.Tensor) -> Iterator[torch.Tensor]:
    """The tensor with two elements exchanged, then reversed, then moved on by one, where that keeps its structure."""
    flat = tensor.contiguous().view(-1)
    others = (flat != flat[0]).nonzero()[:, 0].tolist()
    if not others:
        return
    exchanged, pair = flat.clone(), torch.tensor([0, _GENERATOR.choice(others)], device=tensor.device)
    exchanged[pair] = flat[pair.flip(0)]
    for one in (exchanged, flat.flip(0), flat.roll(1)):
        mixed = _structured(tensor, one)
        if _is_kept(tensor, mixed):
            yield mixed


def _with_leaf(arguments: Sequence[Any], found: Sequence[Any], place: int, value: Any) -> list[Any]:
    laid = list(with_leaves(list(arguments), [*found[:place], value, *found[place + 1 :]]))
    return list(rebuilt(laid, relaid(flatten(laid), flatten(list(arguments)))))


def _is_equal(one: Any, other: Any) -> bool:
    return torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other


def _may_change(tensor: torch.Tensor, tensors: Sequence[torch.Tensor]) -> bool:
    """Whether elements can be set, and no other tensor has them too."""
    if tensor.numel() < 2 or tensor.is_complex() or (tensor.is_floating_point() and tensor.element_size() == 1):
        return False
    return not _is_shared(tensor, tensors)


def _is_shared(tensor: torch.Tensor, tensors: Sequence[torch.Tensor]) -> bool:
    return any(tensor is not one and overlap(tensor, one) for one in tensors)


def _sources(arguments: Sequence[Any], place: int, other: Any) -> Iterator[torch.Tensor]:
    """Tensors of which elements may stand in a tensor's place: another draw's where places are independent, and those
    of other values that keep its structure."""
    tensor = [value for _, value in leaves(list(arguments))][place]
    is_free = tensor.is_floating_point() or is_code(tensor) or may_repeat(tensor)
    if is_free and isinstance(other, torch.Tensor) and other.shape == tensor.shape and other.dtype == tensor.dtype:
        yield other
    if is_constant(tensor):
        yield tensor * (0.5 + torch.rand_like(tensor))
        return
    for variation in itertools.islice(variations(arguments, place, _GENERATOR), TRIES):
        if variation.places == {place}:
            yield [value for _, value in leaves(variation.arguments)][place]


def _ways(tensor: torch.Tensor, source: torch.Tensor) -> Iterator[torch.Tensor]:
    """The tensor with a run of elements of another one; with two elements exchanged, as in a permutation; and with that
    row of the other one, of some, in which the fewest change, as a mask's rows end. None where all are alike."""
    old, new = rows_of(tensor), rows_of(source)
    places = torch.tensor([_GENERATOR.randrange(tensor.numel()) for _ in range(TRIES)], device=tensor.device)
    apart = (old.reshape(-1)[places] != new.reshape(-1)[places]).nonzero()[:, 0]
    if apart.numel() == 0:
        places = (old != new).reshape(-1).nonzero()[:, 0]
        if places.numel() == 0:
            return
        places = places[torch.randint(places.numel(), (TRIES,), device=tensor.device)]
        apart = torch.zeros(1, dtype=torch.long, device=tensor.device)
    length = min(RUN, 1 + tensor.numel() // 4)
    first = int(places[apart[0]]) - _GENERATOR.randrange(length)
    first = max(0, min(first, tensor.numel() - length))
    mixed = old.clone()
    mixed.view(-1)[first : first + length] = new.reshape(-1)[first : first + length]
    yield _structured(tensor, mixed)
    swapped = old.clone().view(-1)
    pair = places[[int(apart[0]), _GENERATOR.randrange(len(places))]]
    swapped[pair] = swapped[pair.flip(0)]
    yield _structured(tensor, swapped)
    rows = places // old.shape[1]
    counts = (old[rows] != new[rows]).sum(dim=1)
    row = rows[torch.where(counts == 0, old.shape[1] + 1, counts).argmin()]
    mixed = old.clone()
    mixed[row] = new[row]
    yield _structured(tensor, mixed)


def _structured(tensor: torch.Tensor, mixed: torch.Tensor) -> torch.Tensor:
    mixed = mixed.view(tensor.shape)
    return structured(tensor, mixed) if tensor.is_floating_point() else mixed


def _is_kept(tensor: torch.Tensor, changed: torch.Tensor) -> bool:
    """Whether something changed, and nothing that can be seen of the structure of whole numbers did."""
    return not torch.equal(tensor, changed) and (tensor.is_floating_point() or keeps_structure(tensor, changed))
