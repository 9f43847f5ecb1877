"""Group, instance and layer normalisation over the values at hand."""

from __future__ import annotations

import math

from agents.playbook.triton.steps import KernelStep, NamedGraph, Writer, argument
from services.domain.problems import Operator

_SPLIT = "statistics of long rows are split over programs, and the second pass begins where the first one ended"
_IN_TURN = (
    "statistics and results of a few rows at a time in one launch, so that the second reading comes from the L2 cache; "
    "loses where all rows fit into it"
)
TUNABLES: dict[str, tuple[int | bool | str, ...]] = {"NORM_BLOCK": (2048, 4096, 8192), "NORM_WARPS": (16, 8)}
SHORT = 16384
"""Elements of a row up to which a row is one program's, as `SHORT` in the text `norm`."""


def _steps(begun: str, length: int) -> list[KernelStep]:
    """`begun`: the call without its last argument, whether rows are taken in turn."""
    split = KernelStep(name="split", reason=_SPLIT, kernels=("norm",), call=f"{begun}False)", tunables=TUNABLES)
    in_turn = KernelStep(name="in_turn", reason=_IN_TURN, kernels=("norm",), call=f"{begun}True)", tunables=TUNABLES)
    return [split, in_turn] if length > SHORT else [split]


def group_steps(graph: NamedGraph, operator: Operator) -> list[KernelStep]:
    """`group_norm`: of [batch, channel, …] with channels in groups."""
    x, groups = operator.arguments[0], operator.arguments[1]
    weight, bias = (argument(operator, place, name, None) for place, name in ((2, "weight"), (3, "bias")))
    spec = graph.spec(x)
    if spec is None or not isinstance(groups, int) or not graph.is_floating(x, weight, bias) or len(spec.shape) < 2:
        return []
    eps = argument(operator, 4, "eps", 1e-5)
    tensors = f"{graph.text(x)}, {groups}, {graph.text(weight)}, {graph.text(bias)}"
    length = spec.elements // max(1, spec.shape[0] * groups)
    return _steps(f"group_normalised({tensors}, {eps!r}, ", length)


def instance_steps(graph: NamedGraph, operator: Operator) -> list[KernelStep]:
    """`instance_norm` that keeps no running statistics: a group for each channel."""
    x, weight, bias, mean, variance, uses_input = (
        operator.arguments[place] if place < len(operator.arguments) else None for place in range(6)
    )
    spec = graph.spec(x)
    if spec is None or not uses_input or mean is not None or variance is not None or len(spec.shape) < 3:
        return []
    if not graph.is_floating(x, weight, bias):
        return []
    eps = argument(operator, 7, "eps", 1e-5)
    name = graph.text(x)
    tensors = f"{name}, {name}.shape[1], {graph.text(weight)}, {graph.text(bias)}"
    length = spec.elements // max(1, spec.shape[0] * spec.shape[1])
    return _steps(f"group_normalised({tensors}, {eps!r}, ", length)


def layer_steps(graph: NamedGraph, operator: Operator) -> list[KernelStep]:
    """`layer_norm` over the last dimensions."""
    x, shape = operator.arguments[:2]
    weight, bias = (argument(operator, place, name, None) for place, name in ((2, "weight"), (3, "bias")))
    spec = graph.spec(x)
    if spec is None or not isinstance(shape, tuple) or not shape or not graph.is_floating(x, weight, bias):
        return []
    eps = argument(operator, 4, "eps", 1e-5)
    tensors = f"{graph.text(x)}, {len(shape)}, {graph.text(weight)}, {graph.text(bias)}"
    length = math.prod(spec.shape[len(spec.shape) - len(shape) :])
    return _steps(f"layer_normalised({tensors}, {eps!r}, ", length)


WRITERS: dict[str, Writer] = {
    "group_norm": group_steps,
    "instance_norm": instance_steps,
    "layer_norm": layer_steps,
}
