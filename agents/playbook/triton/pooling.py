"""Max and average pooling in one to three dimensions."""

from __future__ import annotations

from agents.playbook.triton import window
from agents.playbook.triton.steps import KernelStep, NamedGraph, Writer, argument, base, numbers
from agents.playbook.triton.window import SlidingWindow
from services.domain.problems import Argument, Operator


def max_steps(graph: NamedGraph, operator: Operator) -> list[KernelStep]:
    """Ways to compute `max_pool1d`, `max_pool2d` or `max_pool3d` without indices."""
    dimensions = int(base(operator)[-2])
    if not _is_batched(graph, operator, dimensions):
        return []
    size, stride, padding, dilation, ceil = (
        argument(operator, place, name, None)
        for place, name in enumerate(("kernel_size", "stride", "padding", "dilation", "ceil_mode"), start=1)
    )
    return window.pool(
        graph,
        operator,
        SlidingWindow(
            kind="max",
            size=_triple(size, dimensions, 1),
            stride=_triple(stride or size, dimensions, 1),
            padding=_triple(padding, dimensions, 0),
            dilation=_triple(dilation, dimensions, 1),
            ceil=bool(ceil),
        ),
    )


def average_steps(graph: NamedGraph, operator: Operator) -> list[KernelStep]:
    """Ways to compute `avg_pool1d`, `avg_pool2d` or `avg_pool3d`."""
    dimensions = int(base(operator)[-2])
    if not _is_batched(graph, operator, dimensions):
        return []
    names = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")
    size, stride, padding, ceil, include, divisor = (
        argument(operator, place, name, None) for place, name in enumerate(names, start=1)
    )
    return window.pool(
        graph,
        operator,
        SlidingWindow(
            kind="average",
            size=_triple(size, dimensions, 1),
            stride=_triple(stride or size, dimensions, 1),
            padding=_triple(padding, dimensions, 0),
            dilation=(1, 1, 1),
            ceil=bool(ceil),
            include_padding=include is None or bool(include),
            divisor=divisor if isinstance(divisor, int) else None,
        ),
    )


def _is_batched(graph: NamedGraph, operator: Operator, dimensions: int) -> bool:
    x = graph.spec(operator.arguments[0])
    return x is not None and graph.is_floating(operator.arguments[0]) and len(x.shape) == dimensions + 2


def _triple(value: Argument, dimensions: int, default: int) -> tuple[int, int, int]:
    """A number for each of three dimensions; leading ones that are not there have the default."""
    first, second, third = (default,) * (3 - dimensions) + numbers(value, dimensions, default)
    return first, second, third


WRITERS: dict[str, Writer] = {
    **dict.fromkeys((f"max_pool{count}d" for count in (1, 2, 3)), max_steps),
    **dict.fromkeys((f"avg_pool{count}d" for count in (1, 2, 3)), average_steps),
}
