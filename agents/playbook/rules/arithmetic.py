"""Rules for pointwise arithmetic, comparisons, selection and casts."""

from __future__ import annotations

from agents.playbook.builder import promote
from agents.playbook.calls import OperatorCall, Value, lowers
from agents.playbook.nodes import Const, Node

UNARY = (
    *("abs", "neg", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal", "square"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "erf", "erfc"),
    *("floor", "ceil", "round", "trunc", "frac", "sign", "sgn", "relu", "sigmoid", "tanh"),
    *("silu", "mish", "log_sigmoid", "log_sigmoid_forward", "hardsigmoid", "hardswish"),
)
ALIASES = {"sgn": "sign", "log_sigmoid_forward": "log_sigmoid"}
"""Of `log_sigmoid_forward`, the first of its two results is the function."""
BINARY = ("mul", "div", "maximum", "minimum", "atan2", "fmod", "remainder", "xlogy")
LOGIC = (
    *("logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor"),
    *("__and__", "__or__", "__xor__"),
)
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


@lowers(*UNARY)
def unary(call: OperatorCall) -> Value:
    """One operand, computed in the result's dtype."""
    if call.name == "round" and call.get(1, "decimals", 0):
        raise call.unable("to decimals")
    return call.b.call(ALIASES.get(call.name, call.name), call.dtype, call.node(0))


@lowers(*BINARY, "max.other", "min.other", "multiply", "divide", "true_divide", "floor_divide")
def binary(call: OperatorCall) -> Value:
    """Two operands; `div` may round."""
    name = {"max": "maximum", "min": "minimum", "multiply": "mul", "divide": "div", "true_divide": "div"}
    function = name.get(call.name, call.name)
    mode = call.get(2, "rounding_mode") if function == "div" else None
    if mode is not None:
        function = {"floor": "floor_divide", "trunc": "trunc_divide"}[str(mode)]
    return call.b.call(function, call.dtype, call.node(0), call.node(1))


@lowers("add", "sub", "rsub", "subtract")
def sums(call: OperatorCall) -> Value:
    """left ± alpha·right."""
    left, right = call.node(0), call.node(1)
    if call.name == "rsub":
        left, right = right, left
    alpha = call.number(2, "alpha", 1)
    if alpha != 1:
        right = call.b.call("mul", call.dtype, right, alpha)
    return call.b.call("add" if call.name == "add" else "sub", call.dtype, left, right)


@lowers("addcmul", "addcdiv")
def addc(call: OperatorCall) -> Value:
    """input + value · (a ∘ b)."""
    inner = call.b.call("mul" if call.name == "addcmul" else "div", call.dtype, call.node(1), call.node(2))
    value = call.number(3, "value", 1)
    if value != 1:
        inner = call.b.call("mul", call.dtype, inner, value)
    return call.b.call("add", call.dtype, call.node(0), inner)


@lowers("lerp")
def lerp(call: OperatorCall) -> Value:
    """start + weight · (end − start)."""
    difference = call.b.call("sub", call.dtype, call.node(1), call.node(0))
    return call.b.call("add", call.dtype, call.node(0), call.b.call("mul", call.dtype, call.node(2), difference))


def operand_dtype(left: Node, right: Node) -> str:
    """The dtype a comparison is made in: numbers follow the tensor unless they are of a higher kind."""
    for node, other in ((left, right), (right, left)):
        if isinstance(node, Const) and not isinstance(other, Const):
            return other.dtype if "float" in other.dtype or node.dtype != "float32" else "float32"
    return promote(left.dtype, right.dtype)


@lowers(*COMPARISONS)
def comparison(call: OperatorCall) -> Value:
    """A truth value."""
    left, right = call.node(0), call.node(1)
    dtype = operand_dtype(left, right)
    return call.b.map(call.name, "bool", call.b.cast(left, dtype), call.b.cast(right, dtype))


@lowers(*LOGIC)
def logic(call: OperatorCall) -> Value:
    """Logic on truth values; bits of integers."""
    function = call.name.strip("_").split("_")[-1]
    dtype = "bool" if call.name.startswith("logical") else call.dtype
    return call.b.call(function, dtype, call.node(0), call.node(1))


@lowers("logical_not", "bitwise_not")
def negation(call: OperatorCall) -> Value:
    """Not."""
    if call.dtype != "bool":
        raise call.unable("of integers")
    return call.b.call("not", "bool", call.node(0))


@lowers("isnan", "isinf", "isfinite")
def classify(call: OperatorCall) -> Value:
    """Tests for special values."""
    return call.b.map(call.name, "bool", call.node(0))


@lowers("where")
def where(call: OperatorCall) -> Value:
    """condition ? a : b."""
    a, b = (call.b.cast(call.node(position), call.dtype) for position in (1, 2))
    return call.b.map("where", call.dtype, call.b.cast(call.node(0), "bool"), a, b)


@lowers("masked_fill")
def masked_fill(call: OperatorCall) -> Value:
    """mask ? value : input."""
    value = call.b.cast(call.node(2), call.dtype)
    return call.b.map("where", call.dtype, call.node(1), value, call.node(0))


@lowers("clamp", "clip", "hardtanh", "clamp_min", "clamp_max")
def clamp(call: OperatorCall) -> Value:
    """Between two bounds, either of which may be missing."""
    low, high = call.get(1, "min"), call.get(2, "max")
    if call.name == "hardtanh":
        low, high = call.get(1, "min_val", -1.0), call.get(2, "max_val", 1.0)
    if call.name == "clamp_max":
        low, high = None, call.get(1, "max")
    node = call.b.cast(call.node(0), call.dtype)
    for function, bound in (("maximum", low), ("minimum", high)):
        if isinstance(bound, Node | int | float):
            node = call.b.call(function, call.dtype, node, bound)
    return node


@lowers("pow")
def power(call: OperatorCall) -> Value:
    """Small constant exponents become multiplications and roots."""
    exponent = call.get(1, "exponent")
    base = call.node(0)
    simple = {0.5: "sqrt", -0.5: "rsqrt", -1.0: "reciprocal", 1.0: "copy", 2.0: "square"}
    if isinstance(exponent, int | float) and exponent in simple:
        return call.b.call(simple[float(exponent)], call.dtype, base)
    if exponent == 3:
        return call.b.call("mul", call.dtype, call.b.call("square", call.dtype, base), base)
    return call.b.call("pow", call.dtype, base, call.node(1))


@lowers("_to_copy", "to", "type_as")
def convert(call: OperatorCall) -> Value:
    """A cast that rounds to the narrow type, as the reference does."""
    node = call.b.cast(call.node(0), call.dtype)
    if call.dtype in {"bfloat16", "float16"} and node is not call.node(0):
        return call.b.map(f"round_{call.dtype}", call.dtype, node)
    return node
