"""Rules for activation functions."""

from __future__ import annotations

from agents.playbook.calls import OperatorCall, Value, lowers

SCALE, ALPHA = 1.0507009873554805, 1.6732632423543772


@lowers("relu6")
def relu6(call: OperatorCall) -> Value:
    """min(max(x, 0), 6)."""
    return call.b.call("minimum", call.dtype, call.b.call("maximum", call.dtype, call.node(0), 0.0), 6.0)


@lowers("gelu")
def gelu(call: OperatorCall) -> Value:
    """Exact or by tanh."""
    exact = call.get(1, "approximate", "none") == "none"
    return call.b.call("gelu" if exact else "gelu_tanh", call.dtype, call.node(0))


@lowers("leaky_relu")
def leaky_relu(call: OperatorCall) -> Value:
    """x > 0 ? x : slope·x."""
    return call.b.call("leaky_relu", call.dtype, call.node(0), call.number(1, "negative_slope", 0.01))


@lowers("elu", "selu", "celu")
def elu(call: OperatorCall) -> Value:
    """scale · (x > 0 ? x : alpha · expm1(input_scale · x))."""
    alpha, scale, inner = call.number(1, "alpha", 1.0), call.number(2, "scale", 1.0), call.number(3, "input_scale", 1.0)
    if call.name == "selu":
        alpha, scale, inner = ALPHA, SCALE, 1.0
    if call.name == "celu":
        scale, inner = 1.0, 1.0 / alpha
    return call.b.call("elu", call.dtype, call.node(0), alpha * scale, scale, inner)


@lowers("softplus")
def softplus(call: OperatorCall) -> Value:
    """log1p(exp(beta·x)) / beta, x itself above the threshold."""
    return call.b.call(
        "softplus", call.dtype, call.node(0), call.number(1, "beta", 1.0), call.number(2, "threshold", 20.0)
    )


@lowers("softsign")
def softsign(call: OperatorCall) -> Value:
    """x / (1 + |x|)."""
    below = call.b.call("add", call.dtype, call.b.call("abs", call.dtype, call.node(0)), 1.0)
    return call.b.call("div", call.dtype, call.node(0), below)


@lowers("threshold")
def threshold(call: OperatorCall) -> Value:
    """x > threshold ? x : value."""
    above = call.b.map("gt", "bool", call.node(0), call.b.const(call.number(1, "threshold"), call.dtype))
    return call.b.map("where", call.dtype, above, call.node(0), call.b.const(call.number(2, "value"), call.dtype))


@lowers("hardshrink", "softshrink")
def shrink(call: OperatorCall) -> Value:
    """Zero between −lambda and lambda; softshrink moves the rest towards zero."""
    limit = call.number(1, "lambd", 0.5)
    return call.b.call(call.name, call.dtype, call.node(0), limit)


@lowers("glu")
def glu(call: OperatorCall) -> Value:
    """a · sigmoid(b) of the two halves."""
    from agents.playbook.rules.views import halves

    first, second = halves(call, call.dim(1, default=-1))
    return call.b.call("mul", call.dtype, first, call.b.call("sigmoid", call.dtype, second))


@lowers("prelu", "_prelu_kernel")
def prelu(call: OperatorCall) -> Value:
    """leaky_relu with a learned slope per channel."""
    node, weight = call.node(0), call.node(1)
    if len(weight.shape) == 1 and len(node.shape) > 2 and weight.shape[0].constant != 1:
        weight = call.b.reshape(weight, (-1, *([1] * (len(node.shape) - 2))))
    return call.b.call("leaky_relu", call.dtype, node, weight)


@lowers("dropout", "feature_dropout", "alpha_dropout", "native_dropout")
def dropout(call: OperatorCall) -> Value:
    """Nothing, outside training."""
    if call.get(2, "train") and call.number(1, "p"):
        raise call.unable("in training mode")
    return call.node(0)
