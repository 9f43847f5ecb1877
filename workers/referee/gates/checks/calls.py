"""One call of the candidate, and what is wrong with what it returned or left in its arguments."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from services.domain.gates import GateName
from workers.ipc.tensors import TensorMeta, flatten
from workers.referee.boundary.slots import Slot
from workers.referee.comparison.call_outputs import Fetched
from workers.referee.comparison.judgement import Judgement, judged_inputs, judged_on_values, judged_outputs
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import ErrorScale, all_finite
from workers.referee.errors import FaultKind, Refused, RunnerFault
from workers.referee.gates.checks.manners import call_as_a_caller, said_of
from workers.referee.gates.finding import GateFinding, failed
from workers.referee.inputs.distributions import OWN, Distribution
from workers.referee.state import ReferenceState
from workers.referee.trial import Held, Trial
from workers.runner.protocol import USUAL_FORM, CallForm, Manner

MOST_HELD_BYTES = 256 << 20
"""Of device memory, for outputs that are held until later calls have ended."""
READ_ONLY = "called again on arguments in memory that can only be read"
OVERWRITTEN = " when its caller had written to what the first call returned"
AT_ONCE = 0.5
"""Share of the calls that leave no figure whose outputs are copied before anything is said."""


def try_draw(
    trial: Trial,
    number: int,
    distribution: Distribution,
    arguments: list[Any],
    *,
    observe: bool,
    slot: Slot | None = None,
    hold: bool = False,
    form: CallForm = USUAL_FORM,
) -> GateFinding | None:
    """What is wrong with the outputs for one draw, or None. The one call may have another `form` than usual. `observe`
    notes PyTorch's operators, calls again, and has what is returned then held, as `hold` has what the only call
    returns. A candidate cannot know which calls' outputs are taken the moment they are returned. Raises `RunnerFault`,
    but not for a refusal of what the reference hardly takes."""
    slot = slot or trial.slot(number, arguments)
    where = f"input set {number}, {distribution.name} values" if number else f"{distribution.name} values"
    answer: Answer | None = None
    may_hold = has_room(trial, slot)
    again = f"{where}, called again{OVERWRITTEN if _are_the_callers(trial.state) else ''}"
    for turn in ("observed", "repeated") if observe else ("plain",):
        place, keep = again if turn == "repeated" else where, may_hold and (hold or turn == "repeated")
        try:
            manner = _called(trial, slot, flatten(arguments), turn, form, keep=keep)
            fetched = trial.session.fetch(slot)
        except RunnerFault as fault:
            if distribution is OWN:
                raise
            if fault.kind is FaultKind.RAISED and trial.state.accuracy.hardly_takes(arguments):
                return None
            raise fault.at(f"{distribution.name} values") from None
        answer = trial.state.expected(arguments) if answer is None else answer
        scales = trial.state.scales(number, distribution) or ()
        if keep:
            trial.held = Held(
                session=trial.session,
                slot=slot,
                arguments=arguments,
                answer=answer,
                scales=scales,
                distribution=distribution,
            )
        finding = judge_inputs(trial, slot, arguments, answer, distribution, place) or judge_on_values(
            trial, fetched, arguments, answer, distribution, scales, place
        )
        if finding is not None:
            return said_of(finding, manner)
    return None


def _called(
    trial: Trial, slot: Slot, tensors: Sequence[torch.Tensor], turn: str, form: CallForm, *, keep: bool
) -> Manner:
    """Make a call, and say in which manner it was made. Raises `RunnerFault`."""
    form = dataclasses.replace(form, overwrite=_are_the_callers(trial.state) and not keep)
    if turn == "observed":
        observe = functools.partial(_observe, trial, slot)
        return call_as_a_caller(trial, slot, tensors, observe, form=form, own_memory=False)
    reads = turn == "repeated" and not trial.state.mutates
    call = functools.partial(trial.session.call, slot, hold=keep, at_once=_by_chance())
    form = dataclasses.replace(form, read_only=reads)
    try:
        return call_as_a_caller(trial, slot, tensors, call, form=form, own_memory=not reads)
    except RunnerFault as fault:
        if reads and fault.kind is FaultKind.CRASHED:
            raise fault.at(READ_ONLY) from None
        raise


def fetched_if_taken(
    trial: Trial, slot: Slot, arguments: Sequence[Any], where: str, form: CallForm = USUAL_FORM
) -> Fetched | None:
    """What the candidate returns for arguments, written to the slot, that it may refuse: None, and a note, where it
    does. Raises `RunnerFault` for all else."""
    slot.write(flatten(list(arguments)))
    try:
        trial.session.call(slot, form=form)
    except RunnerFault as fault:
        if fault.kind is not FaultKind.RAISED:
            raise fault.at(where) from None
        trial.notes.append(f"limited: a call {where} was refused with {str(fault)[:200]}")
        return None
    return trial.session.fetch(slot)


def _observe(trial: Trial, slot: Slot, *, form: CallForm) -> None:
    trial.operators = trial.session.observe(slot, form=form)


def answer_of(trial: Trial, arguments: list[Any]) -> Answer | None:
    """What the reference makes of arguments, where it takes them and all of it is finite."""
    try:
        answer = trial.state.expected(arguments)
    except Refused:
        return None
    return answer if all_finite(answer.tensors) else None


def has_room(trial: Trial, slot: Slot) -> bool:
    """Whether a call's outputs may be held: on a GPU, whose memory is short, those that are not large."""
    return not trial.state.place.is_gpu or slot.outputs.raw.numel() <= MOST_HELD_BYTES


