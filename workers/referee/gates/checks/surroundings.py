"""A call by other threads than usual, and one that follows a call on nearly the same values.

A caller may use any number of threads, and OpenMP may give fewer than were asked for. A caller may also change a few
elements of a tensor in place: what a kernel keeps as long as a sample of it stays the same is an old one's then.
"""

from __future__ import annotations

from typing import Any

from workers.ipc.sparse import holds_sparse
from workers.ipc.tensors import TensorMeta, flatten, structure
from workers.referee.comparison.output_structure import Answer
from workers.referee.errors import FaultKind, RunnerFault
from workers.referee.gates.checks.calls import judge_inputs, judge_on_values
from workers.referee.gates.checks.other_values import taken
from workers.referee.gates.finding import GateFinding
from workers.referee.inputs.distributions import OWN
from workers.referee.inputs.small_changes import slightly_changed
from workers.referee.trial import Mode, Trial
from workers.runner.protocol import ThreadTeam

TEAMS = {
    ThreadTeam.MANY: "with more threads than usual",
    ThreadTeam.ONE: "with one thread",
    ThreadTeam.FEWER: "where OpenMP gives one thread and more were asked for",
}
MOST_BYTES = 256 << 20
"""Of a call's inputs, up to which other threads work on them: many threads' stacks count as the candidate's memory."""
CHANGED = "after a few elements of the arguments changed in place"


def with_other_threads(trial: Trial) -> GateFinding | None:
    """On the CPU: what is wrong with a call by other threads. A kernel may raise an exception there."""
    if trial.state.place.is_gpu or trial.mode is not Mode.FULL:
        return None
    for team, where in TEAMS.items():
        arguments = trial.draw(0, OWN)  # memory that is used again holds what was right for older ones
        if sum(tensor.nbytes for tensor in flatten(arguments)) > MOST_BYTES:
            return None
        finding = _called(trial, arguments, trial.state.expected(arguments), where, team)
        if finding is not None:
            return finding
    return None


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
        finding = _called(trial, call, answer, CHANGED, ThreadTeam.USUAL)
        is_sure = finding is not None and state.scales_on(call, answer.tensors, OWN) is not None
        return finding if is_sure else None
    return None


def _called(trial: Trial, arguments: list[Any], answer: Answer, where: str, team: ThreadTeam) -> GateFinding | None:
    slot, tensors = trial.slot(0, arguments), flatten(arguments)
    slot.write(tensors)
    try:
        trial.session.call(slot, team=team)
    except RunnerFault as fault:
        if fault.kind is not FaultKind.RAISED:
            raise RunnerFault(fault.kind, f"{where}: {fault}") from None
        trial.notes.append(f"limited: a call {where} was refused with {str(fault)[:200]}")
        return None
    fetched = trial.session.fetch(slot)
    scales = trial.state.scales(0, OWN) or ()
    return judge_inputs(trial, slot, tensors, answer, OWN, where) or judge_on_values(
        trial, fetched, arguments, answer, OWN, scales, where
    )
