"""Is a kernel right on those kinds of values that large inputs were not tried on?

Of the kinds of values some are chosen at random where inputs are large. The others are drawn on a part of the inputs,
cut along a dimension, so that an evaluation has seen each kind.
"""

from __future__ import annotations

import random
import time
from typing import Any

from workers.ipc.sparse import holds_sparse
from workers.ipc.tensors import flatten, structure
from workers.referee.errors import FaultKind, Refused, RunnerFault
from workers.referee.gates.checks.calls import try_values
from workers.referee.gates.checks.other_values import taken
from workers.referee.gates.finding import GateFinding
from workers.referee.inputs.distributions import OWN, Distribution
from workers.referee.inputs.index_structure import index_structure
from workers.referee.inputs.resize import parts
from workers.referee.trial import Trial

LEFT_SLOT = 7000
PART_BYTES = 4 << 20
"""Of the inputs of such a call, at most."""
SHARE = 0.1
"""Of the time that the gates have taken so far: then it is enough."""
MAY_RAISE = ". A kernel may raise an exception for shapes that it does not support"


def on_left_kinds(trial: Trial, notes: list[str]) -> GateFinding | None:
    """What is wrong on a part of large inputs with a kind of values that they were not tried on; `notes` gets how many
    there were. Nothing is tried where a backward pass is judged: gradients of a part are another problem's."""
    left = list(trial.state.tried.left_out)
    call = _part(trial) if left and not trial.state.problem.is_step else None
    if call is None:
        return None
    random.SystemRandom().shuffle(left)
    count, until = 0, time.monotonic() + SHARE * sum(trial.phases.values())
    for kind in left:
        try:
            tried, finding = _tried(trial, call, kind)
        except RunnerFault as fault:
            if fault.kind is not FaultKind.RAISED:
                raise
            notes.append(f"{_where(kind)}: refused with {str(fault)[:200]}")
            return None
        if finding is not None:
            return finding
        count += tried
        if time.monotonic() > until:
            break
    notes.append(f"passed on {count} further kinds of values on a part of the inputs")
    return None


def _part(trial: Trial) -> list[Any] | None:
    """The first part that the reference takes; None for what can be cut by its indices only."""
    arguments = trial.state.problem.forward_arguments(trial.draw(0, OWN))
    tensors = flatten(arguments)
    if index_structure(tensors) is not None or holds_sparse(structure(arguments, [])):
        return None
    steps = trial.state.problem.limits.steps(arguments)
    calls = (taken(trial.state, arguments, part) for part in parts(tensors, PART_BYTES, steps))
    return next((call for call in calls if call is not None), None)


def _tried(trial: Trial, call: list[Any], kind: Distribution) -> tuple[bool, GateFinding | None]:
    """Whether the reference takes such values, and what is wrong with the candidate's output."""
    state, changed = trial.state, trial.state.changed(call, kind)
    try:
        expected = state.expected(changed)
    except Refused:
        return False, None
    if not state.accuracy.can_judge(expected.tensors, kind):
        return False, None
    finding = try_values(trial, changed, LEFT_SLOT, _where(kind), kind, expected)
    if finding is None:
        return True, None
    if state.accuracy.scales_on(changed, expected.tensors, kind) is None:
        return False, None
    return True, finding.advised(MAY_RAISE)


def _where(kind: Distribution) -> str:
    return f"{kind.name} values on a part of the inputs"
