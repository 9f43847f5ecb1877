"""Dimensions of a call that change their size together, as the reference has it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from workers.ipc.sparse import holds_sparse
from workers.ipc.tensors import flatten, structure
from workers.referee.gates.checks.other_values import taken
from workers.referee.inputs.distributions import OWN
from workers.referee.inputs.index_structure import (
    INDEX_DTYPES,
    IndexStructure,
    first_rows,
    index_structure,
    more_rows,
    row_count,
)
from workers.referee.inputs.resize import (
    SMALL,
    Axes,
    dimensions,
    growing_together,
    odd_part,
    resized_at,
    sharing,
    small_dimensions,
)
from workers.referee.inputs.value_structure import has_zeros_in_place
from workers.referee.trial import Trial

MOST_GROUPS = 10
"""Groups that are looked for."""
LARGEST_BYTES = 64 << 20
"""Inputs of a call from which on nothing larger is tried: the reference and the candidate would take their time."""
FLOAT_BYTES = 4
GROWTH = 1.5
FEW_MORE = (2, 4, 5)
"""What sizes of one to three become."""
Change = Callable[[list[torch.Tensor]], "list[torch.Tensor] | None"]
"""Gives a call's tensors other sizes; None where that breaks a structure."""


@dataclass(frozen=True, kw_only=True)
class SizeGroup:
    """Dimensions that change together, with a call in which they do."""

    axes: Axes
    size: int
    call: list[Any]
    may_shrink: bool
    is_small: bool = False
    is_square: bool = False
    """Whether these are two groups that hold both dimensions of triangles, which grow as a whole only."""


def announced(trial: Trial, number: int = 0) -> list[Any]:
    """Arguments of `forward` as the problem draws them; cotangents follow from their shapes."""
    return trial.state.problem.forward_arguments(trial.draw(number, OWN))


def size_of(tensors: Sequence[torch.Tensor], axes: Axes) -> int:
    """The size of dimensions that share one."""
    return tensors[axes[0][0]].shape[axes[0][1]]


def bytes_of(arguments: Sequence[Any]) -> int:
    """Size of a call's tensors, as far as it is compared: of elements of fewer bytes as floats."""
    return sum(tensor.numel() * max(FLOAT_BYTES, tensor.element_size()) for tensor in flatten(list(arguments)))


def bytes_with(tensors: Sequence[torch.Tensor], axes: Axes, size: int) -> int:
    """The same once dimensions have a size."""
    factors = [1.0] * len(tensors)
    for place, _ in axes:
        factors[place] *= size / max(1, size_of(tensors, axes))
    return round(sum(bytes_of([one]) * factor for one, factor in zip(tensors, factors, strict=True)))


def larger(size: int, generator: random.Random) -> int:
    """A size a little above the announced one."""
    return round(size * generator.uniform(1.0, GROWTH)) + 1


def to_size(trial: Trial, axes: Axes, size: int, *, apart: bool) -> Change:
    """What gives dimensions a size; where indices belong together, without a change of any index."""
    limits = trial.state.problem.limits

    def change(tensors: list[torch.Tensor]) -> list[torch.Tensor] | None:
        steps = limits.steps(announced(trial)) if limits else {}
        changed = resized_at(tensors, axes, size, apart=apart, steps=steps)
        if changed is not None and index_structure(tensors) is not None:
            pairs = [(a, b) for a, b in zip(tensors, changed, strict=True) if a.dtype in INDEX_DTYPES]
            return changed if all(one is other or torch.equal(one, other) for one, other in pairs) else None
        return changed

    return change


def size_groups(trial: Trial, arguments: list[Any], number: int = 0) -> Iterator[SizeGroup]:
    """Each group once: cut, or larger where the reference takes no smaller one. Dimensions of one to three places only
    grow, and only where the outputs grow with them: what broadcasts stays as it is."""
    tensors, generator = flatten(arguments), random.SystemRandom()
    indices = index_structure(tensors)
    if indices is None and holds_sparse(structure(arguments, [])):
        return
    found = list[SizeGroup]()
    done = set[tuple[int, int]]()
    may_grow = bytes_of(arguments) <= LARGEST_BYTES
    small = small_dimensions(tensors) if may_grow else []
    for dimension in [*dimensions(tensors), *small]:
        if dimension in done or len(found) == MOST_GROUPS:
            continue
        size, is_small = size_of(tensors, [dimension]), dimension in small
        sizes = [generator.choice([one for one in FEW_MORE if one > size])] if is_small else [odd_part(size, generator)]
        if may_grow and not is_small:
            sizes.append(larger(size, generator))
        sets = growing_together(tensors, dimension) if is_small else sharing(tensors, dimension)
        sets = [axes for axes in sets if indices is None or not _is_named(tensors, indices, axes)]
        for axes, new in ((axes, new) for new in sizes for axes in sets):
            cut = to_size(trial, axes, new, apart=trial.state.traits.chooses)(tensors)
            call = None if cut is None else taken(trial.state, arguments, cut)
            if call is not None and (not is_small or _has_grown(trial, call, number)):
                done.update(axes)
                group = SizeGroup(axes=axes, size=size, call=call, may_shrink=new < size, is_small=is_small)
                found.append(group)
                yield group
                break
    yield from _squares(trial, arguments, found) if may_grow else ()


