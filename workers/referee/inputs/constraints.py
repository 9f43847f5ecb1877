"""Draws and sizes within what a problem's author promises of the arguments (`services.domain.constraints`)."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import torch

from services.domain.constraints import ArgumentConstraint, Constraints
from workers.ipc.sparse import is_sparse
from workers.ipc.tensors import flatten, leaves, relaid, with_leaves
from workers.referee.inputs.distributions import rebuilt
from workers.referee.inputs.float8 import narrowed, widened
from workers.referee.inputs.resize import Steps


@dataclasses.dataclass(frozen=True, kw_only=True)
class Limits:
    """What is promised of the arguments of `forward`."""

    constraints: Constraints = ()
    names: tuple[str, ...] = ()
    """The parameters of `forward`, in order."""

    def __bool__(self) -> bool:
        """Whether anything is promised."""
        return bool(self.constraints)

    def steps(self, arguments: Sequence[Any]) -> Steps:
        """What the sizes of a call's tensors are multiples of, in the order of `flatten`."""
        found = dict[tuple[int, int], int]()
        for number, one in self._numbered(arguments):
            first = len(flatten(list(arguments[:number])))
            for place, tensor in enumerate(flatten(arguments[number]), start=first):
                for dimension in range(tensor.dim()):
                    step = 0 if one.fixed else one.step(dimension, tensor.dim())
                    if step != 1:
                        found[place, dimension] = step
        return found

    def kept(self, drawn: Sequence[Any], changed: list[Any]) -> list[Any]:
        """Changed values of a call within what is promised: fixed arguments as they were drawn, others moved into their
        range. What is not finite there is as it was drawn."""
        kept = list(changed)
        for number, one in self._numbered(changed):
            if one.fixed:
                kept[number] = drawn[number]
            elif one.has_range:
                own = [value for _, value in leaves([drawn[number]])]
                others = [value for _, value in leaves([changed[number]])]
                values = own if len(own) == len(others) else others
                moved = [_moved(one, before, after) for before, after in zip(values, others, strict=True)]
                (kept[number],) = with_leaves([changed[number]], moved)
        if all(one is other for one, other in zip(flatten(kept), flatten(changed), strict=True)):
            return kept
        return list(rebuilt(kept, relaid(flatten(kept), flatten(changed))))

    def excludes(self, announced: Sequence[Any], other: list[Any]) -> bool:
        """Whether other values of a call's arguments, of the same shapes, break a promise."""
        return bool(self) and not is_same(self.kept(announced, other), other)

    def moved_share(self, changed: Sequence[Any], kept: Sequence[Any]) -> float:
        """The largest share of a tensor's elements that were moved into its range; 0 where nothing was."""
        shares = [0.0]
        for number, one in self._numbered(changed):
            if one.has_range:
                pairs = zip(flatten(changed[number]), flatten(kept[number]), strict=True)
                shares += [_share_moved(before, after) for before, after in pairs]
        return max(shares)

    def is_fixed(self, number: int) -> bool:
        """Whether an argument is the same in every call of an input set."""
        return any(one.fixed and place == number for place, one in self._numbered(self.names))

    def fitted(self, announced: Sequence[Any], other: list[Any], *, may_move: bool = True) -> list[Any] | None:
        """Arguments of other sizes within what is promised; None where they break it. `may_move` says whether general
        numbers may be moved into their range, which makes some of them equal."""
        if not self:
            return other
        for number, one in self._numbered(other):
            if one.fixed and not is_same(announced[number], other[number]):
                return None
            if self.broken_size(one, announced[number], other[number]):
                return None
        kept = self.kept(other, other)
        places = [number for number in range(len(other)) if not is_same(kept[number], other[number])]
        whole = any(not one.is_floating_point() for number in places for one in flatten(other[number]))
        return None if places and (whole or not may_move) else kept

    def broken_size(self, one: ArgumentConstraint, announced: Any, other: Any) -> str | None:
        """What is wrong with the sizes of an argument, given those of `get_inputs`; None where nothing is."""
        if one.fixed or not one.has_sizes:
            return None
        pairs = list(zip(flatten(announced), flatten(other), strict=False))
        for known, tensor in pairs:
            for dimension, size in enumerate(tensor.shape):
                step = one.step(dimension, tensor.dim())
                if step == 0 and (known.dim() != tensor.dim() or known.shape[dimension] != size):
                    both = f"{list(known.shape)} in one input set and {list(tensor.shape)} in another"
                    return f"dimension {dimension} of `{one.name}` is fixed, and its shape is {both}"
                if step > 1 and size % step:
                    return f"dimension {dimension} of `{one.name}` is {size}, no multiple of {step}"
        return None

    def contradiction(self, announced: Sequence[Any], drawn: Sequence[Any], again: Sequence[Any]) -> str | None:
        """What an input set has that breaks a promise, by two draws of it under different seeds; `announced` is one of
        `get_inputs`. None where nothing does."""
        for number, one in self._numbered(drawn):
            found = self._contradicts(one, announced[number], drawn[number], again[number])
            if found is not None:
                return found
        return None

    def _contradicts(self, one: ArgumentConstraint, announced: Any, drawn: Any, again: Any) -> str | None:
        if one.fixed:
            return None if is_same(drawn, again) else f"`{one.name}` is fixed, and its values differ under another seed"
        if any(isinstance(leaf, torch.Tensor) and is_sparse(leaf) for _, leaf in leaves([drawn])):
            return f'`{one.name}` is sparse: it may be "fixed", and nothing else can be stated of it'
        if one.has_sizes:
            tensors = flatten(drawn)
            if not tensors:
                return f"`{one.name}` has a shape in it, and is no tensor"
            for place, _ in one.sizes:
                short = [tensor for tensor in tensors if not -tensor.dim() <= place < tensor.dim()]
                if short:
                    return f"`{one.name}` has {short[0].dim()} dimensions, and none is number {place}"
            found = self.broken_size(one, announced, drawn)
            if found is not None:
                return found
        return next(filter(None, (_beyond(one, value) for value in (drawn, again))), None)

    def by_number(self, arguments: Sequence[Any]) -> dict[int, ArgumentConstraint]:
        """The constraints of the arguments that a call has, by their numbers."""
        return dict(self._numbered(arguments))

    def _numbered(self, arguments: Sequence[Any]) -> list[tuple[int, ArgumentConstraint]]:
        """The constraints of the arguments that a call has, with their numbers."""
        numbers = {name: number for number, name in enumerate(self.names)}
        found = [(numbers[one.name], one) for one in self.constraints if one.name in numbers]
        return [(number, one) for number, one in found if number < len(arguments)]


