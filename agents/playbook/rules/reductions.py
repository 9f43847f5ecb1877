"""Rules for reductions, scans and matrix–vector products."""

from __future__ import annotations

import math

from agents.playbook.calls import OperatorCall, Value, lowers, short
from agents.playbook.errors import NoTemplateError
from agents.playbook.nodes import Gather, Node
from agents.playbook.rules.views import insert
from agents.playbook.sizes import ONE


@lowers("sum", "mean", "amax", "amin", "nansum")
def plain(call: OperatorCall) -> Value:
    """Over given dimensions, or all."""
    node, axes = call.node(0), call.b.axes(call.node(0), call.get(1, "dim"))
    if call.name == "mean":
        return call.b.keep(call.b.mean(node, axes, call.dtype), axes, call.get(2, "keepdim"))
    if call.name == "nansum":
        node = call.b.map("where", node.dtype, call.b.map("isnan", "bool", node), call.b.const(0.0, node.dtype), node)
    kind = {"amax": "max", "amin": "min"}.get(call.name, "sum")
    source = call.b.cast(node, call.dtype)
    return call.b.keep(call.b.reduce(kind, source, axes, call.dtype), axes, call.get(2, "keepdim"))


@lowers("prod", "all", "any")
def one_dimension(call: OperatorCall) -> Value:
    """Over one dimension, or all without one."""
    node, axes = call.node(0), call.b.axes(call.node(0), call.get(1, "dim"))
    source = call.b.cast(node, call.dtype) if call.name == "prod" else call.b.cast(node, "bool")
    return call.b.keep(call.b.reduce(call.name, source, axes, call.dtype), axes, call.get(2, "keepdim"))


@lowers("max", "min", "max.dim", "min.dim")
def extremum(call: OperatorCall) -> Value:
    """The extreme value, and with a dimension where it is."""
    node, kind = call.node(0), call.name
    given = call.get(1, "dim")
    axes = call.b.axes(node, given)
    value = call.b.keep(call.b.reduce(kind, node, axes, node.dtype), axes, call.get(2, "keepdim"))
    if given is None:
        return value
    return value, call.b.keep(call.b.reduce(f"arg{kind}", node, axes, "int64"), axes, call.get(2, "keepdim"))


@lowers("argmax", "argmin")
def position(call: OperatorCall) -> Value:
    """The first index of the extreme value, in the flattened tensor without a dimension."""
    node, given = call.node(0), call.get(1, "dim")
    if given is None and len(node.shape) > 1:
        node = call.b.reshape(node, (-1,))
    axes = call.b.axes(node, given)
    result = call.b.reduce(call.name, node, axes, "int64")
    return call.b.keep(result, axes, call.get(2, "keepdim"))


@lowers("var", "std", "var_mean", "std_mean")
def spread(call: OperatorCall) -> Value:
    """Variance or standard deviation, with `correction` or `unbiased`."""
    node, correction, dims = call.node(0), 1.0, call.get(1, "dim")
    if isinstance(dims, bool):
        correction, dims = float(dims), None
    third = call.get(2, "unbiased", True)
    if isinstance(third, bool) and not call.item.target.endswith("correction"):
        correction = float(third) if not isinstance(call.get(1, "dim"), bool) else correction
    if call.item.target.endswith("correction"):
        correction = call.number(99, "correction", 1.0)
    axes = call.b.axes(node, dims)
    keepdim = call.get(99, "keepdim", False) if call.item.target.endswith("correction") else call.get(3, "keepdim")
    variance, mean = call.b.variance(node, axes, call.dtype, correction)
    result = call.b.call("sqrt", call.dtype, variance) if "std" in call.name else variance
    kept = call.b.keep(result, axes, keepdim)
    return (kept, call.b.keep(mean, axes, keepdim)) if call.name.endswith("mean") else kept


@lowers("logsumexp")
def logsumexp(call: OperatorCall) -> Value:
    """log Σ exp(x), safe for infinities."""
    axes = call.b.axes(call.node(0), call.get(1, "dim"))
    return call.b.keep(
        stable_logsumexp(call, call.b.cast(call.node(0), call.dtype), axes), axes, call.get(2, "keepdim")
    )


def stable_logsumexp(call: OperatorCall, node: Node, axes: frozenset[int]) -> Node:
    """log Σ exp(x) with kept axes; the largest value is taken out first, an infinite one counts as zero."""
    largest = call.b.reduce("max", node, axes, node.dtype)
    infinite = call.b.map("isinf", "bool", largest)
    shift = call.b.map("where", node.dtype, infinite, call.b.const(0.0, node.dtype), largest)
    terms = call.b.call("exp", node.dtype, call.b.call("sub", node.dtype, node, shift))
    total = call.b.reduce("sum", terms, axes, node.dtype)
    return call.b.call("add", node.dtype, call.b.call("log", node.dtype, total), shift)


