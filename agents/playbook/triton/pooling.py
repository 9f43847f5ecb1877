"""Max and average pooling in one to three dimensions."""

from __future__ import annotations

import functools

from agents.playbook.triton import window
from agents.playbook.triton.steps import KernelStep, NamedGraph, Writer, argument, base, numbers
from agents.playbook.triton.window import SlidingWindow
from services.domain.problems import Argument, Operator

ARGUMENTS = {
    "max": ("kernel_size", "stride", "padding", "dilation", "ceil_mode"),
    "average": ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"),
}
"""By the kind of pool: what follows the tensor, in the order of the schema."""


def pool_steps(kind: str, graph: NamedGraph, operator: Operator) -> list[KernelStep]:
    """Ways to compute `max_pool1d`, `avg_pool2d` and the like, without indices."""
    dimensions, x = int(base(operator)[-2]), graph.spec(operator.arguments[0])
    if x is None or not graph.is_floating(operator.arguments[0]) or len(x.shape) != dimensions + 2:
        return []
    given = {name: argument(operator, place, name, None) for place, name in enumerate(ARGUMENTS[kind], start=1)}
    size, include, divisor = given["kernel_size"], given.get("count_include_pad"), given.get("divisor_override")
    return window.pool(
        graph,
        operator,
        SlidingWindow(
            kind=kind,
            size=_triple(size, dimensions, 1),
            stride=_triple(given["stride"] or size, dimensions, 1),
            padding=_triple(given["padding"], dimensions, 0),
            dilation=_triple(given.get("dilation"), dimensions, 1),
            ceil=bool(given["ceil_mode"]),
            include_padding=include is None or bool(include),
            divisor=divisor if isinstance(divisor, int) else None,
        ),
    )


def _triple(value: Argument, dimensions: int, default: int) -> tuple[int, int, int]:
    """A number for each of three dimensions; leading ones that are not there have the default."""
    first, second, third = (default,) * (3 - dimensions) + numbers(value, dimensions, default)
    return first, second, third


WRITERS: dict[str, Writer] = {
    **dict.fromkeys((f"max_pool{count}d" for count in (1, 2, 3)), functools.partial(pool_steps, "max")),
    **dict.fromkeys((f"avg_pool{count}d" for count in (1, 2, 3)), functools.partial(pool_steps, "average")),
}
