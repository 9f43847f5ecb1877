"""Rules for pooling: a window's elements are views of the input, taken together by pointwise functions."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from agents.playbook.builder import FLOATS, Builder
from agents.playbook.calls import OperatorCall, Value, lowers
from agents.playbook.nodes import Index, Node, axis, identity, view
from agents.playbook.sizes import Poly, Shape, symbol

MOST_ELEMENTS = 49
"""Of a window: each is a load in the text of the loop."""


@dataclass(frozen=True, kw_only=True)
class PooledDimension:
    """One dimension's geometry."""

    dim: int
    size: int
    stride: int
    padding: int
    dilation: int

    def out(self, b: Builder, total: Poly) -> Poly:
        """How many windows a dimension holds."""
        reach = self.dilation * (self.size - 1) + 1
        return b.sizes.quotient(total + (2 * self.padding - reach), self.stride) + 1


@lowers("max_pool1d", "max_pool2d", "max_pool3d")
def max_pool(call: OperatorCall) -> Value:
    """The largest of each window, NaN above all; padding holds nothing."""
    return _pooled(call, _windows(call, dilation=4, ceil=5), "maximum", -math.inf)


@lowers("avg_pool1d", "avg_pool2d", "avg_pool3d")
def average_pool(call: OperatorCall) -> Value:
    """The mean of each window, zeros of its padding included."""
    windows = _windows(call, dilation=None, ceil=4)
    included = call.get(5, "count_include_pad", True)
    if not included and any(window.padding for window in windows):
        raise call.unable("that leaves padding out of the mean")
    divisor = call.get(6, "divisor_override")
    count = divisor if isinstance(divisor, int) else math.prod(window.size for window in windows)
    total = _pooled(call, windows, "add", 0.0)
    return call.b.cast(call.b.call("div", total.dtype, total, float(count)), call.dtype)


@lowers("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d")
def adaptive_average_pool(call: OperatorCall) -> Value:
    """The mean of everything; other sizes of the result have windows of unlike sizes."""
    node, sizes = call.node(0), call.integers(1, "output_size")
    if set(sizes) != {1}:
        raise call.unable(f"to {'x'.join(map(str, sizes))}")
    rank = len(node.shape)
    axes = frozenset(range(rank - len(sizes), rank))
    return call.b.cast(call.b.mean(node, axes, _wide(call.dtype)), call.dtype)


def _windows(call: OperatorCall, *, dilation: int | None, ceil: int) -> list[PooledDimension]:
    """The geometry, a window for each pooled dimension; `dilation` and `ceil` say where those arguments stand."""
    node, count = call.node(0), int(call.name[-2])
    if call.dtype not in FLOATS:
        raise call.unable("of whole numbers")
    if call.get(ceil, "ceil_mode", False):
        raise call.unable("with ceil_mode")
    sizes = _each(call.integers(1, "kernel_size"), count)
    strides = _each(call.integers(2, "stride") or sizes, count)
    paddings = _each(call.integers(3, "padding") or (0,), count)
    dilations = _each((call.integers(dilation, "dilation") if dilation is not None else ()) or (1,), count)
    if math.prod(sizes) > MOST_ELEMENTS:
        raise call.unable(f"over windows of {math.prod(sizes)} elements")
    first = len(node.shape) - count
    return [
        PooledDimension(dim=first + place, size=size, stride=stride, padding=padding, dilation=spread)
        for place, (size, stride, padding, spread) in enumerate(zip(sizes, strides, paddings, dilations, strict=True))
    ]


def _each(values: Sequence[int], count: int) -> tuple[int, ...]:
    """A number for each dimension: one stands for all."""
    return tuple(values) * count if len(values) == 1 else tuple(values)


def _wide(dtype: str) -> str:
    """What sums of a type are computed in."""
    return "float64" if dtype == "float64" else "float32"


@dataclass(frozen=True, kw_only=True)
class _Tap:
    """One element of a window along one dimension."""

    dim: int
    formula: Poly
    """Where it lies in the input."""
    inside: tuple[Node, ...]
    """Whether that is not in the padding, where there is any."""


def _pooled(call: OperatorCall, windows: Sequence[PooledDimension], function: str, nothing: float) -> Node:
    """Each window's elements taken together."""
    b, dtype = call.b, call.dtype if function == "maximum" else _wide(call.dtype)
    node = b.cast(call.node(0), dtype)
    sizes = list(node.shape)
    for window in windows:
        sizes[window.dim] = window.out(b, node.shape[window.dim])
    shape = tuple(sizes)
    taps = [[_tap(b, node, shape, window, tap) for tap in range(window.size)] for window in windows]
    found = [_element(b, node, shape, place, nothing) for place in itertools.product(*taps)]
    return functools.reduce(lambda left, right: b.call(function, dtype, left, right), found)


def _element(b: Builder, node: Node, shape: Shape, taps: Sequence[_Tap], nothing: float) -> Node:
    """One element of every window; `nothing` where that lies in the padding."""
    formulas = list(identity(node.shape))
    for tap in taps:
        formulas[tap.dim] = tap.formula
    element, inside = view(node, shape, formulas), [one for tap in taps for one in tap.inside]
    if not inside:
        return element
    here = functools.reduce(lambda left, right: b.map("and", "bool", left, right), inside)
    return b.map("where", node.dtype, here, element, b.const(nothing, node.dtype))


def _tap(b: Builder, node: Node, shape: Shape, window: PooledDimension, tap: int) -> _Tap:
    place = symbol(axis(window.dim)) * window.stride + (tap * window.dilation - window.padding)
    if not window.padding:
        return _Tap(dim=window.dim, formula=place, inside=())
    last = node.shape[window.dim] - 1
    within = symbol(f"kw_within({place.c()}, {last.c()})")
    return _Tap(dim=window.dim, formula=within, inside=_bounds(b, shape, window, tap, last))


def _bounds(b: Builder, shape: Shape, window: PooledDimension, tap: int, last: Poly) -> tuple[Node, ...]:
    """Whether an element lies between the first and the last of its dimension."""
    scaled = b.call("mul", "int64", Index(shape=shape, dtype="int64", dim=window.dim), window.stride)
    place = b.call("add", "int64", scaled, tap * window.dilation - window.padding)
    return b.map("ge", "bool", place, b.const(0, "int64")), b.map("le", "bool", place, b.size(last, "int64"))
