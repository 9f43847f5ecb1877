"""Rules for losses."""

from __future__ import annotations

from agents.playbook.calls import OperatorCall, Value, lowers
from agents.playbook.nodes import Gather, IndexView, Map, Node, axis, expand, view
from agents.playbook.rules.norms import log_probabilities
from agents.playbook.rules.reductions import vector_norm
from agents.playbook.rules.views import insert

REDUCTIONS = {0: "none", 1: "mean", 2: "sum"}


def reduced(call: OperatorCall, terms: Node, mode: object) -> Node:
    """The terms as they are, their mean or their sum."""
    axes = frozenset(range(len(terms.shape)))
    name = REDUCTIONS.get(mode, "mean") if isinstance(mode, int) else str(mode)
    if name == "none":
        return terms
    total = call.b.mean(terms, axes, call.dtype) if name == "mean" else call.b.reduce("sum", terms, axes, call.dtype)
    return call.b.squeeze(total, axes)


@lowers("mse_loss", "l1_loss")
def distance(call: OperatorCall) -> Value:
    """(a − b)² or |a − b|."""
    difference = call.b.call("sub", call.dtype, call.node(0), call.node(1))
    terms = call.b.call("square" if call.name == "mse_loss" else "abs", call.dtype, difference)
    return reduced(call, terms, call.get(2, "reduction", 1))


@lowers("huber_loss", "smooth_l1_loss")
def huber(call: OperatorCall) -> Value:
    """Quadratic near zero, linear beyond delta (beta for smooth L1, which is Huber over beta)."""
    b, dtype = call.b, call.dtype
    smooth = call.name == "smooth_l1_loss"
    delta = call.number(3, "beta" if smooth else "delta", 1.0)
    size = b.call("abs", dtype, b.call("sub", dtype, call.node(0), call.node(1)))
    if delta == 0:
        return reduced(call, size, call.get(2, "reduction", 1))
    half = b.call("mul", dtype, b.call("mul", dtype, size, 0.5), size)
    near = b.call("div", dtype, half, delta) if smooth else half
    far = b.call("sub", dtype, size, 0.5 * delta)
    far = far if smooth else b.call("mul", dtype, far, delta)
    inside = b.map("lt" if smooth else "le", "bool", size, b.const(delta, dtype))
    terms = b.map("where", dtype, inside, near, far)
    return reduced(call, terms, call.get(2, "reduction", 1))


@lowers("kl_div")
def kl_div(call: OperatorCall) -> Value:
    """target · (log target − input), zero where the target is zero."""
    b, dtype = call.b, call.dtype
    if call.get(3, "log_target", False):
        target = b.call("exp", dtype, call.node(1))
        terms = b.call("mul", dtype, target, b.call("sub", dtype, call.node(1), call.node(0)))
    else:
        own = b.call("xlogy", dtype, call.node(1), call.node(1))
        terms = b.call("sub", dtype, own, b.call("mul", dtype, call.node(1), call.node(0)))
    return reduced(call, terms, call.get(2, "reduction", 1))


@lowers("binary_cross_entropy")
def binary_cross_entropy(call: OperatorCall) -> Value:
    """−(t·log p + (1 − t)·log(1 − p)), logarithms not below −100."""
    b, dtype = call.b, call.dtype
    if call.optional(2, "weight") is not None:
        raise call.unable("with weights")
    p, t = call.node(0), call.node(1)
    low = b.call("maximum", dtype, b.call("log", dtype, p), -100.0)
    high = b.call("maximum", dtype, b.call("log1p", dtype, b.call("neg", dtype, p)), -100.0)
    left = b.call("mul", dtype, b.call("sub", dtype, t, 1.0), high)
    terms = b.call("sub", dtype, left, b.call("mul", dtype, t, low))
    return reduced(call, terms, call.get(3, "reduction", 1))


@lowers("binary_cross_entropy_with_logits")
def logits_cross_entropy(call: OperatorCall) -> Value:
    """(1 − t)·x − log_sigmoid(x)."""
    b, dtype = call.b, call.dtype
    if call.optional(2, "weight") is not None or call.optional(3, "pos_weight") is not None:
        raise call.unable("with weights")
    x, t = call.node(0), call.node(1)
    left = b.call("mul", dtype, b.call("sub", dtype, b.const(1.0, dtype), t), x)
    terms = b.call("sub", dtype, left, b.call("log_sigmoid", dtype, x))
    return reduced(call, terms, call.get(4, "reduction", 1))


@lowers("cross_entropy_loss")
def cross_entropy(call: OperatorCall) -> Value:
    """Class indices along dimension 1; an ignored index counts nowhere."""
    logits, target = call.node(0), call.node(1)
    if target.dtype != "int64" or call.number(5, "label_smoothing", 0.0):
        raise call.unable("with class probabilities or label smoothing")
    dim = 1 if len(logits.shape) > 1 else 0
    return negative_likelihood(call, log_probabilities(call, logits, frozenset({dim})), dim)


@lowers("nll_loss", "nll_loss_nd", "nll_loss2d")
def nll_loss(call: OperatorCall) -> Value:
    """−log p[target]."""
    return negative_likelihood(call, call.node(0), 1 if len(call.node(0).shape) > 1 else 0)


