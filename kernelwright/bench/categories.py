"""What kind of computation a problem is, by the operators that were traced."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum


class Category(StrEnum):
    """The kinds that KernelBench's first level is made of."""

    MATMUL = "matmul"
    CONVOLUTION = "convolution"
    ACTIVATION = "activation"
    """Pointwise and not linear, softmax included."""
    NORM = "norm"
    POOLING = "pooling"
    REDUCTION = "reduction"
    SCAN = "scan"
    LOSS = "loss"
    OTHER = "other"
    """Attention, arithmetic alone, and what could not be traced (a refused problem too)."""


_BY_FAMILY = {
    "matmul": Category.MATMUL,
    "convolution": Category.CONVOLUTION,
    "softmax": Category.ACTIVATION,
    "norm": Category.NORM,
    "pooling": Category.POOLING,
    "reduction": Category.REDUCTION,
    "scan": Category.SCAN,
    "loss": Category.LOSS,
}
_ARITHMETIC = frozenset(
    {
        *("add", "sub", "rsub", "mul", "div", "neg"),
        *("clone", "copy", "_to_copy", "to", "expand", "view", "reshape", "permute", "transpose", "t"),
        *("unsqueeze", "squeeze", "cat", "slice", "select"),
        *("full", "full_like", "ones", "ones_like", "zeros", "zeros_like", "arange"),
    }
)
"""Operators that leave a pointwise graph plain arithmetic."""


def category_of(family: str | None, operators: Sequence[str]) -> Category:
    """The category of a traced graph: its family, and the targets of its operators (`aten.relu.default`)."""
    names = {_base(target) for target in operators}
    if any(name.startswith("conv") for name in names):
        return Category.CONVOLUTION
    if any("_pool" in name for name in names) and family == "pointwise":
        return Category.POOLING  # adaptive ones
    if family == "pointwise":
        return Category.OTHER if names <= _ARITHMETIC else Category.ACTIVATION
    if family == "reduction" and names & {"mean", "sum"} and names & {"sub", "rsub"}:
        return Category.LOSS  # a mean of differences that was written out: hinge
    return _BY_FAMILY.get(family or "", Category.OTHER)


def _base(target: str) -> str:
    """`aten.add.Tensor` → `add`."""
    parts = target.split(".")
    return parts[1] if len(parts) > 1 else target
