"""A call by or from other threads than usual, and one that follows a call on nearly the same values.

A caller may use any number of threads, OpenMP may give fewer than were asked for, and calls may come from one thread
after the other. A caller may also change a few
elements of a tensor in place: what a kernel keeps as long as a sample of it stays the same is an old one's then.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from workers.ipc.sparse import holds_sparse
from workers.ipc.tensors import TensorMeta, flatten, structure
from workers.referee.comparison.output_structure import Answer
from workers.referee.errors import FaultKind, RunnerFault
from workers.referee.gates.checks.calls import judge_inputs, judge_on_values, try_draw
from workers.referee.gates.checks.other_values import taken
from workers.referee.gates.finding import GateFinding
from workers.referee.inputs.distributions import OWN, Distribution
from workers.referee.inputs.small_changes import slightly_changed
from workers.referee.trial import Trial
from workers.runner.protocol import CallForm, ThreadTeam

WHERE = {
    ThreadTeam.MANY: "with more threads than usual",
    ThreadTeam.ONE: "with one thread",
    ThreadTeam.ANOTHER: "called from another thread",
    ThreadTeam.FEWER: "where OpenMP gives one thread and more were asked for",
}
MOST_BYTES = 256 << 20
"""Of a call's inputs, up to which other threads work on them: many threads' stacks count as the candidate's memory."""
CHANGED = "after a few elements of the arguments changed in place"


def try_by(
    team: ThreadTeam, trial: Trial, number: int, distribution: Distribution, arguments: list[Any]
) -> GateFinding | None:
    """What is wrong with the outputs for one draw where other threads than usual work on it. Where a kernel raises an
    exception then, it is called by the usual ones."""
    if trial.bytes_of(arguments) <= MOST_BYTES:
        try:
            finding = try_draw(trial, number, distribution, arguments, observe=False, form=CallForm(team=team))
        except RunnerFault as fault:
            if fault.kind is not FaultKind.RAISED:
                raise RunnerFault(fault.kind, f"{WHERE[team]}: {fault}") from None
            trial.notes.append(f"limited: a call {WHERE[team]} was refused with {str(fault)[:200]}")
        else:
            return finding and dataclasses.replace(finding, detail=f"{WHERE[team]}: {finding.detail}")
    return try_draw(trial, number, distribution, arguments, observe=False)


def after_a_small_change(trial: Trial) -> GateFinding | None:
    """What is wrong with a call that follows one on the same values but for a few elements, where the reference takes
    them. A kernel may raise an exception there."""
    state = trial.state
    arguments, other = trial.draw(0, OWN), trial.draw(0, OWN)
    count = len(state.problem.forward_arguments(arguments))
    if holds_sparse(structure(arguments, [])):
        return None
    for whole in (True, False):
        changed = slightly_changed(arguments[:count], other[:count], whole=whole)
        if changed is None:
            continue
        for number in filter(state.problem.limits.is_fixed, range(count)):
            changed[number] = arguments[number]
        call = taken(state, arguments[:count], flatten(changed))
        if call is None:
            continue
        call = [*call[:count], *arguments[count:]]
        answer = state.expected(call)
        if [TensorMeta.of(tensor) for tensor in answer.tensors] != state.metas(0):
            continue
        slot = trial.slot(0, arguments)
        slot.write(flatten(arguments))
        trial.session.call(slot)
        finding = _called(trial, call, answer)
        is_sure = finding is not None and state.scales_on(call, answer.tensors, OWN) is not None
        return finding if is_sure else None
    return None


def _called(trial: Trial, arguments: list[Any], answer: Answer) -> GateFinding | None:
    slot, tensors = trial.slot(0, arguments), flatten(arguments)
    slot.write(tensors)
    try:
        trial.session.call(slot)
    except RunnerFault as fault:
        if fault.kind is not FaultKind.RAISED:
            raise RunnerFault(fault.kind, f"{CHANGED}: {fault}") from None
        trial.notes.append(f"limited: a call {CHANGED} was refused with {str(fault)[:200]}")
        return None
    fetched = trial.session.fetch(slot)
    scales = trial.state.scales(0, OWN) or ()
    return judge_inputs(trial, slot, tensors, answer, OWN, CHANGED) or judge_on_values(
        trial, fetched, arguments, answer, OWN, scales, CHANGED
    )