def _share_moved(before: torch.Tensor, after: torch.Tensor) -> float:
    if before is after or before.numel() == 0:
        return 0.0
    return float((widened(before) != widened(after)).double().mean())


def is_same(one: Any, other: Any) -> bool:
    """Whether two arguments have the same structure, shapes and values."""
    pairs = leaves([one]), leaves([other])
    if [path for path, _ in pairs[0]] != [path for path, _ in pairs[1]]:
        return False
    return all(_is_same_leaf(a, b) for (_, a), (_, b) in zip(*pairs, strict=True))


def _is_same_leaf(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        if one is other:
            return True
        if is_sparse(one) != is_sparse(other) or one.shape != other.shape or one.dtype != other.dtype:
            return False
        parts = flatten(one), flatten(other)
        return len(parts[0]) == len(parts[1]) and all(
            a.shape == b.shape and torch.equal(_bytes(a), _bytes(b)) for a, b in zip(*parts, strict=True)
        )
    return type(one) is type(other) and bool(one == other)


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().reshape(-1).view(torch.uint8)


def _moved(one: ArgumentConstraint, before: Any, after: Any) -> Any:
    """A leaf moved into its range; what it was drawn as in the place of what is not finite."""
    if isinstance(after, torch.Tensor):
        has_order = not (after.dtype is torch.bool or after.is_complex() or is_sparse(after))
        return _clamped(one, before, after) if has_order else after
    if isinstance(after, bool) or not isinstance(after, int | float):
        return after
    least = after if one.low is None else max(after, one.low)
    moved = least if one.high is None else min(least, one.high)
    if isinstance(after, int) and isinstance(moved, float):
        return math.ceil(moved) if moved > after else math.floor(moved)
    return type(after)(moved)


def _clamped(one: ArgumentConstraint, before: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
    values = widened(after)
    if before.shape == after.shape and values.is_floating_point():
        values = torch.where(torch.isfinite(values), values, widened(before))
    low, high = _ends(one, values.dtype)
    moved = values.clamp(low, high)
    if torch.equal(moved, widened(after)):
        return after
    return narrowed(moved, after.dtype) if moved.dtype != after.dtype else moved


def _ends(one: ArgumentConstraint, dtype: torch.dtype) -> tuple[float | int | None, float | int | None]:
    """The ends as a tensor of this dtype can have them: whole ones, and none beyond the dtype's own."""
    if dtype.is_floating_point:
        return one.low, one.high
    info = torch.iinfo(dtype)
    low = info.min if one.low is None else min(max(math.ceil(one.low), info.min), info.max)
    high = info.max if one.high is None else min(max(math.floor(one.high), info.min), info.max)
    return low, high


def _beyond(one: ArgumentConstraint, argument: Any) -> str | None:
    """What an argument holds that its range does not; None where nothing is."""
    for _, leaf in leaves([argument]) if one.has_range else ():
        if isinstance(leaf, torch.Tensor):
            if leaf.dtype is torch.bool or leaf.is_complex():
                return f"`{one.name}` has a range, and its values have no order"
            if leaf.numel() == 0:
                continue
            values = widened(leaf)
            low, high = (end.item() for end in values.aminmax())
            if low != low or high != high:
                return f"`{one.name}` has a range, and NaN among its values"
        elif isinstance(leaf, bool) or not isinstance(leaf, int | float):
            continue
        else:
            low = high = leaf
        least, most = one.low, one.high
        if isinstance(leaf, torch.Tensor) and leaf.is_floating_point():  # an end that the dtype rounds
            least, most = (None if end is None else _rounded(end, leaf) for end in (least, most))
        for value, is_wrong in ((low, least is not None and low < least), (high, most is not None and high > most)):
            if is_wrong:
                return f"`{one.name}` holds {value:g}, which its range does not"
    return None


def _rounded(end: float, like: torch.Tensor) -> float:
    return float(widened(torch.tensor(end, dtype=torch.float64).to(like.dtype)))
