"""A call by or from other threads than usual, and one that follows a call on nearly the same values.

A caller may use any number of threads, OpenMP may give fewer than were asked for, and calls may come from one thread
after the other. A caller may also change a few
elements of a tensor in place: what a kernel keeps as long as a sample of it stays the same is an old one's then. So is
what it keeps as long as a number's first digits, or a tensor's sum, are the same.
"""

from __future__ import annotations

import contextlib
import dataclasses
import random
from typing import Any

from workers.ipc.sparse import holds_sparse
from workers.ipc.tensors import TensorMeta, flatten, structure
from workers.referee.boundary.slots import Slot
from workers.referee.comparison.output_structure import Answer
from workers.referee.errors import FaultKind, RunnerFault
from workers.referee.gates.checks.calls import fetched_if_taken, judge_inputs, judge_on_values, opened, try_draw
from workers.referee.gates.checks.other_values import taken, with_cotangents
from workers.referee.gates.finding import GateFinding
from workers.referee.inputs.distributions import OWN, Distribution
from workers.referee.inputs.small_changes import looking_alike, slightly_changed
from workers.referee.state import ReferenceState
from workers.referee.trial import Mode, Trial
from workers.runner.protocol import USUAL_FORM, CallForm, ThreadTeam

WHERE = {
    ThreadTeam.MANY: "with more threads than usual",
    ThreadTeam.ONE: "with one thread",
    ThreadTeam.ANOTHER: "called from another thread",
    ThreadTeam.FEWER: "where OpenMP gives one thread and more were asked for",
}
MOST_BYTES = 256 << 20
"""Of a call's inputs, up to which other threads work on them: many threads' stacks count as the candidate's memory."""
CHANGED = "after a few elements of the arguments changed in place"
ALIKE_SLOT = 9000
MOST_ALIKE, LARGE_BYTES = 4, 8 << 20
"""Numbers and small tensors that change alone, and bytes of a call's inputs from which on one of them does."""
LONG = 1 << 16
"""Sizes from which on a row of floats is as large as a small stack."""
ON_A_SMALL_STACK = "called from a thread with a small stack"


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
                raise fault.at(WHERE[team]) from None
            trial.notes.append(f"limited: a call {WHERE[team]} was refused with {str(fault)[:200]}")
        else:
            return finding and finding.at(WHERE[team])
    return try_draw(trial, number, distribution, arguments, observe=False)


def after_a_small_change(trial: Trial) -> GateFinding | None:
    """What is wrong with a call that follows one on the same values but for a few elements, or one that looks the same,
    where the reference takes them. A kernel may raise an exception there."""
    return _after_few_elements(trial) or _after_what_looks_alike(trial)


def _after_few_elements(trial: Trial) -> GateFinding | None:
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
        return _if_exact(trial, call, answer, _called(trial, slot, call, answer, CHANGED))
    return None


def _after_what_looks_alike(trial: Trial) -> GateFinding | None:
    """The same where a number's first digits stay, or a tensor's elements in another order: what is right in a process
    that has seen nothing else is wrong because of what was kept."""
    state = trial.state
    before = state.problem.forward_arguments(trial.draw(0, OWN))
    size = sum(tensor.nbytes for tensor in flatten(before))
    if trial.mode is not Mode.FULL or holds_sparse(structure(before, [])) or size > MOST_BYTES:
        return None
    changes = list(looking_alike(before))
    most = MOST_ALIKE if size <= LARGE_BYTES else 1
    for what, in_place, calls in random.SystemRandom().sample(changes, min(most, len(changes))):
        usual = state.problem.with_cotangents(before)
        slot = trial.slot(0, usual)
        slot.write(flatten(usual))
        trial.session.call(slot)
        for ways in calls:
            finding = _on_one_of(trial, before, ways, f"after {what}", in_place=in_place)
            if finding is not None:
                return finding
    return None


def _on_one_of(
    trial: Trial, before: list[Any], ways: list[list[Any]], where: str, *, in_place: bool
) -> GateFinding | None:
    """What is wrong with the first of several calls that the reference takes, and not in a process of its own."""
    state = trial.state
    call, answer = next(filter(None, (_taken(state, before, way) for way in ways)), (None, None))
    if call is None or answer is None:
        return None
    opening = contextlib.nullcontext(trial.slot(0, call)) if in_place else opened(trial, ALIKE_SLOT, call, answer)
    with opening as slot:
        finding = _if_exact(trial, call, answer, _called(trial, slot, call, answer, where))
    if finding is None:
        return None
    with trial.another() as other:
        other.load()
        with opened(other, ALIKE_SLOT, call, answer) as slot:
            is_kept = _called(other, slot, call, answer, where) is None and not other.notes
    return finding if is_kept else None


def _taken(state: ReferenceState, before: list[Any], changed: list[Any]) -> tuple[list[Any], Answer] | None:
    limits = state.problem.limits
    if limits.excludes(before, changed):
        return None
    found = with_cotangents(state, changed, is_plain=True)
    is_alike = found is not None and [TensorMeta.of(tensor) for tensor in found[1].tensors] == state.metas(0)
    return found if is_alike else None


def _if_exact(trial: Trial, call: list[Any], answer: Answer, finding: GateFinding | None) -> GateFinding | None:
    """A finding where the reference is exact."""
    is_sure = finding is not None and trial.state.accuracy.scales_on(call, answer.tensors, OWN) is not None
    return finding if is_sure else None


def on_a_small_stack(trial: Trial, arguments: list[Any], number: int, where: str) -> GateFinding | None:
    """What is wrong with a call of many places in a row from a thread with a small stack. A kernel that does not fit
    there is remarked on: the main thread has eight megabytes."""
    longest = max((size for shape in trial.shapes_of(arguments) for size in shape), default=0)
    is_long = longest >= LONG and trial.bytes_of(arguments) <= MOST_BYTES
    if trial.state.place.is_gpu or trial.mode is not Mode.FULL or not is_long:
        return None
    form, answer = CallForm(team=ThreadTeam.SHALLOW), trial.state.expected(arguments)
    where = f"{where}, {ON_A_SMALL_STACK}"
    try:
        with opened(trial, number, arguments, answer) as slot:
            return _if_exact(trial, arguments, answer, _called(trial, slot, arguments, answer, where, form))
    except RunnerFault as fault:
        if fault.kind is not FaultKind.CRASHED:
            raise
        trial.held = None
        trial.notes.append(f"PROVEN FOR THREADS WITH A LARGE STACK: {str(fault)[:200]}")
        trial.load_again()
        return None


def _called(
    trial: Trial, slot: Slot, arguments: list[Any], answer: Answer, where: str, form: CallForm = USUAL_FORM
) -> GateFinding | None:
    fetched = fetched_if_taken(trial, slot, arguments, where, form)
    if fetched is None:
        return None
    scales = trial.state.scales(0, OWN) or ()
    if form != USUAL_FORM:  # another shape's outputs are not so large
        scales = tuple(dataclasses.replace(scale, usual=()) for scale in trial.state.known_scales(OWN))
    return judge_inputs(trial, slot, arguments, answer, OWN, where) or judge_on_values(
        trial, fetched, arguments, answer, OWN, scales, where
    )