def unchanged(trial: Trial, arguments: list[Any], groups: Sequence[SizeGroup]) -> list[tuple[int, int]]:
    """Dimensions in no group though the reference takes another size, or though nothing is known of that: where
    arguments may broadcast, outputs do not grow, or a structure would break."""
    tensors, known = flatten(arguments), {one for group in groups for one in group.axes}
    indices = index_structure(tensors)
    if holds_sparse(structure(arguments, [])):
        return []
    steps = trial.state.problem.limits.steps(arguments)
    found = list[tuple[int, int]]()
    if indices is not None:
        with_rows = _with_rows(trial, arguments, indices)
        known |= with_rows
        starts = [] if with_rows or indices.starts is None else [(indices.starts, 0)]
        found += [one for one in starts if steps.get(one) != 0]
    for place, tensor in enumerate(tensors):
        for axis, size in enumerate(tensor.shape):
            if (place, axis) in known or size == 0 or steps.get((place, axis)) == 0 or tensor.dtype in INDEX_DTYPES:
                continue
            sets = [((place, axis),), *growing_together(tensors, (place, axis))]
            made = [to_size(trial, axes, size + FEW_MORE[0], apart=False)(tensors) for axes in sets]
            calls = [one for one in made if one is not None]
            is_named = indices is not None and _is_named(tensors, indices, [(place, axis)])
            is_open = size < SMALL or len(groups) >= MOST_GROUPS or is_named
            if not calls or (is_open and any(taken(trial.state, arguments, one) is not None for one in calls)):
                found.append((place, axis))
    return found


def _with_rows(trial: Trial, arguments: list[Any], found: IndexStructure) -> set[tuple[int, int]]:
    """The dimensions that change where there are fewer rows, or more, next to indices, as far as the reference takes
    that."""
    tensors = flatten(arguments)
    for other in (first_rows(tensors, found, row_count(tensors, found) // 2), more_rows(tensors, found, 2)):
        if taken(trial.state, arguments, other) is not None:
            return {(place, 0) for place, one in enumerate(other) if one is not tensors[place]}
    return set()


def _squares(trial: Trial, arguments: list[Any], found: Sequence[SizeGroup]) -> Iterator[SizeGroup]:
    """Two groups as one, where triangles have a dimension in each."""
    tensors, generator = flatten(arguments), random.SystemRandom()
    for place, tensor in enumerate(tensors):
        last = [(place, tensor.dim() - 2), (place, tensor.dim() - 1)]
        both = [group for group in found if any(one in group.axes for one in last)]
        if tensor.dim() > 1 and len(both) == 2 and both[0].size == both[1].size and has_zeros_in_place(tensor):
            axes = tuple(dict.fromkeys([*both[0].axes, *both[1].axes]))
            grown = to_size(trial, axes, larger(both[0].size, generator), apart=trial.state.traits.chooses)(tensors)
            call = None if grown is None else taken(trial.state, arguments, grown)
            if call is not None:
                yield SizeGroup(axes=axes, size=both[0].size, call=call, may_shrink=False, is_square=True)
                return


def _has_grown(trial: Trial, call: list[Any], number: int) -> bool:
    """Whether the reference's outputs, without gradients, are larger than announced."""
    before = trial.state.metas(number)
    after = trial.state.expected(call).tensors
    own = len(before) - len(trial.state.problem.gradient_names)
    sizes = [torch.Size(one.shape).numel() for one in before[:own]]
    return sum(one.numel() for one in after[:own]) > sum(sizes)


def _is_named(tensors: Sequence[torch.Tensor], found: IndexStructure, axes: Axes) -> bool:
    """Whether dimensions are those of indices, or have as many places as there are entries or rows."""
    rows = row_count(tensors, found)
    places = {*found.places, found.columns}
    return any(
        place in places
        or tensors[place].dtype in INDEX_DTYPES
        or tensors[place].shape[axis] in (found.entries, rows, rows + 1)
        for place, axis in axes
    )
