"""C expressions of nodes at an index, as single assignments placed at the outermost loop that can hold them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agents.playbook.nodes import (
    Const,
    Gather,
    Index,
    IndexView,
    Map,
    Node,
    Reshape,
    SizeValue,
    Source,
)
from agents.playbook.sizes import ONE, ZERO, Poly, strides, symbol

ROW, LANE, INNER = 1, 2, 3
COMPUTE = {"float32": "float", "bfloat16": "float", "float16": "float", "float64": "double", "bool": "bool"}
MEMORY = {"float32": "float", "bfloat16": "kw_bf16", "float16": "kw_f16", "float64": "double", "bool": "uint8_t"}
INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">",
    "ge": ">=", "and": "&", "or": "|", "xor": "^",
}  # fmt: skip
PREFIX = {"neg": "-", "not": "!"}
STANDARD = frozenset(
    {
        *("sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh"),
        *("erfc", "floor", "ceil", "trunc", "log2", "log10", "atan2", "pow"),
    }
)
EXPENSIVE = frozenset(
    {
        *("exp", "log", "erf", "tanh", "expm1", "log1p", "sigmoid", "silu", "gelu", "gelu_tanh", "softplus", "mish"),
        *("log_sigmoid", "elu", "pow", "sin", "cos", "xlogy"),
    }
)


class NotLocalError(Exception):
    """A value that the same kernel computes is asked for at an index where it is not at hand: split the kernel."""


def ctype(dtype: str) -> str:
    """The C type a dtype is computed in."""
    return COMPUTE.get(dtype, f"{dtype}_t")


def memory_type(dtype: str) -> str:
    """The C type a dtype has in memory."""
    return MEMORY.get(dtype, f"{dtype}_t")


@dataclass(frozen=True)
class Value:
    """An expression and the loop level it belongs to."""

    text: str
    level: int


Key = tuple[int, tuple[Poly, ...]]


class Expressions:
    """Emits values for one kernel. `lines` collects statements by level until they are taken by the loops."""

    def __init__(self, levels: Mapping[str, int], buffers: Mapping[int, str], lane_arrays: bool) -> None:
        self.levels = dict(levels)
        self.buffers = buffers
        """Names of materialised nodes by identity."""
        self.lane_arrays = lane_arrays
        self.local: dict[int, Callable[[tuple[Poly, ...]], Value]] = {}
        """Nodes that this kernel holds in variables, by identity."""
        self.lines: dict[int, list[str]] = {ROW: [], LANE: [], INNER: []}
        self.arrays: list[str] = []
        """Declarations of per-lane arrays."""
        self.accesses: list[Poly] = []
        self.reads: list[tuple[str, Poly]] = []
        """Every read of memory as (tensor, position)."""
        self.used: dict[str, Node] = {}
        """Sources and buffers that were read, by name."""
        self._memo: dict[Key, Value] = {}
        self._inner: list[Key] = []
        self._count = 0

    def end_pass(self) -> None:
        """Forget what is only known inside the innermost loop."""
        for key in self._inner:
            self._memo.pop(key, None)
        self._inner.clear()

    def take(self, level: int) -> list[str]:
        """The statements of a level, which are then gone."""
        lines, self.lines[level] = self.lines[level], []
        return lines

    def level(self, text: str) -> int:
        """The innermost level of any variable in a text."""
        names = re.findall(r"\b[it]\d+\b", text)
        return max((self.levels.get(name, ROW) for name in names), default=ROW)

    def value(self, node: Node, index: Sequence[Poly]) -> Value:
        """The node's value at an index."""
        key = (id(node), tuple(index))
        found = self._memo.get(key)
        if found is None:
            found = self._make(node, tuple(index))
            self._memo[key] = found
            if found.level == INNER:
                self._inner.append(key)
        return found

    def assign(self, kind: str, text: str, level: int) -> Value:
        """A new variable."""
        name = f"t{self._count}"
        self._count += 1
        self.levels[name] = level
        if level == LANE and self.lane_arrays:
            self.arrays.append(f"{kind} {name}[W];")
            self.lines[level].append(f"{name}[l] = {text};")
            return Value(f"{name}[l]", level)
        self.lines[level].append(f"const {kind} {name} = {text};")
        return Value(name, level)

    def _make(self, node: Node, index: tuple[Poly, ...]) -> Value:
        if id(node) in self.local:
            return self.local[id(node)](index)
        if id(node) in self.buffers or isinstance(node, Source):
            return self.load(node, offset(node, index))
        if isinstance(node, Const):
            return Value(literal(node.value, node.dtype), ROW)
        if isinstance(node, SizeValue):
            return Value(f"(({ctype(node.dtype)}){node.size.c()})", ROW)
        if isinstance(node, Index):
            self.accesses.append(index[node.dim])
            return Value(index[node.dim].c(), self.level(index[node.dim].c()))
        if isinstance(node, IndexView):
            return self.value(node.arg, tuple(place(formula, index) for formula in node.formulas))
        if isinstance(node, Reshape):
            return self.linear(node.arg, offset(node, index))
        if isinstance(node, Gather):
            return self._take(node, index)
        if isinstance(node, Map):
            return self._map(node, [self.value(arg, index) for arg in node.args])
        raise NotLocalError(type(node).__name__)

    def load(self, node: Node, position: Poly) -> Value:
        """An element of a tensor in memory."""
        name = node.name if isinstance(node, Source) else self.buffers[id(node)]
        self.used[name] = node
        self.accesses.append(position)
        self.reads.append((name, position))
        text = position.c()
        element = f"kw_load({name}[{text}])"
        if node.dtype == "bool":
            element += " != 0"  # GCC vectorises bytes compared with zero, not loads of bool
        return self.assign(ctype(node.dtype), element, self.level(text))

    def linear(self, node: Node, position: Poly) -> Value:
        """The value at a row-major position: loads need no division, whatever was merged."""
        if id(node) in self.buffers or isinstance(node, Source):
            return self.load(node, position)
        if isinstance(node, Reshape):
            return self.linear(node.arg, position)
        if isinstance(node, Map) and id(node) not in self.local:
            return self._map(node, [self.linear(arg, position) for arg in node.args])
        return self.value(node, unravel(node.shape, position))

    def _take(self, node: Gather, index: tuple[Poly, ...]) -> Value:
        picked = self.value(node.index, index)
        last = (node.arg.shape[node.dim] - 1).c()
        clamped = self.assign("int64_t", f"kw_within({picked.text}, {last})", picked.level)
        inner = list(index)
        inner[node.dim] = symbol(clamped.text)
        return self.value(node.arg, tuple(inner))

    def _map(self, node: Map, args: Sequence[Value]) -> Value:
        level = max((arg.level for arg in args), default=ROW)
        return self.assign(ctype(node.dtype), expression(node, [arg.text for arg in args]), level)


