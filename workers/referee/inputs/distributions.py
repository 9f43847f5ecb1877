"""Input draws: what a candidate is tried on. All derived from the problem's own inputs, so that they are valid."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from workers.ipc.tensors import base_of, flatten, mapped, relaid
from workers.referee.inputs.dependence import together
from workers.referee.inputs.float8 import narrowed, widened
from workers.referee.inputs.index_structure import IndexStructure, index_structure, uneven
from workers.referee.inputs.row_features import flatter, lower_end, of_many_features, up_and_down, upper_end
from workers.referee.inputs.transforms import (
    LARGE,
    Transform,
    adjacent,
    alike,
    all_magnitudes,
    any_code,
    anywhere,
    as_it_is,
    beyond,
    blocks,
    degenerate,
    displaced,
    displaced_rows,
    far,
    far_beyond,
    general,
    huge,
    hugest,
    in_runs,
    large_and_close,
    lower_tail,
    minus_infinity,
    minute,
    minutest,
    mixed,
    multiples,
    not_finite,
    of_other_bits,
    offset,
    often_not_finite,
    one_value,
    ordered,
    other_ones,
    other_places,
    other_zeros,
    padded,
    planted,
    rare,
    row_of_nan,
    spike,
    spikes,
    subnormal,
    ties,
    tiny,
    to_its_ends,
    upper_tail,
    whole_and_wide,
    wide,
)
from workers.referee.inputs.value_kinds import (
    are_numbers,
    holds_nan,
    is_code,
    is_constant,
    is_continuous,
    is_few_floats,
    is_whole,
    may_repeat,
)
from workers.referee.inputs.value_structure import structured
from workers.runner.step import DENSE, EXPANDED, TURNED

ROUNDING = 2.0**-23
COARSE = 2.0**-16
"""A nudge by which some of many rounded results change."""


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """A way to change drawn inputs."""

    name: str
    transform: Transform | None
    """Applied to every continuous floating-point tensor; None leaves the draw as the problem made it."""
    only: int | None = None
    """The one of these tensors that is changed, by its number; None for all of them."""
    but_for: int | None = None
    """The one of them that stays as it is."""
    finite: bool = True
    """Whether outputs are finite; where not, leading slices that the reference leaves finite are judged."""
    by_element: bool = False
    """Whether outputs need not be finite, and each element is judged that is not NaN: infinities by their places."""
    harsh: bool = False
    """Whether magnitudes are such that an input's last bit shows: a kernel is then as right as the exact result of
    inputs that were rounded once more."""
    whole: Transform | None = None
    """Applied to every tensor of general whole numbers, where those are what changes."""
    code: Transform | None = None
    """Applied to every tensor of codes (a mask, labels, bytes), where those are what changes."""
    piles_up: bool = False
    """Whether sums may pile up in one place, by indices that are alike, or rows be what one huge term leaves of others:
    a row or column then has no error to average."""
    few: Transform | None = None
    """Applied to every tensor of floats of a few kinds, where those are what changes."""
    constant: Transform | None = None
    """Applied to every tensor of one value, where those are what changes."""
    marked: Transform | None = None
    """Applied to every tensor of whole numbers that may repeat each other, where those are what changes."""
    number: Transform | None = None
    """Applied to every tensor of whole numbers that may be any, where those are what changes."""
    has_ties: bool = False
    """Whether equal values occur: not for references whose choice among equals is not specified."""
    uneven: bool = False
    """Whether the entries of sparse matrices lie elsewhere: many in a few rows, none in some."""
    about_nan: bool = False
    """Whether it is tried where the reference detects what is not finite: then everything is judged."""
    with_nan: Transform | None = None
    """Applied to every tensor of floats that holds NaN, where those are what changes."""
    steady: bool = False
    """Whether it is tried only where the reference itself stays exact: what overflows inside of it, or hangs on a
    rounding, does not depend on a kernel's precision."""
    own_cotangents: bool = False
    """Whether cotangents stay as they are drawn, as of what is about the arguments of a forward."""
    layout: int = DENSE
    """How cotangents lie in memory, where there are any; see `workers.runner.step`."""

    @property
    def may_overflow(self) -> bool:
        """Whether elements that overflow in the reference are not judged on this draw."""
        return self.transform is not None and self.finite and not (self.by_element or self.about_nan)


