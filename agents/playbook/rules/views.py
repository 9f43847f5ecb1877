"""Rules for views, copies and tensors made of nothing."""

from __future__ import annotations

from agents.playbook.calls import OperatorCall, Value, lowers
from agents.playbook.nodes import Index, Node, axis, expand, identity, view
from agents.playbook.sizes import ONE, ZERO, Poly, poly, symbol


@lowers("alias", "detach", "detach_", "clone", "contiguous", "lift_fresh_copy", "positive", "lift", "view_of", "copy")
def same(call: OperatorCall) -> Value:
    """The value itself."""
    return call.node(0)


@lowers("view", "reshape", "_unsafe_view", "_reshape_copy", "flatten", "unflatten")
def reshape(call: OperatorCall) -> Value:
    """Another shape of as many elements."""
    return call.b.reshape(call.node(0), call.item.outputs[0].shape)


@lowers("expand", "expand_as", "broadcast_to")
def broadcast(call: OperatorCall) -> Value:
    """Broadcast; a new size is the number in the trace, or the other tensor's size."""
    node = call.node(0)
    if call.name == "expand_as":
        other = call.node(1)
        return expand(node, call.b.broadcast([node.shape, other.shape]))
    sizes = call.integers(1, "size")
    offset = len(sizes) - len(node.shape)
    own = (ONE,) * offset + node.shape
    shape = tuple(poly(size) if old == ONE and size >= 0 else old for size, old in zip(sizes, own, strict=True))
    return expand(node, shape)


@lowers("broadcast_tensors")
def broadcast_tensors(call: OperatorCall) -> Value:
    """All in the common shape."""
    nodes = _nodes(call)
    shape = call.b.broadcast(node.shape for node in nodes)
    return tuple(expand(node, shape) for node in nodes)


@lowers("permute", "transpose", "t", "movedim", "numpy_T", "mT")
def permute(call: OperatorCall) -> Value:
    """Dimensions in another order."""
    node, rank = call.node(0), len(call.node(0).shape)
    order = list(range(rank))
    if call.name == "permute":
        order = [dim % rank for dim in call.integers(1, "dims")]
    elif call.name == "movedim":
        source, target = call.dim(1, "source"), call.dim(2, "destination")
        order.insert(target, order.pop(source))
    elif rank >= 2:
        first, second = (call.dim(1, "dim0"), call.dim(2, "dim1")) if call.name == "transpose" else (-2, -1)
        order[first], order[second] = order[second], order[first]
    formulas = [symbol(axis(order.index(dim))) for dim in range(rank)]
    return view(node, tuple(node.shape[dim] for dim in order), formulas)


@lowers("unsqueeze")
def unsqueeze(call: OperatorCall) -> Value:
    """A new dimension of size one."""
    return insert(call.node(0), call.dim(1, rank=len(call.node(0).shape) + 1))


def insert(node: Node, dim: int) -> Node:
    """`node` with a dimension of size one at `dim`."""
    formulas = [symbol(axis(own + (own >= dim))) for own in range(len(node.shape))]
    return view(node, (*node.shape[:dim], ONE, *node.shape[dim:]), formulas)


@lowers("squeeze")
def squeeze(call: OperatorCall) -> Value:
    """Without dimensions of size one."""
    node = call.node(0)
    dims = call.b.axes(node, call.get(1, "dim"))
    return call.b.squeeze(node, frozenset(dim for dim in dims if node.shape[dim] == ONE))


@lowers("select")
def select(call: OperatorCall) -> Value:
    """One index of a dimension."""
    node, dim, index = call.node(0), call.dim(1), call.size(2, "index")
    picked = cut(node, dim, index if call.number(2, "index") >= 0 else node.shape[dim] + index, ONE)
    return call.b.squeeze(picked, frozenset({dim}))


def cut(node: Node, dim: int, start: Poly, size: Poly, step: int = 1) -> Node:
    """Elements start, start + step, … of one dimension."""
    formulas = list(identity(node.shape))
    formulas[dim] = start + (ZERO if size == ONE else symbol(axis(dim)) * step)
    return view(node, (*node.shape[:dim], size, *node.shape[dim + 1 :]), formulas)


@lowers("slice", "narrow")
def slices(call: OperatorCall) -> Value:
    """A range of a dimension; negative bounds count from its end, and others follow sizes, whatever these are."""
    node, dim = call.node(0), call.dim(1)
    first = _from_front(call, 2, "start", node.shape[dim])
    if call.name == "narrow":
        return cut(node, dim, first, call.size(3, "length"))
    step = int(call.number(4, "step", 1))
    length = _from_front(call, 3, "end", node.shape[dim]) - first
    return cut(node, dim, first, call.b.sizes.quotient(length + (step - 1), step), step)


def _from_front(call: OperatorCall, position: int, name: str, size: Poly) -> Poly:
    """A bound of a slice, counted from the front: at most the dimension's size."""
    traced = call.b.sizes.value(size)
    bound = int(call.number(position, name, 0 if name == "start" else traced))
    if bound > traced:
        return size
    given = call.size(position, name, bound)
    if bound < traced:
        return given if bound >= 0 else size + given
    return size if given.constant is not None else call.b.sizes.unite(given, size)


@lowers("flip")
def flip(call: OperatorCall) -> Value:
    """Reversed."""
    return call.b.flip(call.node(0), call.b.axes(call.node(0), call.get(1, "dims")))


