"""How long a reference's operators take by themselves, without what its own code does besides.

Its exported graph is run, or where there is none the time that PyTorch spends inside of operators is added up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from workers.referee.costs.analysis import exported
from workers.referee.problem.reference_problem import ReferenceProblem, cloned


def operators_of(problem: ReferenceProblem, arguments: Sequence[Any], *, traced: bool) -> Callable[[], float]:
    """What runs the reference's operators on some arguments, which stay as they are, and says how many seconds they
    took; `traced` says whether it has a graph."""

    def given() -> list[Any]:
        copies: list[Any] = cloned(list(arguments))
        return copies

    graph = None if problem.step is not None or not traced else _graph(problem, given())
    if graph is not None:
        return lambda: _timed(graph, given())
    return lambda: _inside_operators(problem.run, given())


def _graph(problem: ReferenceProblem, arguments: list[Any]) -> Callable[..., object] | None:
    """The reference's exported graph; None where it has none."""
    try:
        graph: Callable[..., object] = exported(problem.model, arguments).module()
        with torch.no_grad():
            graph(*arguments)
    except Exception:  # noqa: BLE001 - torch.export raises anything; then operators are watched
        return None
    return graph


def _timed(call: Callable[..., object], arguments: list[Any]) -> float:
    started = time.perf_counter()
    with torch.no_grad():
        call(*arguments)
    return time.perf_counter() - started


def _inside_operators(call: Callable[[list[Any]], object], arguments: list[Any]) -> float:
    watch = _Watch()
    with watch:
        call(arguments)
    return watch.seconds


class _Watch(TorchDispatchMode):
    """Adds up the time that operators take."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seconds = 0.0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        started = time.perf_counter()
        try:
            return function(*args, **(kwargs or {}))
        finally:
            self.seconds += time.perf_counter() - started