APART = 1e-8
"""By how much equal values are moved apart at most, in proportion: less than floats are."""


OWN = Distribution(name="own", transform=None)
WIDE = Distribution(name="wide", transform=wide, harsh=True)
BIG = Distribution(name="large", transform=lambda tensor: tensor * LARGE, harsh=True)
LARGER = (
    BIG,
    Distribution(name="sixteen times as large", transform=lambda tensor: tensor * (LARGE / 4), harsh=True),
    Distribution(name="four times as large", transform=lambda tensor: tensor * (LARGE / 16), harsh=True),
)
"""Tried in the place of wide values where the reference overflows on these: the first that it takes."""
FAR = Distribution(name="beyond half", transform=far, harsh=True, steady=True)
"""Tried where the reference multiplies matrices: float has a range that products of half-precision parts lack."""
HUGE = Distribution(name="huge", transform=huge, harsh=True, steady=True)
HUGEST = Distribution(name="hugest", transform=hugest, harsh=True, steady=True)
"""Tried where the reference itself is exact there: conversions to integers, and squares, have a range of their own."""
DISTANT = Distribution(name="distant", transform=displaced, own_cotangents=True)
DISTANT_ROWS = Distribution(name="distant rows of", transform=displaced_rows, own_cotangents=True)
FAR_BEYOND = Distribution(name="far beyond", transform=far_beyond, only=0, harsh=True, steady=True)
"""Never held against a kernel: see `gates.checks.distant_means`."""
TELLING = (
    Distribution(name="one spike in", transform=spike, harsh=True),
    Distribution(name="block-wise", transform=blocks),
)
"""They look like the problem's own nearly everywhere: tried on every input set of every size."""
TIED = Distribution(name="tied", transform=ties, has_ties=True)
OTHERS = (
    WIDE,
    Distribution(name="offset", transform=offset),
    Distribution(name="mixed signs", transform=mixed),
    Distribution(name="tiny", transform=tiny),
    TIED,
    Distribution(name="spiked", transform=spikes, harsh=True),
    Distribution(name="partly not finite", transform=not_finite, only=0, finite=False),
)
WHOLE = (
    Distribution(name="larger whole", transform=as_it_is, whole=beyond),
    Distribution(name="few whole", transform=as_it_is, piles_up=True, whole=other_places, has_ties=True),
    Distribution(name="equal whole", transform=as_it_is, piles_up=True, whole=one_value, has_ties=True),
)
"""Tried where inputs hold general whole numbers and the reference takes them."""
REPEATED = tuple(replace(one, whole=None, marked=one.whole) for one in WHOLE if one.has_ties)
"""Tried of a step in the place of these where there are too few numbers to be seen as general, and some repeat."""
ANYWHERE = Distribution(name="full-range whole", transform=as_it_is, number=anywhere)
"""Tried where the reference only compares, moves or selects whole numbers: both signs and the dtype's ends."""
CODES = (
    Distribution(name="rare code", transform=as_it_is, piles_up=True, code=rare, has_ties=True),
    Distribution(name="codes in long runs as", transform=as_it_is, piles_up=True, code=in_runs, has_ties=True),
    Distribution(name="equal codes", transform=as_it_is, piles_up=True, code=any_code, has_ties=True),
)
"""Tried where inputs hold codes that are drawn for each place, and the reference takes them."""
CONSTANTS = (
    Distribution(name="other ones", transform=as_it_is, constant=other_ones),
    Distribution(name="other zeros", transform=as_it_is, constant=other_zeros),
)
"""Tried where inputs hold tensors of one value."""
ALIKE = Distribution(name="alike", transform=alike, code=alike, piles_up=True, has_ties=True, harsh=True, steady=True)
"""Tried where a dimension is longer than 16 bits count, and what the reference does with equal values is known."""
UNEVEN = Distribution(name="uneven rows", transform=as_it_is, piles_up=True, uneven=True)
"""Tried where indices say where a sparse matrix has entries, and these could be anywhere."""
ORDERED = Distribution(name="ordered", transform=ordered)
"""Tried where the reference compares values with each other, and sums no rows: in order, those may cancel late."""
NOT_FINITE = Distribution(name="not finite in places", transform=not_finite, about_nan=True)
"""Tried where the reference looks for NaN or infinities."""
CLOSE = Distribution(name="close", transform=as_it_is, harsh=True)
EQUAL = Distribution(name="equal", transform=as_it_is, harsh=True, has_ties=True)
"""How tensors are judged that are close to each other, or equal; see `inputs.relations`."""
NAN_AMONG_NAN = Distribution(
    name="not finite in a row", transform=as_it_is, with_nan=row_of_nan, by_element=True, about_nan=True
)
"""The same of tensors that hold NaN anyway."""
OTHER_NAN = Distribution(name="NaN of other bits among", transform=as_it_is, with_nan=of_other_bits, about_nan=True)
"""Of those where the reference has no such operator."""
DEGENERATE = Distribution(
    name="degenerate",
    transform=degenerate,
    harsh=True,
    has_ties=True,
    by_element=True,
    steady=True,
    own_cotangents=True,
)
PADDED = Distribution(name="padded", transform=padded, harsh=True, has_ties=True, by_element=True, steady=True)
"""Rows of zeros and the like. Where roundings are all that is left of rows of one value, zeros alone."""
MINUTE = (
    Distribution(name="minute", transform=minute, harsh=True, steady=True, own_cotangents=True),
    Distribution(name="minutest", transform=minutest, harsh=True, steady=True, own_cotangents=True),
)
"""Tried where the reference itself is exact there, and passes through no number that is large compared with them."""