def place(formula: Poly, index: Sequence[Poly]) -> Poly:
    """A view's formula at an index; names inside opaque atoms are replaced as text."""
    values: dict[str, Poly] = {}
    for atom in formula.atoms:
        if atom.startswith("@"):
            values[atom] = index[int(atom[1:])]
        elif "@" in atom:
            values[atom] = symbol(re.sub(r"@(\d+)", lambda found: index[int(found.group(1))].c(), atom))
    return formula.substitute(values)


def offset(node: Node, index: Sequence[Poly]) -> Poly:
    """Row-major position of an index."""
    total = ZERO
    for step, size, item in zip(strides(node.shape), node.shape, index, strict=True):
        total = total if size == ONE else total + step * item
    return total


def unravel(shape: Sequence[Poly], position: Poly) -> tuple[Poly, ...]:
    """The index at a row-major position, by division."""
    result = []
    for dim, (size, step) in enumerate(zip(shape, strides(shape), strict=True)):
        if size == ONE:
            result.append(ZERO)
            continue
        text = position.c() if step == ONE else f"({position.c()} / {step.c()})"
        outermost = all(other == ONE for other in shape[:dim])
        result.append(symbol(text if outermost else f"({text} % {size.c()})"))
    return tuple(result)


def literal(value: bool | int | float, dtype: str) -> str:
    """A constant of a dtype."""
    kind = ctype(dtype)
    if kind == "bool":
        return "true" if value else "false"
    if kind not in {"float", "double"}:
        return f"({kind}){int(value)}"
    number = float(value)
    if math.isnan(number):
        return f"({kind})kw_nan"
    if math.isinf(number):
        return f"({kind}){'-' if number < 0 else ''}kw_inf"
    return f"({kind}){number!r}"


def expression(node: Map, args: Sequence[str]) -> str:
    """The C expression of a pointwise function."""
    name, kind = node.function, ctype(node.dtype)
    if name == "cast":
        return f"({kind}){args[0]}"
    if name == "where":
        return f"{args[0]} ? {args[1]} : {args[2]}"
    if name in INFIX:
        text = f"{args[0]} {INFIX[name]} {args[1]}"
        return text if kind in {"float", "double", "bool", "int64_t"} else f"({kind})({text})"
    if name in PREFIX:
        return f"{PREFIX[name]}{args[0]}"
    if name in STANDARD:
        return f"({kind})__builtin_{name}{'f' if kind == 'float' else ''}({', '.join(args)})"
    special = {"isnan": "{0} != {0}", "isinf": "kw_abs({0}) == kw_inf", "isfinite": "kw_abs({0}) < kw_inf"}
    if name in special:
        return special[name].format(args[0])
    renamed = {"maximum": "kw_max", "minimum": "kw_min"}
    return f"{renamed.get(name, f'kw_{name}')}({', '.join(args)})"
