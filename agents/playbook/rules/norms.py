"""Rules for softmax and normalisations."""

from __future__ import annotations

from agents.playbook.calls import OperatorCall, Value, lowers
from agents.playbook.nodes import Node, axis, view
from agents.playbook.sizes import ONE, symbol

EPS32 = 1.1920928955078125e-07
EPS64 = 2.220446049250313e-16


@lowers("softmax", "_softmax")
def softmax(call: OperatorCall) -> Value:
    """exp(x − max) / Σ."""
    node, axes = _prepared(call)
    shifted = call.b.call("sub", call.dtype, node, call.b.reduce("max", node, axes, call.dtype))
    terms = call.b.call("exp", call.dtype, shifted)
    return call.b.call("div", call.dtype, terms, call.b.reduce("sum", terms, axes, call.dtype))


@lowers("log_softmax", "_log_softmax")
def log_softmax(call: OperatorCall) -> Value:
    """x − max − log Σ exp(x − max)."""
    node, axes = _prepared(call)
    return log_probabilities(call, node, axes)


def log_probabilities(call: OperatorCall, node: Node, axes: frozenset[int]) -> Node:
    """Log-softmax over `axes`."""
    shifted = call.b.call("sub", node.dtype, node, call.b.reduce("max", node, axes, node.dtype))
    total = call.b.reduce("sum", call.b.call("exp", node.dtype, shifted), axes, node.dtype)
    return call.b.call("sub", node.dtype, shifted, call.b.call("log", node.dtype, total))


def _prepared(call: OperatorCall) -> tuple[Node, frozenset[int]]:
    node = call.b.cast(call.node(0), call.dtype)
    return node, call.b.axes(node, call.dim(1))


@lowers("layer_norm", "native_layer_norm")
def layer_norm(call: OperatorCall) -> Value:
    """Over the last dimensions, with optional scale and shift."""
    node = call.node(0)
    axes = _last(node, len(call.integers(1, "normalized_shape")))
    normal = normalised(call, node, axes, call.number(4, "eps", 1e-5))
    return _affine(call, normal, call.optional(2, "weight"), call.optional(3, "bias"))


@lowers("rms_norm")
def rms_norm(call: OperatorCall) -> Value:
    """x / sqrt(mean x² + eps) · weight; the default eps is the type's own."""
    node = call.node(0)
    axes = _last(node, len(call.integers(1, "normalized_shape")))
    eps = call.number(3, "eps", EPS64 if call.dtype == "float64" else EPS32)
    mean = call.b.mean(call.b.call("mul", call.dtype, node, node), axes, call.dtype)
    scale = call.b.call("rsqrt", call.dtype, call.b.call("add", call.dtype, mean, eps))
    return _affine(call, call.b.call("mul", call.dtype, node, scale), call.optional(2, "weight"), None)


@lowers("group_norm", "native_group_norm")
def group_norm(call: OperatorCall) -> Value:
    """Over groups of channels and everything behind them: a split of the channels, a norm, and back."""
    node, groups = call.node(0), int(call.number(1, "num_groups"))
    channels = call.b.sizes.value(node.shape[1])
    spatial = [call.b.sizes.value(size) for size in node.shape[2:]]
    split = call.b.reshape(node, (-1, groups, channels // groups, *spatial))
    axes = frozenset(range(2, len(split.shape)))
    weight, bias = call.optional(2, "weight"), call.optional(3, "bias")
    spread = [1] * len(spatial)
    normal = normalised(call, split, axes, call.number(4, "eps", 1e-5))
    scaled = _affine(
        call,
        normal,
        None if weight is None else call.b.reshape(weight, (groups, channels // groups, *spread)),
        None if bias is None else call.b.reshape(bias, (groups, channels // groups, *spread)),
    )
    return call.b.reshape(scaled, call.item.outputs[0].shape)


@lowers("instance_norm")
def instance_norm(call: OperatorCall) -> Value:
    """Over everything behind the channels, of each sample by itself."""
    if not call.get(5, "use_input_stats", True):
        raise call.unable("with running statistics")
    node = call.node(0)
    axes = frozenset(range(2, len(node.shape)))
    normal = normalised(call, node, axes, call.number(7, "eps", 1e-5))
    weight, bias = (_channels(item, node) for item in (call.optional(1, "weight"), call.optional(2, "bias")))
    return _affine(call, normal, weight, bias)


@lowers("batch_norm", "_native_batch_norm_legit_no_training", "_native_batch_norm_legit")
def batch_norm(call: OperatorCall) -> Value:
    """With running statistics; the training mode changes them and has no template."""
    evaluating = call.name == "_native_batch_norm_legit_no_training"
    if not evaluating and call.get(5, "training", False):
        raise call.unable("in training mode")
    node = call.node(0)
    eps = call.number(6 if evaluating else 7, "eps", 1e-5)
    weight, bias, mean, variance = (_channels(call.optional(position, ""), node) for position in (1, 2, 3, 4))
    if mean is None or variance is None:
        raise call.unable("without running statistics")
    scale = call.b.call("rsqrt", call.dtype, call.b.call("add", call.dtype, variance, eps))
    centred = call.b.call("sub", call.dtype, node, mean)
    result = _affine(call, call.b.call("mul", call.dtype, centred, scale), weight, bias)
    return (result,) if evaluating else result


def normalised(call: OperatorCall, node: Node, axes: frozenset[int], eps: float) -> Node:
    """(x − mean) / sqrt(var + eps)."""
    variance, mean = call.b.variance(node, axes, call.dtype, 0.0)
    scale = call.b.call("rsqrt", call.dtype, call.b.call("add", call.dtype, variance, eps))
    return call.b.call("mul", call.dtype, call.b.call("sub", call.dtype, node, mean), scale)


def _affine(call: OperatorCall, node: Node, weight: Node | None, bias: Node | None) -> Node:
    if weight is not None:
        node = call.b.call("mul", call.dtype, node, weight)
    return node if bias is None else call.b.call("add", call.dtype, node, bias)


def _channels(vector: Node | None, node: Node) -> Node | None:
    """A vector over dimension 1, shaped for broadcasting."""
    if vector is None:
        return None
    rank = len(node.shape)
    return view(vector, (*vector.shape, *([ONE] * (rank - 2))), [symbol(axis(0))])


def _last(node: Node, count: int) -> frozenset[int]:
    return frozenset(range(len(node.shape) - count, len(node.shape)))