def halves(call: OperatorCall, dim: int) -> tuple[Node, ...]:
    """Two equal parts along a dimension, at any even size."""
    return parts(call, call.node(0), dim, 2)


def parts(call: OperatorCall, node: Node, dim: int, count: int) -> tuple[Node, ...]:
    """`count` equal parts."""
    size = call.b.part(node.shape[dim], count)
    return tuple(cut(node, dim, size * index, size) for index in range(count))


@lowers("chunk", "split", "split_with_sizes", "unbind", "tensor_split")
def split(call: OperatorCall) -> Value:
    """Several parts along a dimension; an even split stays even at other sizes."""
    node = call.node(0)
    dim = call.dim(1 if call.name == "unbind" else 2)
    if call.name == "unbind":
        items = (cut(node, dim, poly(index), ONE) for index in range(len(call.item.outputs)))
        return tuple(call.b.squeeze(item, frozenset({dim})) for item in items)
    sizes = [spec.shape[dim] for spec in call.item.outputs]
    if len(set(sizes)) == 1:
        return parts(call, node, dim, len(sizes))
    call.b.sizes.unite(node.shape[dim], poly(sum(sizes)))
    starts = [sum(sizes[:index]) for index in range(len(sizes))]
    return tuple(cut(node, dim, poly(start), poly(size)) for start, size in zip(starts, sizes, strict=True))


@lowers("cat", "concat")
def cat(call: OperatorCall) -> Value:
    """Tensors one after another: the index says which; each is read at an index clamped into it."""
    nodes = [node for node in _nodes(call) if node.shape != (ZERO,)]
    if not nodes:
        raise call.unable("of nothing")
    return joined(call, nodes, call.dim(1, rank=len(nodes[0].shape)))


def joined(call: OperatorCall, nodes: list[Node], dim: int) -> Node:
    """One or more nodes, one after another along a dimension."""
    total = ZERO
    for node in nodes:
        total = total + node.shape[dim]
    rest = call.b.broadcast((*node.shape[:dim], ONE, *node.shape[dim + 1 :]) for node in nodes)
    shape = (*rest[:dim], total, *rest[dim + 1 :])
    position = Index(shape=shape, dtype="int64", dim=dim)
    result, start = nodes[0], ZERO
    for number, node in enumerate(nodes):
        formulas = [ZERO if size == ONE else item for size, item in zip(node.shape, identity(shape), strict=True)]
        last = node.shape[dim] - 1
        formulas[dim] = symbol(f"kw_within({axis(dim)} - {start.c()}, {last.c()})")
        piece = call.b.cast(view(node, shape, formulas), call.dtype)
        behind = call.b.map("ge", "bool", position, expand(call.b.size(start, "int64"), shape))
        result = piece if number == 0 else call.b.map("where", call.dtype, behind, piece, result)
        start = start + node.shape[dim]
    return result


@lowers("stack")
def stack(call: OperatorCall) -> Value:
    """Tensors along a new dimension."""
    nodes = _nodes(call)
    shape = call.b.broadcast(node.shape for node in nodes)
    dim = call.dim(1, rank=len(shape) + 1)
    full = (*shape[:dim], poly(len(nodes)), *shape[dim:])
    position = Index(shape=full, dtype="int64", dim=dim)
    result = call.b.cast(insert(nodes[0], dim), call.dtype)
    for number, node in enumerate(nodes[1:], start=1):
        here = call.b.map("eq", "bool", position, call.b.const(number, "int64"))
        result = call.b.map("where", call.dtype, here, call.b.cast(insert(node, dim), call.dtype), result)
    return result


@lowers("zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "zeros", "ones", "full", "scalar_tensor")
def filled(call: OperatorCall) -> Value:
    """One number everywhere."""
    value = 0.0 if "zeros" in call.name else 1.0
    shape = tuple(poly(size) for size in call.item.outputs[0].shape)
    if call.name == "scalar_tensor":
        value = call.number(0, "s")
    elif "full" in call.name:
        value = call.number(1, "fill_value")
    if call.name.endswith("_like"):
        shape = call.node(0).shape
    return expand(call.b.const(value, call.dtype), shape)


@lowers("arange")
def arange(call: OperatorCall) -> Value:
    """start, start + step, …; its length is the number in the trace."""
    given = [item for item in call.item.arguments if isinstance(item, int | float)]
    start, step = (given[0] if len(given) > 1 else 0), (given[2] if len(given) > 2 else 1)
    shape = (poly(call.item.outputs[0].shape[0]),)
    index = call.b.cast(Index(shape=shape, dtype="int64", dim=0), call.dtype)
    scaled = index if step == 1 else call.b.call("mul", call.dtype, index, step)
    return scaled if start == 0 else call.b.call("add", call.dtype, scaled, start)


@lowers("tril", "triu")
def triangle(call: OperatorCall) -> Value:
    """Zero above or below a diagonal."""
    node, rank = call.node(0), len(call.node(0).shape)
    row, column = (Index(shape=node.shape, dtype="int64", dim=rank - offset) for offset in (2, 1))
    distance = call.b.call("sub", "int64", column, row)
    diagonal = call.b.const(int(call.number(1, "diagonal", 0)), "int64")
    kept = call.b.map("le" if call.name == "tril" else "ge", "bool", distance, diagonal)
    return call.b.map("where", call.dtype, kept, node, call.b.const(0, call.dtype))


def _nodes(call: OperatorCall) -> list[Node]:
    value = call.get(0, "tensors")
    return [item for item in value if isinstance(item, Node)] if isinstance(value, tuple) else []
