"""Accumulators: what a reduction or scan keeps while it runs, in C++."""

from __future__ import annotations

from dataclasses import dataclass

from agents.playbook.expressions import INNER, LANE, ROW, Value, ctype
from agents.playbook.nodes import Reduce, Scan

LOWEST = {"float": "-(float)kw_inf", "double": "-kw_inf", "bool": "false"}
HIGHEST = {"float": "(float)kw_inf", "double": "kw_inf", "bool": "true"}


@dataclass(frozen=True, kw_only=True)
class Accumulator:
    """Names and types of one reduction's or scan's state.

    `r` is the total (double for sums of floats), `a` the lanes of one chunk in the element type; arg-reductions carry
    an index (`rx`, `ax`) beside the value.
    """

    number: int
    kind: str
    element: str
    """C type of what is accumulated."""
    result: str
    """C type of the result."""
    mode: str
    scan: bool

    @classmethod
    def make(cls, node: Reduce | Scan, number: int, mode: str) -> Accumulator:
        """For a node in a kernel of a mode."""
        return cls(
            number=number,
            kind=node.kind,
            element=ctype(node.arg.dtype),
            result=ctype(node.dtype),
            mode=mode,
            scan=isinstance(node, Scan),
        )

    @property
    def is_arg(self) -> bool:
        """Whether it looks for a position."""
        return self.kind.startswith("arg")

    @property
    def total(self) -> str:
        """C type of the total."""
        return "double" if self.kind in {"sum", "prod"} and self.element in {"float", "double"} else self.element

    @property
    def initial(self) -> str:
        """What an empty reduction gives."""
        fixed = {"sum": "0", "prod": "1", "all": "true", "any": "false"}
        if self.kind in fixed:
            return fixed[self.kind]
        if self.kind.endswith("max"):
            return LOWEST.get(self.element, f"kw_lowest<{self.element}>()")
        return HIGHEST.get(self.element, f"kw_highest<{self.element}>()")

    def value(self) -> Value:
        """The result, where it is read."""
        if self.scan:
            suffix = "[l]" if self.mode == "column" else ""
            return Value(f"(({self.result})c{self.number}{suffix})", INNER)
        name = f"{'rx' if self.is_arg else 'r'}{self.number}"
        if self.mode == "column":
            return Value(f"(({self.result}){name}[l])", LANE)
        return Value(f"(({self.result}){name})", ROW)

    def declare(self, prefix: str, size: str = "") -> list[str]:
        """Declarations with initial values; `size` makes arrays."""
        kind = self.element if prefix == "a" else self.total
        index = {"a": "ax", "r": "rx", "c": "cx"}[prefix]
        names = [(kind, f"{prefix}{self.number}", self.initial)]
        if self.is_arg:
            names.append(("int64_t", f"{index}{self.number}", "0"))
        if not size:
            return [f"{kind} {name} = {initial};" for kind, name, initial in names]
        lines = [f"{kind} {name}[{size}];" for kind, name, _ in names]
        fills = " ".join(f"{name}[l] = {initial};" for _, name, initial in names)
        return [*lines, f"for (int l = 0; l < {size}; ++l) {{ {fills} }}"]

    def update(self, prefix: str, suffix: str, value: str, position: str) -> str:
        """Take one element in."""
        name = f"{prefix}{self.number}{suffix}"
        if self.is_arg:
            index = {"a": "ax", "r": "rx"}[prefix] + f"{self.number}{suffix}"
            return _take_if_better(self.kind, name, index, value, position)
        return f"{name} = {combine(self.kind, name, value)};"

    def merge(self, suffix: str, source: str = "l", prefix: str = "a") -> str:
        """Take one lane's (or part's) state into the total."""
        name = f"{prefix}{self.number}[{source}]"
        if self.is_arg:
            index = {"a": "ax", "q": "qx"}[prefix] + f"{self.number}[{source}]"
            return _take_if_better(self.kind, f"r{self.number}{suffix}", f"rx{self.number}{suffix}", name, index)
        total = f"r{self.number}{suffix}"
        return f"{total} = {combine(self.kind, total, name)};"

    def gather(self) -> str:
        """Take all `W` lanes into the total: in a few vector steps where the order of lanes does not matter."""
        if self.kind in {"sum", "max", "min"} and self.element != "bool":
            total = f"r{self.number}"
            return f"{total} = {combine(self.kind, total, f'kw_{self.kind}_lanes<W>(a{self.number})')};"
        return f"for (int l = 0; l < W; ++l) {{ {self.merge('')} }}"


def combine(kind: str, left: str, right: str) -> str:
    """Both together."""
    if kind in {"max", "min"}:
        return f"kw_{kind}({left}, {right})"
    return f"{left} {({'sum': '+', 'prod': '*', 'all': '&', 'any': '|'})[kind]} {right}"


def _take_if_better(kind: str, name: str, index: str, value: str, position: str) -> str:
    """The first of equal values stays, and a NaN beats everything."""
    sign = ">" if kind == "argmax" else "<"
    better = (
        f"({value} {sign} {name}) | (({value} != {value}) & ({name} == {name}))"
        f" | (({value} == {name} || ({value} != {value} && {name} != {name})) & ({position} < {index}))"
    )
    return f"if ({better}) {{ {name} = {value}; {index} = {position}; }}"
