"""Is a kernel right with ties, zeros and marks in what is left over of its vectors and tiles?

Announced sizes are multiples of every vector, and other sizes have general values: so a kernel may know equal values,
rows of zeros, labels that are ignored and rows of a mask that let nothing through in its whole tiles only. Each of them
comes once where all sizes are odd and a little shorter than announced: what is known of the reference's errors holds
there too.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence
from typing import Any

from workers.ipc.tensors import flatten
from workers.referee.errors import FaultKind, Refused, RunnerFault
from workers.referee.gates.checks.calls import try_values
from workers.referee.gates.checks.mixed_calls import MAY_RAISE, shown
from workers.referee.gates.checks.other_values import on_values_at, taken
from workers.referee.gates.checks.recovery import after_an_exception
from workers.referee.gates.checks.size_groups import SizeGroup, announced, to_size
from workers.referee.gates.finding import GateFinding
from workers.referee.inputs.distributions import Distribution
from workers.referee.trial import Trial

ODD_SLOT = 9100
SHORTER = 8
"""Share of a size by which it is shorter at most: one of so many."""
VECTOR = 8
"""Elements of the shortest usual vector: a remainder of one has no two values that are equal."""


def on_odd_sizes(trial: Trial, groups: Sequence[SizeGroup], notes: list[str]) -> GateFinding | None:
    """What is wrong in such calls; `notes` gets what became of each."""
    call = None if _is_enough(trial) else _odd(trial, groups)
    if call is None:
        return None
    where = f"derived shapes {shown(trial.shapes_of(call))}"
    kinds = [one for one in trial.state.tried.usable(0) if one.has_ties]
    for kind in random.SystemRandom().sample(kinds, len(kinds)):
        if _is_enough(trial):
            return None
        place = f"{where}, {kind.name} values"
        try:
            finding = _on_kind(trial, call, kind, place)
        except RunnerFault as fault:
            if fault.kind is not FaultKind.RAISED:
                raise fault.at(place, MAY_RAISE) from None
            notes.append(f"{place}: refused with {str(fault)[:200]}")
            return after_an_exception(trial)
        if finding is not None:
            return finding
        notes.append(f"passed on {place}")
    return on_values_at(trial, trial.state.problem.forward_arguments(call), where, notes)


def _is_enough(trial: Trial) -> bool:
    return trial.used_share > trial.budget.shapes_share


def _odd(trial: Trial, groups: Sequence[SizeGroup]) -> list[Any] | None:
    """A call of which each size that can be is odd and a little below the announced one; None where none can."""
    state, generator, call = trial.state, random.SystemRandom(), None
    given = announced(trial)
    for group in groups:
        size = group.size - 1 - generator.randrange(max(1, group.size // SHORTER))
        size -= 1 - size % 2
        size -= 2 * (size % VECTOR == 1)
        if group.may_shrink and size > 0:
            tensors = to_size(trial, group.axes, size, apart=state.traits.chooses)(flatten(given))
            cut = None if tensors is None else taken(state, given, tensors)
            call = cut or call
            given = given if cut is None else state.problem.forward_arguments(cut)
    return call


def _on_kind(trial: Trial, call: list[Any], kind: Distribution, where: str) -> GateFinding | None:
    """What is wrong with a kind of values; what the reference's own error in this very call explains, is not."""
    state, changed = trial.state, trial.state.changed(call, kind)
    try:
        answer = state.expected(changed)
    except Refused:
        return None
    if not state.accuracy.can_judge(answer.tensors, kind):
        return None
    finding = try_values(trial, changed, ODD_SLOT, where, kind, answer)
    if finding is None or finding.gate is not None:
        return finding
    scales = state.accuracy.fit_scales(changed, answer.tensors, dataclasses.replace(kind, harsh=True))
    finding = None if scales is None else try_values(trial, changed, ODD_SLOT, where, kind, answer, scales)
    return finding and finding.advised(MAY_RAISE)