def alone(distribution: Distribution, number: int) -> Distribution:
    """The same of one continuous tensor, by its number among these: the others are as drawn. What is lost next to a
    huge one is lost as a part of the whole, so no row is judged by itself."""
    return replace(distribution, name=f"{distribution.name} (in tensor {number + 1} alone)", only=number, piles_up=True)


def all_but(distribution: Distribution, number: int) -> Distribution:
    """The same of all continuous tensors but one."""
    return replace(
        alone(distribution, number),
        name=f"{distribution.name} (but for tensor {number + 1})",
        only=None,
        but_for=number,
    )


MASKED = Distribution(
    name="minus infinity in", transform=minus_infinity, only=0, finite=False, by_element=True, has_ties=True
)
"""Tried where the reference takes exponentials of differences from the largest of a row: masked scores are so."""
FEW_FLOATS = Distribution(name="general (for a few kinds)", transform=as_it_is, few=general)
"""Tried where floats are of a few kinds, drawn for each place."""
TURNED_COTANGENTS = Distribution(name="own, with turned cotangents,", transform=None, layout=TURNED)
EXPANDED_COTANGENTS = Distribution(name="own, with expanded cotangents,", transform=None, layout=EXPANDED)
LAYOUTS = (TURNED_COTANGENTS, EXPANDED_COTANGENTS)
"""Tried where gradients are judged: a transposition or a sum after a kernel gives it such cotangents."""
ANY_WHOLE = (
    ANYWHERE,
    Distribution(name="large and close whole", transform=as_it_is, number=large_and_close),
    Distribution(name="multiples of a power of two as whole", transform=as_it_is, number=multiples),
)
"""Tried where the reference only compares, moves or selects whole numbers."""
ALL_MAGNITUDES = Distribution(name="floats of all magnitudes as", transform=all_magnitudes, harsh=True, steady=True)
"""Tried in the place of huge values where the reference only compares, moves or selects floats."""
ADJACENT = Distribution(name="neighbouring floats as", transform=adjacent)
SUBNORMAL = Distribution(name="subnormal floats among", transform=subnormal)
"""Tried where the reference only compares, moves or selects floats: no rounding hides what a kernel takes for equal, or
for zero. A kernel that flushes numbers to zero is right too; see `flushed`."""
ENDS = Distribution(name="ends of the range among", transform=to_its_ends, has_ties=True)
"""Tried where the reference takes no wide values: it has a domain."""
WHOLE_TURNS = Distribution(name="whole and wide", transform=whole_and_wide, steady=True)
"""Tried where the reference has a sine: a float holds these numbers as they are."""
WHOLE_QUOTIENTS = Distribution(name="whole and wide", transform=whole_and_wide, harsh=True, steady=True)
"""Tried where the reference has a remainder, and floats hold its results as they are."""
TAILS = (
    Distribution(name="upper tail", transform=upper_tail, steady=True),
    Distribution(name="lower tail", transform=lower_tail, steady=True),
)
"""Tried where the reference computes what is left beyond a value: of that, faint numbers count."""
ENDED = (
    Distribution(name="upper end", transform=upper_end, harsh=True, steady=True, has_ties=True),
    Distribution(name="lower end", transform=lower_end, harsh=True, steady=True, has_ties=True),
)
"""Tried where the reference has a sigmoid or the like, or where numbers are drawn from zero to one: what fades in every
draw stays there, and what is faint next to the rest is all that there is."""
MANY_FEATURES = Distribution(name="row by row other", transform=of_many_features, steady=True)
FLATTER = Distribution(name="flatter", transform=flatter, steady=True)
"""The first of them on which the reference is exact, also where it chooses among values that it computes."""
UP_AND_DOWN = Distribution(name="up and down", transform=up_and_down, steady=True, piles_up=True)
"""Tried where the reference multiplies along a row: its products stay in the range of floats, those of parts do not."""
DISTRIBUTIONS = (OWN, *TELLING, *OTHERS, BIG, FAR)


