"""Running sums and products along a dimension, also from the end, without the element itself, or of masked values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agents.playbook.triton.steps import KernelStep, NamedGraph, argument, base, single
from agents.playbook.triton.template import Template, Variant
from services.domain.problems import Argument, Operator, ProblemAnalysis, ValueRef

_REASON = "one reading and one writing: a program goes along whole rows; loses where there are few rows"
TUNABLES: dict[str, tuple[int | bool | str, ...]] = {
    "SCAN_BLOCK": (2048, 1024, 4096),
    "SCAN_WARPS": (4, 8),
    "SCAN_STAGES": (3, 1),
}


@dataclass(frozen=True, kw_only=True)
class RunningTotal:
    """What is scanned, and how."""

    x: Argument
    axis: int
    mask: Argument = None
    product: bool = False
    reverse: bool = False
    exclusive: bool = False


def _variants(analysis: ProblemAnalysis) -> tuple[Variant, ...]:
    graph = NamedGraph(analysis)
    scan = _plain(graph, analysis.operators) or _masked(graph) or _reversed(graph) or _exclusive(graph)
    if scan is None or not graph.is_floating(scan.x):
        return ()
    flags = f"{scan.product}, {scan.reverse}, {scan.exclusive}"
    step = KernelStep(
        name="carried",
        reason=_REASON,
        kernels=("scan",),
        call=f"scanned({graph.text(scan.x)}, {graph.text(scan.mask)}, {scan.axis}, {flags})",
        tunables=TUNABLES,
    )
    return (single(graph, step, "Scan"),)


def _plain(graph: NamedGraph, operators: tuple[Operator, ...]) -> RunningTotal | None:
    """`cumsum` or `cumprod` alone."""
    if len(operators) != 1 or base(operators[0]) not in ("cumsum", "cumprod"):
        return None
    operator = operators[0]
    spec, axis = graph.spec(operator.arguments[0]), argument(operator, 1, "dim", None)
    dtype = argument(operator, 2, "dtype", None)
    if spec is None or not spec.shape or not isinstance(axis, int) or operator.outputs[0].dtype != spec.dtype:
        return None
    if dtype not in (None, f"torch.{spec.dtype}"):
        return None
    return RunningTotal(x=operator.arguments[0], axis=axis % len(spec.shape), product=base(operator) == "cumprod")


def _masked(graph: NamedGraph) -> RunningTotal | None:
    """The scan of a product of two tensors of one shape."""
    operators = graph.analysis.operators
    if [base(item) for item in operators[:1]] != ["mul"] or len(operators) != 2:
        return None
    found = _plain(graph, operators[1:])
    first, second = operators[0].arguments[:2]
    x, mask = graph.spec(first), graph.spec(second)
    if found is None or x is None or mask is None or x.shape != mask.shape or not _is_of(found.x, operators[0]):
        return None
    if x.dtype == "bool":
        first, second, x, mask = second, first, mask, x
    if x.dtype != operators[0].outputs[0].dtype or mask.dtype not in ("bool", x.dtype):
        return None
    if mask.dtype != "bool" and x.dtype != "float32":
        return None
    return RunningTotal(x=first, mask=second, axis=found.axis, product=found.product)


def _reversed(graph: NamedGraph) -> RunningTotal | None:
    """The scan of a flipped tensor, flipped back."""
    operators = graph.analysis.operators
    if [base(item) for item in operators] not in (["flip", "cumsum", "flip"], ["flip", "cumprod", "flip"]):
        return None
    found = _plain(graph, operators[1:2])
    if found is None or not _is_of(found.x, operators[0]) or not _is_of(operators[2].arguments[0], operators[1]):
        return None
    rank = len(operators[1].outputs[0].shape)
    flipped = [_axes(item.arguments[1], rank) for item in (operators[0], operators[2])]
    if flipped != [(found.axis,)] * 2:
        return None
    return RunningTotal(x=operators[0].arguments[0], axis=found.axis, product=found.product, reverse=True)


def _exclusive(graph: NamedGraph) -> RunningTotal | None:
    """Zeros of one slice, then the sums of all but the last element."""
    makers = {item.outputs[0].name: item for item in graph.analysis.operators}
    if {base(item) for item in makers.values()} - _EXCLUSIVE or not makers:
        return None
    cat = graph.analysis.operators[-1]
    parts = [_maker(part, makers) for part in _parts(cat)]
    if len(parts) != 2 or parts[0] is None or parts[1] is None or base(parts[0]) != "zeros_like":
        return None
    found = _plain(graph, (parts[1],))
    cut = _maker(found.x, makers) if found is not None else None
    if found is None or cut is None or base(cut) != "slice":
        return None
    x = graph.spec(cut.arguments[0])
    if x is None or cat.outputs[0].shape != x.shape or parts[0].outputs[0].shape[found.axis] != 1:
        return None
    axes = {_axis(argument(item, 1, "dim", 0), len(x.shape)) for item in (cut, cat)}
    if axes != {found.axis} or argument(cut, 2, "start", 0) not in (None, 0) or argument(cut, 4, "step", 1) != 1:
        return None
    return RunningTotal(x=cut.arguments[0], axis=found.axis, exclusive=True)


_EXCLUSIVE = frozenset({"cat", "cumsum", "slice", "select", "unsqueeze", "zeros_like"})


def _parts(operator: Operator) -> tuple[Argument, ...]:
    """What `cat` puts together; nothing for another operator."""
    parts = operator.arguments[0] if base(operator) == "cat" else ()
    return parts if isinstance(parts, tuple) else ()


def _maker(value: Argument, makers: Mapping[str, Operator]) -> Operator | None:
    return makers.get(value.ref) if isinstance(value, ValueRef) else None


def _is_of(argument: Argument, operator: Operator) -> bool:
    return isinstance(argument, ValueRef) and argument.ref == operator.outputs[0].name


def _axis(value: Argument, rank: int) -> int:
    return value % rank if isinstance(value, int) else -1


def _axes(value: Argument, rank: int) -> tuple[int, ...]:
    return tuple(_axis(item, rank) for item in value) if isinstance(value, tuple) else ()


SCAN = Template(name="scan", variants=_variants)
