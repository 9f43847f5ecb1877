"""Chains of pointwise operators as Triton statements: what follows a product, a convolution or a norm.

A value is computed in float32 and rounded where the graph rounds it, so that a 16-bit overflow is an infinity where the
reference has one. Elementary functions that Triton lacks are written out (`FUNCTIONS`); near zero `tanh`, `expm1` and
`log1p` go by their series or a corrected logarithm (Kahan, "Much ado about nothing's sign bit", 1987; Goldberg,
"What every computer scientist should know about floating-point arithmetic", 1991, theorem 4), so that faint results
keep their digits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from agents.playbook.triton.patterns.sources import FLOATS, IDENTITIES, StridedSource, base_name, sources
from services.domain.problems import Argument, Operator, ProblemAnalysis, TensorSpec, ValueRef

BATCH_NORM = "_native_batch_norm_legit_no_training"

FUNCTIONS = {
    "tanh": '''
@triton.jit
def tanh(x):
    """tanh in float32: by exp(-2|x|), by its series near zero."""
    t = tl.exp(-2.0 * tl.abs(x))
    far = (1.0 - t) / (1.0 + t)
    s = x * x
    near = x * (1.0 + s * (-0.33333334 + s * (0.13333334 + s * (-0.053968254 + s * 0.021869488))))
    return tl.where(tl.abs(x) < 0.3, near, tl.where(x < 0.0, -far, far))
''',
    "expm1": '''
@triton.jit
def expm1(x):
    """exp(x) - 1 in float32: by its series near zero."""
    series = 1.0 + x * (0.5 + x * (0.16666667 + x * (0.041666668 + x * (0.008333334 + x * 0.0013888889))))
    return tl.where(tl.abs(x) < 0.3, x * series, tl.exp(x) - 1.0)
''',
    "log1p": '''
@triton.jit
def log1p(x):
    """log(1 + x) in float32 (Kahan's correction of the rounded sum)."""
    u = 1.0 + x
    exact = (u == 1.0) | (u == float("inf"))
    return tl.where(exact, x, tl.log(u) * (x / tl.where(exact, 1.0, u - 1.0)))
''',
}
"""Triton functions by name; each uses only those before it."""


@dataclass(frozen=True, kw_only=True)
class Operand:
    """A tensor that a chain reads beside the value it follows."""

    name: str
    """In the statements: `e0`, `e1`, …; the kernel that runs them loads it under this name."""
    source: StridedSource

    @property
    def load(self) -> str:
        """What the kernel appends to `tl.load(…)`: the cast to what the statements work on."""
        if self.source.dtype == "bool":
            return ""
        cast = "" if self.source.exact else f".to(tl.{self.source.dtype})"
        return f"{cast}.to(tl.float32)"


@dataclass(frozen=True, kw_only=True)
class Chain:
    """Pointwise operators that lead from a value to the graph's only output."""

    spec: TensorSpec
    """The output."""
    statements: tuple[str, ...]
    """They read the value and the operands, all float32 (or int1) blocks of one shape or broadcastable to it."""
    result: str
    """The name of the last statement's value; the value's own where nothing follows."""
    operands: tuple[Operand, ...]
    """Each broadcasts to the output's shape."""
    functions: str
    """Definitions of the functions that the statements call."""

    @property
    def parameters(self) -> tuple[int, ...]:
        """Numbers of the parameters among the operands."""
        found = {item.source.parameter for item in self.operands}
        return tuple(sorted(number for number in found if number is not None))


def follow(
    analysis: ProblemAnalysis,
    start: str,
    *,
    value: str = "acc",
    positional: Mapping[str, Callable[[Operator, str], str | None]] | None = None,
) -> Chain | None:
    """The chain from the value `start` to the output, or None where something else stands between them, or an operator
    outside of it is left over.

    `value` is the Triton name that
    holds `start`, in float32 and not yet rounded to its dtype. `positional` adds operators that depend on where an
    element is (`triu`): from the operator and its operand's name to an expression."""
    if len(analysis.outputs) != 1:
        return None
    return Walk(analysis, start, value, positional or {}).run()


class Walk:
    """One walk along the graph, from a value on."""

    def __init__(
        self,
        analysis: ProblemAnalysis,
        start: str,
        value: str,
        positional: Mapping[str, Callable[[Operator, str], str | None]],
    ) -> None:
        self._analysis = analysis
        self.sources = sources(analysis)
        self.specs = {spec.name: spec for item in analysis.operators for spec in item.outputs}
        self.start = self.specs[start]
        self._positional = positional
        self.names = {start: value}
        self.statements: list[str] = []
        self._operands: dict[str, Operand] = {}

    def run(self) -> Chain | None:
        """The chain to the output, or None where an operator on the way is not known."""
        needed = _needed(self._analysis, self.start.name)
        following = [item for item in self._analysis.operators if item.outputs[0].name in needed]
        if following:
            self.round(self.start.name, self.names[self.start.name], self.start.dtype)
        for item in following:
            if item.outputs[0].name not in self.sources and not self.add(item):
                return None
        output = self._analysis.outputs[0]
        if output not in self.names or not self.fits(self.specs[output]):
            return None
        text = "\n".join(self.statements)
        called = [name for name in FUNCTIONS if re.search(rf"(?<!\.)\b{name}\(", text)]
        return Chain(
            spec=self.specs[output],
            statements=tuple(self.statements),
            result=self.names[output],
            operands=tuple(self._operands.values()),
            functions="\n".join(FUNCTIONS[name] for name in called),
        )

    def fits(self, spec: TensorSpec) -> bool:
        """Whether a value may be the chain's result."""
        return spec.shape == self.start.shape

    def add(self, item: Operator) -> bool:
        """Write an operator's statement; false where it is not known."""
        spec = item.outputs[0]
        if base_name(item) == BATCH_NORM:
            return self._batch_norm(item)
        if len(item.outputs) != 1 or not _broadcasts(spec.shape, self.start.shape):
            return False
        if spec.dtype not in FLOATS | {"bool"} or (base_name(item) == "_to_copy" and self._is_mask(item.arguments[0])):
            return False
        name, first = base_name(item), item.arguments[0] if item.arguments else None
        if name in self._positional and isinstance(first, ValueRef):
            operand = self._text(first)
            text = self._positional[name](item, operand) if operand is not None else None
        else:
            text = self._expression(item)
        if text is None:
            return False
        self.round(spec.name, text, spec.dtype)
        return True

    def _batch_norm(self, item: Operator) -> bool:
        """Normalisation by running figures: an affine map of each channel, which is dimension 1."""
        spec, (value, *figures) = item.outputs[0], item.arguments[:5]
        eps = item.arguments[6] if len(item.arguments) > 6 else None
        text = self._text(value)
        if text is None or len(spec.shape) < 2 or spec.shape != self.start.shape or not isinstance(eps, float):
            return False
        names = [None if figure is None else self.channel(figure, len(spec.shape)) for figure in figures]
        if any(name is None and figure is not None for name, figure in zip(names, figures, strict=True)):
            return False
        weight, bias, mean, variance = names
        if mean is None or variance is None:
            return False
        scaled = f"({text} - {mean}) / tl.sqrt_rn({variance} + {eps!r})"
        scaled += f" * {weight}" if weight is not None else ""
        self.round(spec.name, scaled + (f" + {bias}" if bias is not None else ""), spec.dtype)
        return True

    def channel(self, argument: Argument, rank: int) -> str | None:
        """A vector of one figure for each channel, as an operand that broadcasts along the other dimensions."""
        source = self.sources.get(argument.ref) if isinstance(argument, ValueRef) else None
        if source is None or len(source.shape) != 1 or source.dtype not in FLOATS:
            return None
        view = replace(
            source, text=f"{source.text}.reshape(-1{', 1' * (rank - 2)})", shape=(*source.shape, *[1] * (rank - 2))
        )
        key = f"{argument.ref} by channel" if isinstance(argument, ValueRef) else ""
        return self._operands.setdefault(key, Operand(name=f"e{len(self._operands)}", source=view)).name

    def _is_mask(self, argument: Argument) -> bool:
        known = self.specs.get(argument.ref) if isinstance(argument, ValueRef) else None
        return known is not None and known.dtype == "bool"

    def _expression(self, item: Operator) -> str | None:
        values = [self._text(argument) for argument in item.arguments]
        known = [text for text in values if text is not None]
        return expression(item, known) if len(known) == len(values) else None

    def round(self, name: str, text: str, dtype: str) -> None:
        """Give a value its statement, rounded to its dtype."""
        own = f"v{len(self.statements)}"
        rounded = text if dtype in {"float32", "bool"} else f"({text}).to(tl.{dtype}).to(tl.float32)"
        if rounded == text and text.isidentifier():
            self.names[name] = text
            return
        self.statements.append(f"{own} = {rounded}")
        self.names[name] = own

    def _text(self, argument: Argument) -> str | None:
        """An argument as a Triton expression; a tensor from outside becomes an operand."""
        if not isinstance(argument, ValueRef):
            return number(argument)
        if argument.ref in self.names:
            return self.names[argument.ref]
        source = self.sources.get(argument.ref)
        if source is None or not _broadcasts(source.shape, self.start.shape):
            return None
        if source.dtype not in FLOATS | {"bool"} or (source.dtype == "bool") != (source.stored == "bool"):
            return None
        operand = self._operands.setdefault(argument.ref, Operand(name=f"e{len(self._operands)}", source=source))
        return operand.name


def _needed(analysis: ProblemAnalysis, start: str) -> set[str]:
    """Values that the output depends on, without `start` and what only that depends on."""
    makers = {spec.name: item for item in analysis.operators for spec in item.outputs}
    found: set[str] = set()
    left = list(analysis.outputs)
    while left:
        name = left.pop()
        if name in found or name == start or name not in makers:
            continue
        found.add(name)
        left += [argument.ref for argument in makers[name].arguments if isinstance(argument, ValueRef)]
    return found


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    if len(shape) > len(to):
        return False
    return all(own in (1, other) for own, other in zip(reversed(shape), reversed(to), strict=False))


def number(value: Argument) -> str | None:
    """A plain number as Triton reads it; `""` for None and text, which operators read for themselves."""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int | float):
        text = repr(float(value))
        return f'float("{text}")' if text.lstrip("-") in {"inf", "nan"} else text
    return "" if value is None or isinstance(value, str) else None


def expression(item: Operator, values: list[str]) -> str | None:
    """A pointwise operator on the given expressions; None for one that is not known here or has other options."""
    name = base_name(item)
    if name in IDENTITIES or name == "_to_copy":
        return values[0]
    options = dict(item.keywords)
    if name in ("add", "sub") and len(values) == 2:
        scale = number(options.pop("alpha", 1)) or "1.0"
        term = values[1] if scale == "1.0" else f"{values[1]} * {scale}"
        return f"{values[0]} {'+' if name == 'add' else '-'} {term}" if not options else None
    if name == "gelu":
        approximate = options.pop("approximate", "none")
        return _gelu(values[0], approximate) if not options else None
    if name == "pow":
        return POWERS[values[1]].format(values[0]) if len(values) == 2 and values[1] in POWERS else None
    if name in ("max", "min") and item.target.endswith(".other"):
        name = f"{name}imum"
    write = OPERATORS.get(name)
    return write(*values) if write is not None and not options else None


POWERS = {
    "2.0": "{0} * {0}",
    "3.0": "{0} * {0} * {0}",
    "4.0": "({0} * {0}) * ({0} * {0})",
    "0.5": "tl.sqrt_rn({0})",
    "-0.5": "1.0 / tl.sqrt_rn({0})",
    "-1.0": "1.0 / {0}",
    "-2.0": "1.0 / ({0} * {0})",
}


def _gelu(x: str, approximate: Argument) -> str:
    if approximate == "tanh":
        return f"0.5 * {x} * (1.0 + tanh(0.7978845608028654 * ({x} + 0.044715 * {x} * {x} * {x})))"
    return f"0.5 * {x} * (1.0 + tl.erf({x} * 0.7071067811865476))"


def _clamp(x: str, low: str = "", high: str = "") -> str:
    """By comparisons, so that NaN stays NaN."""
    inner = f"tl.where({x} < {low}, {low}, {x})" if low else x
    return f"tl.where({inner} > {high}, {high}, {inner})" if high else inner


def _softplus(x: str, beta: str = "1.0", threshold: str = "20.0") -> str:
    scaled = x if beta == "1.0" else f"({x} * {beta})"
    smooth = f"(tl.where({scaled} < 0.0, 0.0, {scaled}) + log1p(tl.exp(-tl.abs({scaled}))))"
    quotient = smooth if beta == "1.0" else f"{smooth} / {beta}"
    return f"tl.where({scaled} > {threshold}, {x}, {quotient})"


def _elu(x: str, alpha: str = "1.0", scale: str = "1.0", input_scale: str = "1.0") -> str:
    return f"{scale} * tl.where({x} > 0.0, {x}, {alpha} * expm1({x} * {input_scale}))"


def _infix(sign: str) -> Callable[..., str]:
    return lambda a, b: f"{a} {sign} {b}"


def _unary(text: str) -> Callable[..., str]:
    return lambda x: text.format(x)


OPERATORS: dict[str, Callable[..., str]] = {
    "abs": _unary("tl.abs({0})"),
    "ceil": _unary("tl.ceil({0})"),
    "clamp": _clamp,
    "clamp_max": lambda x, high: _clamp(x, high=high),
    "clamp_min": _clamp,
    "cos": _unary("tl.cos({0})"),
    "div": _infix("/"),
    "elu": _elu,
    "eq": _infix("=="),
    "erf": _unary("tl.erf({0})"),
    "exp": _unary("tl.exp({0})"),
    "expm1": _unary("expm1({0})"),
    "floor": _unary("tl.floor({0})"),
    "ge": _infix(">="),
    "gt": _infix(">"),
    "hardsigmoid": lambda x: _clamp(f"({x} + 3.0)", "0.0", "6.0") + " / 6.0",
    "hardswish": lambda x: f"{x} * " + _clamp(f"({x} + 3.0)", "0.0", "6.0") + " / 6.0",
    "hardtanh": lambda x, low="-1.0", high="1.0": _clamp(x, low, high),
    "le": _infix("<="),
    "leaky_relu": lambda x, slope="0.01": f"tl.where({x} > 0.0, {x}, {x} * {slope})",
    "log": _unary("tl.log({0})"),
    "log1p": _unary("log1p({0})"),
    "log_sigmoid": lambda x: f"tl.where({x} < 0.0, {x}, 0.0) - log1p(tl.exp(-tl.abs({x})))",
    "lt": _infix("<"),
    "masked_fill": lambda x, mask, value: f"tl.where({mask}, {value}, {x})",
    "maximum": lambda a, b: f"tl.maximum({a}, {b}, propagate_nan=tl.PropagateNan.ALL)",
    "minimum": lambda a, b: f"tl.minimum({a}, {b}, propagate_nan=tl.PropagateNan.ALL)",
    "mish": lambda x: f"{x} * tanh({_softplus(x)})",
    "mul": _infix("*"),
    "ne": _infix("!="),
    "neg": _unary("-{0}"),
    "reciprocal": _unary("1.0 / {0}"),
    "relu": _unary("tl.where({0} < 0.0, 0.0, {0})"),
    "rsqrt": _unary("1.0 / tl.sqrt_rn({0})"),
    "rsub": lambda a, b: f"{b} - {a}",
    "selu": lambda x: _elu(x, "1.6732632423543772", "1.0507009873554805"),
    "sigmoid": _unary("1.0 / (1.0 + tl.exp(-{0}))"),
    "silu": _unary("{0} / (1.0 + tl.exp(-{0}))"),
    "sin": _unary("tl.sin({0})"),
    "softplus": _softplus,
    "sqrt": _unary("tl.sqrt_rn({0})"),
    "tanh": _unary("tanh({0})"),
    "where": lambda condition, a, b: f"tl.where({condition}, {a}, {b})",
}
"""From operand expressions (names or numbers) to an expression in float32. Missing options have torch's defaults."""
