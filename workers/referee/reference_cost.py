"""Does a reference take longer than its operators do?

A speedup says how much faster a kernel is than the reference's own code. Where that code waits, or computes what it
then throws away, or does so only in the process in which it is timed, the figure says little. So the fastest baseline
takes turns with the reference's operators alone: its exported graph, run here, or where there is none the time that
PyTorch spends inside of operators. The shortest of either counts, which a busy machine does not lengthen much.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from workers.referee.baselines.slowness import ReferenceCost
from workers.referee.costs.analysis import exported
from workers.referee.inputs.draws import OWN
from workers.referee.problem.reference_problem import cloned
from workers.referee.state import ReferenceState
from workers.referee.timing.single_calls import Side

LEAST_TURNS, TURNS = 5, 15
LONGEST_S = 1.0
SITTINGS = 4
"""How often it is measured, at most, before a reference is said to be slow: the machine may have been."""


def reference_cost(state: ReferenceState, baseline: str) -> ReferenceCost | None:
    """What a baseline and the reference's operators take in turns, on the first input set; None on a GPU, whose calls
    are not timed here. It is measured once for all candidates. Raises `RunnerFault` where the baseline's process
    fails."""
    if state.place.is_gpu:
        return None
    if baseline not in state.reference_costs:
        threads = torch.get_num_threads()
        torch.set_num_threads(state.threads)
        try:
            state.reference_costs[baseline] = _measured(state, baseline)
        finally:
            torch.set_num_threads(threads)
    return state.reference_costs[baseline]


def _measured(state: ReferenceState, baseline: str) -> ReferenceCost:
    """The shortest of each; measured again before the reference is said to be slow."""
    arguments = state.draw(0, OWN)
    side = state.bench.side(baseline, 0, arguments, state.metas(0))
    call_s, operators = state.bench.cost(side).call_s, _operators(state, arguments)
    found = _in_turns(side, operators, call_s)
    for _ in range(SITTINGS - 1):
        if not found.is_slow:
            break
        found = found.pooled(_in_turns(side, operators, call_s))
    return found


def _in_turns(side: Side, operators: Callable[[], float], call_s: float) -> ReferenceCost:
    """The shortest seconds of each, without the `call_s` that a call takes which computes nothing."""
    started, whole, own = time.monotonic(), list[float](), list[float]()
    operators()
    while len(whole) < LEAST_TURNS or (len(whole) < TURNS and time.monotonic() - started < LONGEST_S):
        whole.append(side.session.call(side.slot, side.model).wall_s)
        own.append(operators())
    return ReferenceCost(baseline_s=max(0.0, min(whole) - call_s), operators_s=min(own))


def _operators(state: ReferenceState, arguments: Sequence[Any]) -> Callable[[], float]:
    """What runs the reference's operators and says how long they took."""

    def given() -> list[Any]:
        return cloned(list(arguments)) if state.mutates else list(arguments)

    graph = None if state.problem.step is not None else _graph(state, given())
    if graph is not None:
        return lambda: _timed(graph, given())
    return lambda: _inside_operators(state.problem.run, given())


def _graph(state: ReferenceState, arguments: list[Any]) -> Callable[..., object] | None:
    """The reference's exported graph; None where it has none."""
    try:
        graph: Callable[..., object] = exported(state.problem.model, arguments).module()
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