def with_numbers(numbers: Sequence[float]) -> Distribution:
    """The problem's own values with these numbers among them."""
    return Distribution(name="named", transform=lambda tensor: planted(tensor, numbers), has_ties=True)


def not_finite_in(number: int) -> Distribution:
    """NaN and infinities in one of the continuous tensors, which has this number."""
    name = f"partly not finite (in tensor {number + 1} alone)"
    return Distribution(name=name, transform=often_not_finite, only=number, finite=False)


def with_mark(number: int) -> Distribution:
    """The problem's own values, whole ones here and there another number."""
    return Distribution(name=f"own with {number}", transform=as_it_is, marked=lambda tensor: planted(tensor, [number]))


def only_mark(number: int) -> Distribution:
    """The problem's own values, whole ones everywhere another number."""
    return Distribution(
        name=f"own with nothing but {number}", transform=as_it_is, marked=lambda tensor: torch.full_like(tensor, number)
    )


def drawn(arguments: list[Any], distribution: Distribution) -> list[Any]:
    """Arguments with their continuous tensors changed as a distribution has it."""
    if distribution.transform is None:
        return arguments
    given = flatten(arguments)
    tensors = [widened(tensor) for tensor in given]
    changed = list(tensors)
    places = [index for index, tensor in enumerate(tensors) if is_continuous(tensor)]
    for number, index in enumerate(places):
        if number == distribution.but_for or distribution.only not in (None, number):
            continue
        changed[index] = structured(tensors[index], _changed(tensors[index], distribution.transform))
    structure = index_structure(tensors)
    special = _special(distribution)
    fixed = _fixed(tensors, structure) if special else frozenset[int]()
    for change, is_such in special:
        changed = [
            _on_base(tensor, change) if place not in fixed and is_such(tensor) else tensor
            for place, tensor in enumerate(changed)
        ]
    if distribution.uneven and structure is not None:
        changed = uneven(changed, structure) or changed
    if distribution.finite:
        changed = [_single(tensor) for tensor in changed]
    pairs = zip(given, tensors, changed, strict=True)
    values = [old if new is wide else narrowed(new, old.dtype) for old, wide, new in pairs]
    return list(rebuilt(arguments, relaid(values, given)))


def _special(distribution: Distribution) -> list[tuple[Transform, Callable[[torch.Tensor], bool]]]:
    """What a distribution does to tensors that are not continuous, and which those are."""
    kinds = (
        (distribution.whole, is_whole),
        (distribution.code, is_code),
        (distribution.few, is_few_floats),
        (distribution.constant, is_constant),
        (distribution.marked, may_repeat),
        (distribution.with_nan, holds_nan),
        (distribution.number, are_numbers),
    )
    return [(change, is_such) for change, is_such in kinds if change is not None]


