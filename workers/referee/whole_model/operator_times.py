"""What each operator of a traced model takes, and what the parts of the model really read."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Interpreter

from workers.ipc.placement import TensorDevice
from workers.referee.whole_model.call_text import Node

WARM_UP = 2
LEAST_RUNS, MOST_RUNS = 5, 40
SECONDS = 3.0
"""Time for the repeated runs of one measurement."""


@dataclass(frozen=True, kw_only=True)
class OperatorTimes:
    """Medians over some runs."""

    seconds: dict[Node, float]
    runs: int


def operator_times(
    program: Any, values: Sequence[Any], place: TensorDevice, alive: Callable[[], None]
) -> OperatorTimes:
    """Median seconds of every call in a program; `values` are its flat inputs, `alive` is called before each run."""
    timed = _Timed(program.graph_module, place)
    runs = repeated(lambda: timed.run(*values), place, alive)
    return OperatorTimes(
        seconds={node: statistics.median(found[-len(runs) :]) for node, found in timed.seconds.items()}, runs=len(runs)
    )


def repeated(run: Callable[[], object], place: TensorDevice, alive: Callable[[], None]) -> list[float]:
    """Seconds of repeated runs, warm."""
    found: list[float] = []
    with torch.no_grad():
        for _ in range(WARM_UP):
            alive()
            run()
        until = time.perf_counter() + SECONDS
        while len(found) < LEAST_RUNS or (time.perf_counter() < until and len(found) < MOST_RUNS):
            alive()
            place.synchronize()
            started = time.perf_counter()
            run()
            place.synchronize()
            found.append(time.perf_counter() - started)
    return found


def sampled(program: Any, values: Sequence[Any], wanted: frozenset[Node]) -> dict[Node, torch.Tensor]:
    """The tensors that some nodes stand for in one run."""
    sampler = _Sampler(program.graph_module, wanted)
    with torch.no_grad():
        sampler.run(*values)
    return sampler.found


class _Timed(Interpreter):
    """Runs a graph and notes what each call takes."""

    def __init__(self, module: torch.fx.GraphModule, place: TensorDevice) -> None:
        super().__init__(module)
        self._place = place
        self.seconds: dict[Node, list[float]] = {}

    def run_node(self, n: Node) -> Any:
        """Run one node; the device is waited for, so that its time is its own."""
        if n.op != "call_function":
            return super().run_node(n)
        arguments, keywords = self.fetch_args_kwargs_from_env(n)
        started = time.perf_counter()
        result = n.target(*arguments, **keywords)
        self._place.synchronize()
        self.seconds.setdefault(n, []).append(time.perf_counter() - started)
        return result


class _Sampler(Interpreter):
    """Runs a graph and keeps some values."""

    def __init__(self, module: torch.fx.GraphModule, wanted: frozenset[Node]) -> None:
        super().__init__(module)
        self._wanted = wanted
        self.found: dict[Node, torch.Tensor] = {}

    def run_node(self, n: Node) -> Any:
        """Run one node."""
        result = super().run_node(n)
        if n in self._wanted and isinstance(result, torch.Tensor):
            self.found[n] = result.detach().clone()
        return result
