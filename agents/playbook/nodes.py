"""The generator's intermediate representation: a DAG of loops-to-be.

Every node is a function from an index (one entry per dimension of `shape`) to a value. Views only rename indices and
cost nothing; maps compute; reductions and scans are where loops must end. `emit` asks a node for its value at an index.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agents.playbook.sizes import ONE, ZERO, Poly, Shape, symbol


def axis(dim: int) -> str:
    """Name of a view's own index in its index formulas."""
    return f"@{dim}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Node:
    """A value of the graph."""

    shape: Shape
    dtype: str
    """torch's name without the prefix."""

    @property
    def arguments(self) -> tuple[Node, ...]:
        """The nodes it is computed from."""
        return ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Source(Node):
    """An input, parameter or lifted constant in memory, row-major."""

    name: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Const(Node):
    """One number everywhere."""

    value: bool | int | float


@dataclass(frozen=True, kw_only=True, eq=False)
class SizeValue(Node):
    """A size, as a number (a mean's divisor)."""

    size: Poly


@dataclass(frozen=True, kw_only=True, eq=False)
class Index(Node):
    """The index along one dimension, as int64."""

    dim: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Map(Node):
    """A pointwise function of nodes of the same shape; `scalars` has shape ()."""

    function: str
    args: tuple[Node, ...]

    @property
    def arguments(self) -> tuple[Node, ...]:
        """Its operands."""
        return self.args


@dataclass(frozen=True, kw_only=True, eq=False)
class Derived(Node):
    """A node that is made of one other."""

    arg: Node

    @property
    def arguments(self) -> tuple[Node, ...]:
        """What it is made of."""
        return (self.arg,)


@dataclass(frozen=True, kw_only=True, eq=False)
class IndexView(Derived):
    """`arg` at indices given by formulas over `@0`, `@1`, … (see `axis`)."""

    formulas: tuple[Poly, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Reshape(Derived):
    """`arg` in another shape where dimensions merge: the same element at the same row-major position."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Gather(Node):
    """`arg` with the index along `dim` read from `index`, a node of this node's shape."""

    arg: Node
    index: Node
    dim: int

    @property
    def arguments(self) -> tuple[Node, ...]:
        """Table and index."""
        return (self.arg, self.index)


@dataclass(frozen=True, kw_only=True, eq=False)
class Reduce(Derived):
    """A reduction over `axes`, which stay as sizes of one. `kind`: sum, prod, max, min, argmax, argmin, all, any."""

    kind: str
    axes: frozenset[int]


@dataclass(frozen=True, kw_only=True, eq=False)
class Scan(Derived):
    """A running sum or product along `dim`, from the end when `reverse`."""

    kind: str
    dim: int
    reverse: bool = False


def identity(shape: Shape) -> tuple[Poly, ...]:
    """Formulas that leave an index as it is."""
    return tuple(symbol(axis(dim)) for dim in range(len(shape)))


def view(arg: Node, shape: Shape, formulas: Iterable[Poly]) -> Node:
    """A view, composed with the one below; the identity view is the node itself."""
    formulas = tuple(formulas)
    if isinstance(arg, Const | SizeValue):
        return type(arg)(**{**arg.__dict__, "shape": shape})
    if shape == arg.shape and formulas == identity(shape):
        return arg
    if isinstance(arg, IndexView):
        names = {axis(dim): formula for dim, formula in enumerate(formulas)}
        return view(arg.arg, shape, (formula.substitute(names) for formula in arg.formulas))
    return IndexView(shape=shape, dtype=arg.dtype, arg=arg, formulas=formulas)


def expand(arg: Node, shape: Shape) -> Node:
    """`arg` broadcast to `shape`, aligned at the last dimension."""
    offset = len(shape) - len(arg.shape)
    formulas = (ZERO if size == ONE else symbol(axis(dim + offset)) for dim, size in enumerate(arg.shape))
    return view(arg, shape, formulas)


def topological(outputs: Iterable[Node]) -> list[Node]:
    """Every node below the outputs, arguments first."""
    order: list[Node] = []
    seen: set[int] = set()
    stack = [(node, False) for node in reversed(list(outputs))]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack += [(arg, False) for arg in reversed(node.arguments)]
    return order
