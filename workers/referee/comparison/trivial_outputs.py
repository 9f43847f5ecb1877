"""Outputs that take no work: zeros, a copy of an argument, or what the reference returns without one of its tensors.

Where one of them passes the bounds of an output, these do not show what is left out: `x + 1e-6 * gelu(x)` is x within
any usual bound. There a candidate's root mean square error must be at most a quarter of what the trivial output is off.
Where honest kernels may be that far off too, the bounds cannot decide: then it is a remark.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch

from services.domain.problems import ProblemAnalysis
from workers.ipc.tensors import TensorMeta, flatten
from workers.referee.comparison.block_errors import real_pairs
from workers.referee.comparison.error_scales import is_counted
from workers.referee.comparison.tolerance import ErrorScale, Tolerance, examine
from workers.referee.errors import Refused
from workers.referee.inputs.distributions import rebuilt

MOST_TRIED = 12
"""Arguments and parameters that are put to zero one by one, the largest first: each takes a call of the reference."""
SHARE = 4.0
"""A candidate's error must be at most the distance of the nearest trivial output divided by this."""
DECIDABLE = 8.0
"""What an honest kernel may be off must be at most the distance divided by this: else the bounds cannot decide."""
OWN_MULTIPLE = 3.0
"""How many times that an honest kernel may be off whatever the distance is."""
ONE_ROUNDING = 1.5
"""How many times the error of rounding once a reference is off at most that has no long sum at its end."""
LEAST_ELEMENTS = 64
"""Elements from which on an error as small as one rounding is no chance."""
ROUNDED_IN_FLOAT = 2.0**-24
NEAR_ONE = 2.0**-24
"""Absolute error of formulas of exponentials that pass through numbers about 1."""


@dataclass(frozen=True, kw_only=True)
class Tensors:
    """What may be left out, and how."""

    run: Callable[[list[Any]], Sequence[torch.Tensor]]
    """The reference. Raises `Refused`."""
    without: Callable[[str], AbstractContextManager[object]] | None
    """Inside, a parameter or buffer is zero; None where that cannot be had now."""
    may_zero: bool
    """Whether tensors may be put to zero at all."""


@dataclass(frozen=True, kw_only=True)
class _Left:
    """A trivial output."""

    key: str
    what: str
    """In words."""
    unknown: str
    """What the bounds cannot decide where it passes."""
    make: Callable[[], Sequence[torch.Tensor | None]]
    """One tensor for each output, or None."""


