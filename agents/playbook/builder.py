"""Builds nodes: broadcasting, casts, reductions and reshapes, with sizes kept symbolic."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from agents.playbook.errors import NoTemplateError
from agents.playbook.nodes import (
    Const,
    IndexView,
    Map,
    Node,
    Reduce,
    Reshape,
    Scan,
    SizeValue,
    axis,
    expand,
    identity,
    view,
)
from agents.playbook.sizes import ONE, ZERO, Poly, Shape, Sizes, poly, product, symbol

ORDER = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
FLOATS = frozenset(ORDER[6:])


def promote(left: str, right: str) -> str:
    """The dtype two tensors are computed in."""
    if {left, right} == {"float16", "bfloat16"}:
        return "float32"
    return max(left, right, key=ORDER.index)


class Builder:
    """Makes nodes for one graph; `sizes` says which symbols are equal."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes

    def const(self, value: bool | int | float, dtype: str) -> Node:
        """A number of shape ()."""
        return Const(shape=(), dtype=dtype, value=value)

    def size(self, size: Poly, dtype: str) -> Node:
        """A size as a number of shape ()."""
        return SizeValue(shape=(), dtype=dtype, size=size)

    def part(self, total: Poly, count: int) -> Poly:
        """A size divided by a number; kernels refuse sizes that leave a rest."""
        size = self.sizes.quotient(total, count)
        self.sizes.unite(total, size * count)
        return self.sizes.resolve(size)

    def cast(self, node: Node, dtype: str) -> Node:
        """`node` in another dtype."""
        if node.dtype == dtype:
            return node
        if isinstance(node, Const):
            return Const(shape=node.shape, dtype=dtype, value=node.value)
        if isinstance(node, IndexView):
            return IndexView(shape=node.shape, dtype=dtype, arg=self.cast(node.arg, dtype), formulas=node.formulas)
        return Map(shape=node.shape, dtype=dtype, function="cast", args=(node,))

    def broadcast(self, shapes: Iterable[Shape]) -> Shape:
        """The common shape."""
        result: list[Poly] = []
        for shape in shapes:
            result = [ONE] * (len(shape) - len(result)) + result
            offset = len(result) - len(shape)
            for dim, size in enumerate(shape):
                if result[offset + dim] == ONE:
                    result[offset + dim] = size
                elif size != ONE:
                    result[offset + dim] = self.sizes.unite(result[offset + dim], size)
        return tuple(self.sizes.resolve(size) for size in result)

    def map(self, function: str, dtype: str, *args: Node) -> Node:
        """A pointwise function of broadcast operands, taken as they are."""
        shape = self.broadcast(arg.shape for arg in args)
        return Map(shape=shape, dtype=dtype, function=function, args=tuple(expand(arg, shape) for arg in args))

    def call(self, function: str, dtype: str, *args: Node | float) -> Node:
        """A pointwise function computed in `dtype`: operands are cast, numbers become constants."""
        nodes = (self.cast(arg, dtype) if isinstance(arg, Node) else self.const(arg, dtype) for arg in args)
        return self.map(function, dtype, *nodes)

    def axes(self, node: Node, dims: object) -> frozenset[int]:
        """Dimensions as a set of non-negative numbers; None or empty means all."""
        rank = len(node.shape)
        if dims is None or dims == ():
            return frozenset(range(rank))
        items: Sequence[object] = dims if isinstance(dims, tuple) else (dims,)
        found = set()
        for item in items:
            if not isinstance(item, int):
                raise NoTemplateError("a dimension that is not a number")
            found.add(item % rank if rank else 0)
        return frozenset(found) if rank else frozenset()

    def reduce(self, kind: str, node: Node, axes: frozenset[int], dtype: str) -> Node:
        """A reduction that keeps its axes with size one."""
        axes = frozenset(dim for dim in axes if node.shape[dim] != ONE or kind in {"argmax", "argmin"})
        if not axes:
            return self.cast(node, dtype)
        shape = tuple(ONE if dim in axes else size for dim, size in enumerate(node.shape))
        return Reduce(shape=shape, dtype=dtype, kind=kind, arg=node, axes=axes)

    def count(self, node: Node, axes: frozenset[int]) -> Poly:
        """How many elements a reduction takes together."""
        return product(node.shape[dim] for dim in axes)

    def mean(self, node: Node, axes: frozenset[int], dtype: str) -> Node:
        """Mean with kept axes."""
        total = self.reduce("sum", self.cast(node, dtype), axes, dtype)
        return self.call("div", dtype, total, self.size(self.count(node, axes), dtype))

    def variance(self, node: Node, axes: frozenset[int], dtype: str, correction: float) -> tuple[Node, Node]:
        """(variance, mean) with kept axes, by two passes; the second corrects the rounding of the mean."""
        node = self.cast(node, dtype)
        mean = self.mean(node, axes, dtype)
        deviation = self.call("sub", dtype, node, mean)
        squares = self.reduce("sum", self.call("mul", dtype, deviation, deviation), axes, dtype)
        drift = self.reduce("sum", deviation, axes, dtype)
        count = self.size(self.count(node, axes), dtype)
        error = self.call("div", dtype, self.call("mul", dtype, drift, drift), count)
        divisor = self.call("relu", dtype, self.call("sub", dtype, count, float(correction)))
        return self.call("div", dtype, self.call("sub", dtype, squares, error), divisor), mean

    def squeeze(self, node: Node, axes: frozenset[int]) -> Node:
        """Without the axes, whose size is one."""
        kept = [dim for dim in range(len(node.shape)) if dim not in axes]
        formulas = [symbol(axis(kept.index(dim))) if dim in kept else ZERO for dim in range(len(node.shape))]
        return view(node, tuple(node.shape[dim] for dim in kept), formulas)

    def keep(self, node: Node, axes: frozenset[int], keepdim: object) -> Node:
        """A reduction's result in the shape its `keepdim` asks for."""
        return node if keepdim else self.squeeze(node, axes)

    def scan(self, kind: str, node: Node, dim: int, dtype: str) -> Node:
        """A running sum or product."""
        return Scan(shape=node.shape, dtype=dtype, kind=kind, arg=self.cast(node, dtype), dim=dim)

    def flip(self, node: Node, dims: frozenset[int]) -> Node:
        """Reversed along dims; flip(scan(flip(x))) becomes a scan from the end."""
        if isinstance(node, Scan) and dims == {node.dim}:
            inner = self._flipped(node.arg, dims)
            if isinstance(node.arg, IndexView) and not isinstance(inner, IndexView):
                return Scan(shape=node.shape, dtype=node.dtype, kind=node.kind, arg=inner, dim=node.dim, reverse=True)
        return self._flipped(node, dims)

    def _flipped(self, node: Node, dims: frozenset[int]) -> Node:
        formulas = list(identity(node.shape))
        for dim in dims:
            formulas[dim] = node.shape[dim] - 1 - symbol(axis(dim))
        return view(node, node.shape, formulas)

    def reshape(self, node: Node, target: Sequence[int]) -> Node:
        """In another shape of as many elements; sizes stay symbolic where dimensions survive."""
        hints = [self.sizes.value(size) for size in node.shape]
        groups = _groups(hints, _filled(hints, target))
        shape: list[Poly] = []
        formulas: list[Poly] = []
        merged = False
        for sources, sizes in groups:
            out = self._group_sizes([node.shape[dim] for dim in sources], sizes)
            merged = merged or len(sources) > 1
            if len(sources) == 1:
                formulas.append(_linear(out, len(shape)))
            shape += out
        node_shape = tuple(self.sizes.resolve(size) for size in shape)
        if merged:
            return Reshape(shape=node_shape, dtype=node.dtype, arg=node)
        return view(node, node_shape, formulas)

    def _group_sizes(self, sources: Sequence[Poly], sizes: Sequence[int]) -> list[Poly]:
        """Output sizes of one group: one of them is symbolic where the input's is, the others are the numbers given."""
        total = self.sizes.resolve(product(sources))
        if len(sizes) == 1:
            return [total]
        if total.constant is not None:
            return [poly(size) for size in sizes]
        matched = [next((s for s in sources if self.sizes.value(s) == size and s != ONE), None) for size in sizes]
        out = [poly(size) if found is None else found for size, found in zip(sizes, matched, strict=True)]
        if product(out) == total:
            return out
        return [self.part(total, math.prod(sizes[1:])), *(poly(size) for size in sizes[1:])]


