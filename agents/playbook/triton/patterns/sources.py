"""What a kernel can read in place: arguments and parameters, and views and casts of them, as Python expressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from services.domain.problems import Argument, Operator, ProblemAnalysis, ValueRef

IDENTITIES = frozenset({"alias", "clone", "contiguous", "detach", "lift_fresh_copy", "dropout"})
"""Operators that change no value; dropout is traced in evaluation, or it would have a mask among its outputs."""
FLOATS = frozenset({"float16", "bfloat16", "float32"})


@dataclass(frozen=True, kw_only=True)
class StridedSource:
    """A tensor that a kernel reads through its strides."""

    text: str
    """The expression for it in `forward`: `x0.permute(1, 0)`."""
    shape: tuple[int, ...]
    """As traced."""
    stored: str
    """dtype in memory."""
    dtype: str
    """dtype that the graph has cast it to; `stored` where it has not."""
    parameter: int | None = None
    """Its number among the analysis' parameters, or None for an argument."""

    @property
    def exact(self) -> bool:
        """Whether reading it as stored loses nothing: no cast, or one from 16 bits to float32."""
        return self.stored == self.dtype or self.dtype == "float32"

    def transposed(self) -> StridedSource:
        """With its last two dimensions exchanged."""
        shape = (*self.shape[:-2], self.shape[-1], self.shape[-2])
        return replace(self, text=f"{self.text}.transpose(-2, -1)", shape=shape)


def base_name(item: Operator) -> str:
    """`aten.add.Tensor` → `add`."""
    return item.target.split(".")[1]


def sources(analysis: ProblemAnalysis) -> dict[str, StridedSource]:
    """Every value of the graph that is an argument or a parameter, or a view or cast of one, by name.

    Views whose sizes are written into the graph (`view`, `expand`) are none: at other sizes they would be wrong."""
    found = {
        spec.name: StridedSource(text=f"x{number}", shape=spec.shape, stored=spec.dtype, dtype=spec.dtype)
        for number, spec in enumerate(analysis.inputs)
    }
    for number, spec in enumerate(analysis.parameters):
        found[spec.name] = StridedSource(
            text=f"p{number}", shape=spec.shape, stored=spec.dtype, dtype=spec.dtype, parameter=number
        )
    for item in analysis.operators:
        first = item.arguments[0] if item.arguments else None
        if len(item.outputs) == 1 and isinstance(first, ValueRef) and first.ref in found:
            made = _derived(item, found[first.ref])
            if made is not None:
                found[item.outputs[0].name] = made
    return found


def _derived(item: Operator, base: StridedSource) -> StridedSource | None:
    name, spec = base_name(item), item.outputs[0]
    if name == "_to_copy" or name in IDENTITIES:
        if base.dtype != base.stored and spec.dtype != base.dtype:
            return None  # two casts in a row: the first one's rounding would be lost
        return replace(base, dtype=spec.dtype)
    write = VIEWS.get(name)
    text = write(item.arguments[1:]) if write is not None else None
    if text is None:
        return None
    return replace(base, text=f"{base.text}.{text}", shape=spec.shape)


def _permute(rest: tuple[Argument, ...]) -> str | None:
    return f"permute{rest[0]!r}" if isinstance(rest[0], tuple) and len(rest[0]) > 1 else None


def _with(name: str, count: int) -> Callable[[tuple[Argument, ...]], str | None]:
    """A view whose arguments are exactly `count` dimensions."""

    def write(rest: tuple[Argument, ...]) -> str | None:
        dimensions = [item for item in rest if isinstance(item, int)]
        return f"{name}({', '.join(map(str, dimensions))})" if len(dimensions) == len(rest) == count else None

    return write


VIEWS: dict[str, Callable[[tuple[Argument, ...]], str | None]] = {
    "permute": _permute,
    "transpose": _with("transpose", 2),
    "t": _with("t", 0),
    "unsqueeze": _with("unsqueeze", 1),
    "squeeze": _with("squeeze", 1),
    "select": _with("select", 2),
}
