"""Does a reference take longer than its operators do?

A speedup says how much faster a kernel is than the reference's own code. Where that code waits, or computes what it
then throws away, or does so only in the process in which it is timed, the figure says little. So the fastest baseline
takes turns with the reference's operators alone; see `workers.referee.costs.operator_time`. The shortest of either
counts, which a busy machine does not lengthen much.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from workers.referee.baselines.overhead import ReferenceCost
from workers.referee.inputs.distributions import OWN
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
        with state.problem.with_threads(state.threads):
            state.reference_costs[baseline] = _measured(state, baseline)
    return state.reference_costs[baseline]


def _measured(state: ReferenceState, baseline: str) -> ReferenceCost:
    """The shortest of each; measured again before the reference is said to be slow."""
    arguments = state.draw(0, OWN)
    side = state.bench.side(baseline, 0, arguments, state.metas(0))
    call_s, traced = state.bench.cost(side).call_s, state.analysis.trace_error is None
    operators = state.problem.operators(arguments, traced=traced)
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
