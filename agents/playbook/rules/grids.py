"""Rules for grids and points: values from the other side of a border, by index, and distances."""

from __future__ import annotations

from agents.playbook.calls import OperatorCall, Value, lowers
from agents.playbook.nodes import Gather, Node, axis, expand, view
from agents.playbook.rules.reductions import vector_norm
from agents.playbook.rules.views import cut, insert, joined
from agents.playbook.sizes import poly, symbol


@lowers("roll")
def roll(call: OperatorCall) -> Value:
    """Moved by one along dimensions, what leaves at one end coming back at the other (further moves would have to be
    taken modulo a size that may be smaller)."""
    node, rank = call.node(0), len(call.node(0).shape)
    dims = call.integers(2, "dims")
    if not dims:
        raise call.unable("without dims")
    for shift, dim in zip(call.integers(1, "shifts"), dims, strict=True):
        node = _rolled(call, node, shift, dim % rank)
    return node


def _rolled(call: OperatorCall, node: Node, shift: int, dim: int) -> Node:
    size = node.shape[dim]
    if abs(shift) != 1:
        raise call.unable(f"by {shift}")
    moved = poly(1) if shift > 0 else size - 1
    return joined(call, [cut(node, dim, size - moved, moved), cut(node, dim, poly(0), size - moved)], dim)


@lowers("index", "index_select")
def by_index(call: OperatorCall) -> Value:
    """The rows of a table that one tensor of whole numbers names; negative ones count from the end."""
    table, index = call.node(0), _only_index(call)
    count, rest = table.shape[0], table.shape[1:]
    index = call.b.cast(index, "int64")
    behind = call.b.call("add", "int64", index, call.b.size(count, "int64"))
    index = call.b.map("where", "int64", call.b.map("lt", "bool", index, call.b.const(0, "int64")), behind, index)
    shape, lead = (*index.shape, *rest), len(index.shape)
    for _ in rest:
        index = insert(index, len(index.shape))
    if lead == 0:
        raise call.unable("by a single number")
    formulas = [symbol(axis(lead - 1)), *(symbol(axis(lead + dim)) for dim in range(len(rest)))]
    wide = view(table, (*shape[: lead - 1], count, *rest), formulas)
    return Gather(shape=shape, dtype=table.dtype, arg=wide, index=expand(index, shape), dim=lead - 1)


def _only_index(call: OperatorCall) -> Node:
    if call.name == "index_select":
        if call.dim(1) != 0:
            raise call.unable("along another dimension than the first")
        return call.node(2, "index")
    given = call.get(1, "indices")
    first = given[0] if isinstance(given, tuple) and len(given) == 1 else None
    if not isinstance(first, Node) or first.dtype not in ("int64", "int32"):
        raise call.unable("by other than one tensor of whole numbers")
    return first


@lowers("cdist")
def cdist(call: OperatorCall) -> Value:
    """Distances of all pairs of rows of two matrices."""
    one, other = call.node(0), call.node(1)
    if len(one.shape) != 2 or len(other.shape) != 2:
        raise call.unable("of batches")
    apart = call.b.call("sub", call.dtype, insert(one, 1), insert(other, 0))
    along = frozenset({2})
    return call.b.squeeze(vector_norm(call, apart, along, call.number(2, "p", 2.0)), along)