def changes(arguments: list[Any], distribution: Distribution) -> bool:
    """Whether a distribution that is about some kind of tensor finds one here: of values drawn at random, some are
    seen for what they are in one draw and not in another."""
    special, tensors = _special(distribution), flatten(arguments)
    if distribution.uneven:
        structure = index_structure(tensors)
        return structure is not None and uneven(tensors, structure) is not None
    free = loose(tensors) if special else []
    return not special or any(is_such(tensor) for _, is_such in special for tensor in free)


def loose(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The tensors that can be changed one by one: all but those that belong together."""
    fixed = _fixed(tensors, index_structure(tensors))
    return [one for place, one in enumerate(tensors) if place not in fixed]


def _fixed(tensors: Sequence[torch.Tensor], structure: IndexStructure | None) -> frozenset[int]:
    """The places of indices that belong together, and of tensors that follow from one another."""
    return together(tensors) | (structure.places if structure is not None else frozenset())


def _on_base(tensor: torch.Tensor, transform: Transform) -> torch.Tensor:
    """A change of what an expanded tensor repeats: each of its values is seen as often as before."""
    base = base_of(tensor)
    return transform(tensor) if base is tensor else transform(base.contiguous()).expand(tensor.shape)


def _changed(tensor: torch.Tensor, transform: Transform) -> torch.Tensor:
    """A change of a tensor, or of complex numbers' real and imaginary parts, as if these were rows of their own."""
    if not tensor.is_complex():
        return _on_base(tensor, transform)
    parts = torch.view_as_real(tensor.resolve_conj()).movedim(-1, 0).contiguous()
    return torch.complex(*transform(parts))


def _single(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of one number (a scale, a temperature) gets another: problems often hold it at one value."""
    if tensor.numel() != 1 or not tensor.is_floating_point():
        return tensor
    return tensor * random.uniform(0.6, 1.6)  # noqa: S311 - seeded with the draw


def is_one_several(arguments: list[Any]) -> bool:
    """Whether one tensor is several arguments."""
    tensors = flatten(arguments)
    return len(set(map(id, tensors))) < len(tensors)


def nudged(arguments: list[Any], by: float = ROUNDING, *, apart: bool = False) -> list[Any]:
    """Arguments in float64 whose values are off by up to a rounding to float, as they are inside of many a kernel. One
    tensor that is several arguments stays one, unless each is to be rounded `apart`."""
    known = dict[int, torch.Tensor]()

    def nudge(tensor: torch.Tensor) -> torch.Tensor:
        if apart or id(tensor) not in known:
            known[id(tensor)] = moved(tensor)
        return known[id(tensor)]

    def moved(tensor: torch.Tensor) -> torch.Tensor:
        if not (tensor.is_floating_point() or tensor.is_complex()):
            return tensor
        exact = tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)
        other = exact + exact * (torch.rand(tensor.shape, device=tensor.device) * 2 - 1) * by
        return torch.where(torch.isfinite(exact), other, exact)  # an infinity would become NaN

    return list(mapped(arguments, nudge))


def without_ties(arguments: list[Any], *, later_is_larger: bool) -> list[Any]:
    """Arguments in float64 of which no two equal values but zeros are equal any more: the later one is the larger one,
    or the smaller one. Those that differ as floats stay in their order."""

    def apart(tensor: torch.Tensor) -> torch.Tensor:
        if not tensor.is_floating_point():
            return tensor
        exact = tensor.double()
        rank = torch.arange(exact.numel(), dtype=torch.float64, device=exact.device).view(exact.shape)
        sign = 1.0 if later_is_larger else -1.0
        moved = exact + exact.abs() * rank * (sign * APART / max(1, exact.numel()))
        return torch.where(torch.isfinite(exact), moved, exact)

    return list(mapped(arguments, apart))


def flushed(arguments: list[Any]) -> list[Any]:
    """Arguments whose floats below the smallest normal one are zeros of their sign."""

    def flush(tensor: torch.Tensor) -> torch.Tensor:
        if not tensor.is_floating_point() or tensor.element_size() == 1:
            return tensor
        return torch.where(tensor.abs() < torch.finfo(tensor.dtype).tiny, tensor * 0, tensor)

    return list(mapped(arguments, flush))


def rebuilt(value: Any, tensors: Sequence[torch.Tensor]) -> Any:
    """A nested value with its tensors replaced, in the order of `flatten`."""
    following = iter(tensors)
    return mapped(value, lambda _: next(following))