def _linear(sizes: Sequence[Poly], first: int) -> Poly:
    """The index into one dimension that was split into `sizes`, the first of which is output dimension `first`."""
    index = ZERO
    for offset, size in enumerate(sizes):
        index = index * size + (ZERO if size == ONE else symbol(axis(first + offset)))
    return index


def _filled(hints: Sequence[int], target: Sequence[int]) -> list[int]:
    """The target with -1 worked out."""
    known = math.prod(size for size in target if size >= 0)
    return [size if size >= 0 else math.prod(hints) // max(known, 1) for size in target]


def _groups(left: Sequence[int], right: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Smallest runs of input dimensions and output sizes with equal products."""
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(left) or j < len(right):
        dims: list[int] = []
        sizes: list[int] = []
        a = b = 1
        if i < len(left):
            dims, a, i = [i], left[i], i + 1
        if j < len(right) and (not dims or a != 1 or right[j] == 1):
            sizes, b, j = [right[j]], right[j], j + 1
        while a != b:
            if a < b and i < len(left):
                dims.append(i)
                a *= left[i]
                i += 1
            elif j < len(right):
                sizes.append(right[j])
                b *= right[j]
                j += 1
            else:
                raise NoTemplateError("a reshape that does not divide")
        groups.append((dims, sizes))
    return groups