def _are_the_callers(state: ReferenceState) -> bool:
    """Whether what the reference returns is its caller's alone, who may write to it."""
    return not (state.aliases or state.shares)


def _by_chance() -> bool:
    return random.SystemRandom().random() < AT_ONCE


def try_values(
    trial: Trial,
    arguments: list[Any],
    number: int,
    where: str,
    kind: Distribution = OWN,
    expected: Answer | None = None,
    scales: Sequence[ErrorScale] | None = None,
) -> GateFinding | None:
    """What is wrong with the outputs, or None; `expected` and `scales` where they are known. Raises
    `RunnerFault` where the candidate refuses the call."""
    state = trial.state
    wanted = expected or state.expected(arguments)
    with opened(trial, number, arguments, wanted) as slot:
        observed = _by_chance()  # no figure is taken: guards around what a call allocates come unpredictably
        ask: Callable[..., object] = trial.session.observe if observed else trial.session.call
        form = CallForm(overwrite=_are_the_callers(state))
        call = functools.partial(ask, slot)
        manner = call_as_a_caller(trial, slot, flatten(arguments), call, form=form, own_memory=not observed)
        fetched = trial.session.fetch(slot)
        known = state.known_scales(kind) if scales is None else scales
        scales = [dataclasses.replace(scale, usual=()) for scale in known]  # another shape's outputs are not so large
        finding = judge_inputs(trial, slot, arguments, wanted, kind, where) or judge_on_values(
            trial, fetched, arguments, wanted, kind, scales, where
        )
        return said_of(finding, manner)


@contextlib.contextmanager
def opened(trial: Trial, number: int, arguments: list[Any], wanted: Answer) -> Iterator[Slot]:
    """A slot for a call. The candidate's process lets go of it too, as long as it answers: it is given many."""
    slot = trial.session.open_slot(number, arguments, [TensorMeta.of(tensor) for tensor in wanted.tensors])
    try:
        yield slot
        trial.session.forget([slot])
    except RunnerFault as fault:
        if fault.kind is FaultKind.RAISED:
            trial.session.forget([slot])
        raise
    finally:
        slot.close()


def judge_outputs(
    trial: Trial, fetched: Fetched, answer: Answer, scales: Sequence[ErrorScale], where: str
) -> GateFinding | None:
    """What is wrong with the outputs of one call, or None."""
    return _found(trial, judged_outputs(trial.state, fetched, answer, scales), where)


def judge_on_values(
    trial: Trial,
    fetched: Fetched,
    arguments: list[Any],
    answer: Answer,
    distribution: Distribution,
    scales: Sequence[ErrorScale],
    where: str,
) -> GateFinding | None:
    """The same for arguments that are still at hand; see `judged_on_values`."""
    return _found(trial, judged_on_values(trial.state, fetched, arguments, answer, distribution, scales), where)


def judge_inputs(
    trial: Trial, slot: Slot, arguments: list[Any], answer: Answer, distribution: Distribution, where: str
) -> GateFinding | None:
    """What is wrong with the arguments after a call: as they were, or as the reference leaves them, where it writes."""
    return _found(trial, judged_inputs(trial.state, slot.inputs.tensors, arguments, answer, distribution), where)


def _found(trial: Trial, judgement: Judgement, where: str) -> GateFinding | None:
    """A judgement as a gate's finding; how far the tensors were off is kept."""
    trial.errors.note(where, judgement.accounts)
    for remark in judgement.remarks:
        if not any(note.partition(":")[0] == remark.partition(":")[0] for note in trial.notes):
            trial.notes.append(remark)
    if judgement.wrong is None:
        return None
    return failed(f"{where}: {judgement.wrong}", GateName.INTEGRITY if judgement.is_forged else None)