class TrivialOutputs:
    """The trivial outputs of a problem; those that pass the bounds are known after the first look."""

    def __init__(
        self,
        analysis: ProblemAnalysis,
        table: Mapping[str, Tolerance],
        *,
        longest_sum: Callable[[torch.Tensor], float],
        has_exponentials: bool,
    ) -> None:
        """`longest_sum` gives the number of terms of the longest sum that an output may be made of."""
        self._analysis, self._table = analysis, table
        self._longest_sum, self._has_exponentials = longest_sum, has_exponentials
        self._passed: frozenset[str] | None = None
        """Keys of those that pass the bounds of some output; None before the first look."""

    def limited(
        self,
        scales: Sequence[ErrorScale],
        arguments: list[Any],
        outputs: Sequence[torch.Tensor],
        exact: Sequence[torch.Tensor],
        tensors: Tensors,
    ) -> tuple[ErrorScale, ...]:
        """The scales with what the nearest trivial output leaves of the bounds, on the problem's own values."""
        if not any(_is_judged(one) for one in outputs):
            return tuple(scales)
        limits = [
            _Limit(scale=scale, given=scale, output=output, exact=exact[place] if len(exact) == len(outputs) else None)
            for place, (scale, output) in enumerate(zip(scales, outputs, strict=True))
        ]
        remarks, passing = list[str](), set[str]()
        for left in self._trivial(arguments, outputs, tensors, remarks):
            try:
                made = left.make()
            except Refused:
                continue
            if len(made) == len(outputs):
                passes = [self._passes(limit, one, left) for limit, one in zip(limits, made, strict=True)]
                passing |= {left.key} if any(passes) else set()
        if self._passed is None:
            self._passed = frozenset(passing)
        elif tensors.without is None and any(key.startswith("parameter ") for key in self._passed):
            return tuple(scales)
        limited = [limit.scale for limit in limits]
        if remarks:
            limited[0] = dataclasses.replace(limited[0], remarks=(*limited[0].remarks, *remarks))
        return tuple(limited)

    def _trivial(
        self, arguments: list[Any], outputs: Sequence[torch.Tensor], tensors: Tensors, remarks: list[str]
    ) -> Iterable[_Left]:
        """Those to look at: all at first, then those that passed."""
        given = flatten(arguments)
        named = [spec.name for spec in self._analysis.inputs]
        names = [f"`{named[index]}`" if index < len(named) else f"argument {index}" for index in range(len(given))]
        found = [
            _Left(
                key="zeros",
                what="an output of zeros",
                unknown="whether a kernel computes anything",
                make=lambda: [torch.zeros_like(one) for one in outputs],
            )
        ]
        found += [_copy(index, name, given[index], outputs) for index, name in enumerate(names)]
        leaving = [
            (one.nbytes, _without_argument(index, names[index], arguments, tensors.run))
            for index, one in enumerate(given)
            if (one.is_floating_point() or one.is_complex()) and one.layout is torch.strided and one.numel()
        ]
        leaving += [
            (spec.elements, _without_parameter(spec.origin, arguments, tensors))
            for spec in self._analysis.parameters
            if spec.origin and ("float" in spec.dtype or "complex" in spec.dtype)
        ]
        leaving.sort(key=lambda pair: pair[0], reverse=True)
        tried = leaving[: MOST_TRIED if tensors.may_zero else 0]
        if len(leaving) > len(tried) and self._passed is None:
            count = len(leaving) - len(tried)
            remarks.append(f"not tried: whether the bounds detect an output without one of {count} further tensors")
        found += [left for _, left in tried]
        return found if self._passed is None else [one for one in found if one.key in self._passed]

    def _passes(self, limit: _Limit, one: torch.Tensor | None, left: _Left) -> bool:
        """Whether a trivial output passes the usual bounds of an output: its scale then says what is left of them."""
        wanted, scale = limit.output, limit.scale
        if one is None or TensorMeta.of(one) != TensorMeta.of(wanted) or not _is_judged(wanted):
            return False
        distance = self._passing(one, wanted, limit.given)
        if distance == 0.0:
            return False
        own = self._own_error(limit.given, wanted, limit.exact)
        if own <= distance / DECIDABLE:
            most = max(distance / SHARE, OWN_MULTIPLE * own)
            if most < scale.most:
                nearest = f"{left.what} is off by {distance:.3g}"
                limit.scale = dataclasses.replace(scale, most=most, nearest=nearest)
        elif examine(one, wanted, limit.given, self._table).mismatch is None:
            remark = f"{left.what} passes the bounds: {left.unknown} was not judged"
            limit.scale = dataclasses.replace(scale, remarks=(*scale.remarks, remark))
        return True

    def _passing(self, one: torch.Tensor, wanted: torch.Tensor, scale: ErrorScale) -> float:
        """How far a trivial output is off as a root mean square, where one that is half as far off passes; else 0."""
        distance = _root_mean_square(_wide(one) - _wide(wanted))
        if distance == 0.0 or not math.isfinite(distance):
            return 0.0
        tolerance = self._table.get(TensorMeta.of(wanted).dtype)
        usual = max(_root_mean_square(_wide(wanted)), scale.rms or 0.0)
        if tolerance is None or distance / 2 > tolerance.bound(scale.relative, scale.known) * usual:
            return 0.0
        half = (wanted + (one - wanted) / 2).to(wanted.dtype)
        return distance if examine(half, wanted, scale, self._table).mismatch is None else 0.0

    def _own_error(self, scale: ErrorScale, output: torch.Tensor, exact: torch.Tensor | None) -> float:
        """The root mean square error of honest kernels; infinite where it is not known, or the problem permits more."""
        tolerance = self._table.get(TensorMeta.of(output).dtype)
        if exact is None or not scale.known or tolerance is None or tolerance.looser or exact.shape != output.shape:
            return math.inf
        given, wanted = real_pairs(output).double(), real_pairs(exact).double()
        magnitude = _root_mean_square(wanted)
        error = _root_mean_square(given - wanted)
        rounded = _root_mean_square(real_pairs(exact.to(output.dtype)).double() - wanted)
        own = max(error, torch.finfo(output.dtype).eps / 4 * magnitude)
        if output.numel() < LEAST_ELEMENTS or error > ONE_ROUNDING * rounded:
            rounding = min(ROUNDED_IN_FLOAT, torch.finfo(output.dtype).eps / 2)
            own = max(own, rounding * self._longest_sum(output) ** 0.5 * magnitude)
        if self._has_exponentials and output.dtype is torch.float32:
            own = max(own, NEAR_ONE)
        return own if math.isfinite(own) else math.inf


@dataclass(kw_only=True)
class _Limit:
    """The scale of an output, which gets a limit."""

    scale: ErrorScale
    given: ErrorScale
    """As it was."""
    output: torch.Tensor
    exact: torch.Tensor | None


def _is_judged(output: torch.Tensor) -> bool:
    return not is_counted(output) and output.numel() > 0 and output.layout is torch.strided


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    """In float at least, complex numbers as pairs."""
    wide = real_pairs(tensor)
    return wide if wide.dtype is torch.float64 else wide.float()


def _root_mean_square(tensor: torch.Tensor) -> float:
    """Over all elements, of which NaN count as nothing: a difference of infinities is one."""
    known = tensor.nan_to_num(nan=0.0, posinf=math.inf, neginf=-math.inf)
    return float(torch.linalg.vector_norm(known, dtype=torch.float64)) / math.sqrt(max(1, tensor.numel()))


def _copy(index: int, name: str, tensor: torch.Tensor, outputs: Sequence[torch.Tensor]) -> _Left:
    return _Left(
        key=f"copy {index}",
        what=f"a copy of {name}",
        unknown="whether a kernel computes more",
        make=lambda: [tensor if TensorMeta.of(tensor) == TensorMeta.of(one) else None for one in outputs],
    )


def _without_argument(
    index: int, name: str, arguments: list[Any], run: Callable[[list[Any]], Sequence[torch.Tensor]]
) -> _Left:
    def make() -> Sequence[torch.Tensor]:
        given = flatten(arguments)
        given[index] = torch.zeros_like(given[index])
        return run(list(rebuilt(arguments, given)))

    return _Left(
        key=f"argument {index}",
        what=f"the output without {name}",
        unknown="whether a kernel uses it",
        make=make,
    )


def _without_parameter(name: str, arguments: list[Any], tensors: Tensors) -> _Left:
    def make() -> Sequence[torch.Tensor]:
        if tensors.without is None:
            return []
        with tensors.without(name):
            return tensors.run(arguments)

    return _Left(
        key=f"parameter {name}",
        what=f"the output without `{name}`",
        unknown="whether a kernel uses it",
        make=make,
    )