def negative_likelihood(call: OperatorCall, log_p: Node, dim: int) -> Node:
    """Picks each row's target; `mean` divides by the number of rows that count."""
    b, dtype, target = call.b, call.dtype, call.node(1)
    if call.optional(2, "weight") is not None:
        raise call.unable("with class weights")
    ignored = b.map("eq", "bool", target, b.const(int(call.number(4, "ignore_index", -100)), "int64"))
    safe = b.map("where", "int64", ignored, b.const(0, "int64"), target)
    picked = _pick(log_p, insert(safe, dim), dim)
    terms = b.call("neg", dtype, b.squeeze(picked, frozenset({dim})))
    kept = b.map("where", dtype, ignored, b.const(0.0, dtype), terms)
    mode = call.get(3, "reduction", 1)
    if mode != 1:
        return reduced(call, kept, mode)
    axes = frozenset(range(len(kept.shape)))
    counted = b.cast(b.call("not", "bool", ignored), dtype)
    total, count = (b.squeeze(b.reduce("sum", item, axes, dtype), axes) for item in (kept, counted))
    return b.call("div", dtype, total, count)


def _pick(node: Node, index: Node, dim: int) -> Node:
    """`node` at `index` along `dim`; the pick moves below pointwise work, so that only one element is computed."""
    if isinstance(node, Map):
        args = tuple(_pick(arg, index, dim) for arg in node.args)
        return Map(shape=index.shape, dtype=node.dtype, function=node.function, args=args)
    if not node.shape or node.shape[dim].constant == 1 or _constant_along(node, dim):
        return _without(node, index)
    return Gather(shape=index.shape, dtype=node.dtype, arg=node, index=index, dim=dim)


def _constant_along(node: Node, dim: int) -> bool:
    """Whether a view repeats the same element along a dimension."""
    return isinstance(node, IndexView) and all(axis(dim) not in formula.atoms for formula in node.formulas)


def _without(node: Node, index: Node) -> Node:
    if isinstance(node, IndexView):
        return view(node.arg, index.shape, node.formulas)
    return expand(node, index.shape)


@lowers("cosine_similarity")
def cosine_similarity(call: OperatorCall) -> Value:
    """a·b / (max(|a|, eps) · max(|b|, eps))."""
    b, dtype = call.b, call.dtype
    first, second = call.node(0), call.node(1)
    shape = b.broadcast([first.shape, second.shape])
    axes, eps = frozenset({call.dim(2, default=1, rank=len(shape))}), call.number(3, "eps", 1e-8)

    def total(left: Node, right: Node) -> Node:
        return b.reduce("sum", expand(b.call("mul", dtype, left, right), shape), axes, dtype)

    lengths = [b.call("maximum", dtype, b.call("sqrt", dtype, total(item, item)), eps) for item in (first, second)]
    below = b.call("mul", dtype, lengths[0], lengths[1])
    return b.squeeze(b.call("div", dtype, total(first, second), below), axes)


@lowers("pairwise_distance")
def pairwise_distance(call: OperatorCall) -> Value:
    """‖a − b + eps‖ over the last dimension."""
    return _distance(call, call.node(0), call.node(1), call.number(2, "p", 2.0), call.number(3, "eps", 1e-6))


def _distance(call: OperatorCall, left: Node, right: Node, order: float, eps: float) -> Node:
    difference = call.b.call("add", call.dtype, call.b.call("sub", call.dtype, left, right), eps)
    axes = frozenset({len(difference.shape) - 1})
    return call.b.squeeze(vector_norm(call, difference, axes, order), axes)


@lowers("triplet_margin_loss")
def triplet_margin_loss(call: OperatorCall) -> Value:
    """max(|a − p| − |a − n| + margin, 0)."""
    if call.get(6, "swap", False):
        raise call.unable("with swap")
    order, eps = call.number(4, "p", 2.0), call.number(5, "eps", 1e-6)
    near, far = (_distance(call, call.node(0), call.node(item), order, eps) for item in (1, 2))
    gap = call.b.call("add", call.dtype, call.b.call("sub", call.dtype, near, far), call.number(3, "margin", 1.0))
    return reduced(call, call.b.call("relu", call.dtype, gap), call.get(7, "reduction", 1))


@lowers("hinge_embedding_loss")
def hinge_embedding_loss(call: OperatorCall) -> Value:
    """x where the target is 1, max(margin − x, 0) where it is −1."""
    b, dtype = call.b, call.dtype
    x, target = call.node(0), call.node(1)
    beyond = b.call("relu", dtype, b.call("sub", dtype, b.const(call.number(2, "margin", 1.0), dtype), x))
    zero, one = b.const(0.0, dtype), b.const(1, target.dtype)
    positive = b.map("where", dtype, b.map("eq", "bool", target, one), x, zero)
    negative = b.map("where", dtype, b.map("eq", "bool", target, b.const(-1, target.dtype)), beyond, zero)
    return reduced(call, b.call("add", dtype, positive, negative), call.get(3, "reduction", 1))