@lowers("norm", "linalg_vector_norm", "linalg_norm", "frobenius_norm", "linalg_matrix_norm")
def norm(call: OperatorCall) -> Value:
    """Vector norms of order 0, 1, 2, p and infinity; the Frobenius norm."""
    node = call.b.cast(call.node(0), call.dtype)
    order = call.get(1, "ord", 2)
    dims = call.get(2, "dim")
    keepdim = call.get(3, "keepdim", False)
    if call.name == "frobenius_norm":
        order, dims, keepdim = 2, call.get(1, "dim"), call.get(2, "keepdim", False)
    if order in {None, "fro"}:
        order = 2
    if not isinstance(order, int | float) or (call.name in {"linalg_norm", "linalg_matrix_norm"} and order != 2):
        raise call.unable(f"of order {order}")
    axes = call.b.axes(node, dims)
    return call.b.keep(vector_norm(call, node, axes, float(order)), axes, keepdim)


def vector_norm(call: OperatorCall, node: Node, axes: frozenset[int], order: float) -> Node:
    """(Σ|x|^p)^(1/p) with kept axes."""
    b, dtype = call.b, node.dtype
    if order == 2:
        return b.call("sqrt", dtype, b.reduce("sum", b.call("mul", dtype, node, node), axes, dtype))
    size = b.call("abs", dtype, node)
    if order == 1:
        return b.reduce("sum", size, axes, dtype)
    if math.isinf(order):
        return b.reduce("max" if order > 0 else "min", size, axes, dtype)
    if order == 0:
        return b.reduce("sum", b.cast(b.map("ne", "bool", node, b.const(0.0, dtype)), dtype), axes, dtype)
    total = b.reduce("sum", b.call("pow", dtype, size, order), axes, dtype)
    return b.call("pow", dtype, total, 1.0 / order)


@lowers("cumsum", "cumprod")
def scan(call: OperatorCall) -> Value:
    """A running sum or product."""
    if not call.node(0).shape:
        return call.b.cast(call.node(0), call.dtype)
    return call.b.scan("sum" if call.name == "cumsum" else "prod", call.node(0), call.dim(1), call.dtype)


@lowers("gather")
def gather(call: OperatorCall) -> Value:
    """Elements picked along a dimension."""
    node, dim, index = call.node(0), call.dim(1), call.node(2, "index")
    return Gather(shape=index.shape, dtype=node.dtype, arg=node, index=call.b.cast(index, "int64"), dim=dim)


@lowers("mv", "addmv", "dot", "vdot")
def matrix_vector(call: OperatorCall) -> Value:
    """Matrix times vector, rows as reductions."""
    first = 1 if call.name == "addmv" else 0
    result = contract(call, call.node(first), call.node(first + 1))
    if call.name != "addmv":
        return result
    alpha, beta = call.number(4, "alpha", 1.0), call.number(3, "beta", 1.0)
    scaled = result if alpha == 1 else call.b.call("mul", call.dtype, result, alpha)
    bias = call.node(0) if beta == 1 else call.b.call("mul", call.dtype, call.node(0), beta)
    return call.b.call("add", call.dtype, bias, scaled)


def contract(call: OperatorCall, matrix: Node, vector: Node) -> Node:
    """Σ over the last dimension of matrix · vector."""
    axes = frozenset({len(matrix.shape) - 1})
    terms = call.b.call("mul", call.dtype, matrix, vector)
    return call.b.squeeze(call.b.reduce("sum", terms, axes, call.dtype), axes)


@lowers("matmul", "mm", "bmm", "linear")
def matmul(call: OperatorCall) -> Value:
    """Products with one row or one column; a full matrix product has no template."""
    left, right = call.node(0), call.node(1)
    if len(right.shape) == 1:
        return contract(call, left, right)
    bias = call.optional(2, "bias") if call.name == "linear" else None
    columns = right.shape[0 if call.name == "linear" else -1]
    if columns != ONE or len(right.shape) > 2:
        raise NoTemplateError(short(call.item.target))
    vector = call.b.reshape(right, (-1,))
    result = insert(contract(call, left, vector), len(left.shape) - 1)
    return result if bias is None else call.b.call("add", call.dtype, result, bias)
