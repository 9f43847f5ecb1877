"""Calls that leave no figure, made as any caller may make them.

The mode of gradients, the memory of the arguments, what lies in new memory and variables of the environment distinguish
a runner from a caller. A candidate gains nothing by that where calls with and without each of them are judged alike:
each is drawn for each call, independently of the others.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Sequence

import torch

from workers.referee.boundary.slots import Slot
from workers.referee.errors import FaultKind, RunnerFault
from workers.referee.gates.finding import GateFinding
from workers.referee.trial import Trial
from workers.runner.protocol import USUAL_FORM, CallForm, Manner, ThreadTeam

MOST_BYTES = 256 << 20
"""Of a call's arguments, up to which there are two of each."""
OF_GRADIENTS = Manner.GRADIENTS | Manner.REQUIRED
WORDS = {
    Manner.GRADIENTS: "with gradients recorded",
    Manner.OWN_MEMORY: "on arguments in memory of their own",
    Manner.REQUIRED: "on arguments that require gradients",
    Manner.SETTINGS: "with OpenMP's variables otherwise than a runner has them",
    Manner.GARBAGE: "where memory that was just allocated holds garbage",
}


def call_as_a_caller(
    trial: Trial,
    slot: Slot,
    tensors: Sequence[torch.Tensor],
    call: Callable[..., object],
    *,
    form: CallForm = USUAL_FORM,
    own_memory: bool = True,
) -> Manner:
    """Put the arguments in and make a call of a `form`, in a manner that is drawn; which one that was. A kernel may
    raise an exception there, and is then called in the usual one.

    Where threads, names or the mode are others than usual, nothing else is. With `own_memory`, arguments may lie in
    memory of their own, where writes past their bounds are not seen. Raises `RunnerFault`."""
    is_usual = (form.team, form.names, form.in_other_mode) == (ThreadTeam.USUAL, (), False)
    manner = _drawn(trial, tensors) if is_usual else Manner.USUAL
    if not own_memory:
        manner &= ~(Manner.OWN_MEMORY | Manner.REQUIRED)
    refused: RunnerFault | None = None
    slot.write(tensors)
    if manner:
        try:
            call(form=dataclasses.replace(form, manner=manner))
        except RunnerFault as fault:
            if fault.kind is not FaultKind.RAISED:
                raise fault.at(in_words(manner)) from None
            refused = fault
        else:
            return manner
        slot.write(tensors)
    call(form=form)
    if refused is not None:
        blamed = manner & OF_GRADIENTS or manner
        trial.manners &= ~blamed
        trial.notes.append(f"limited: a call {in_words(blamed)} was refused with {str(refused)[:200]}")
    return Manner.USUAL


def said_of(finding: GateFinding | None, manner: Manner) -> GateFinding | None:
    """What is wrong with a call, and in which manner it was made."""
    if finding is None or not manner:
        return finding
    return dataclasses.replace(finding, detail=f"{finding.detail} (a call {in_words(manner)})")


def in_words(manner: Manner) -> str:
    """What is said of calls in a manner."""
    return ", ".join(text for part, text in WORDS.items() if part in manner)


def _drawn(trial: Trial, tensors: Sequence[torch.Tensor]) -> Manner:
    """What a call may be otherwise than usual, each by the toss of a coin."""
    manner = Manner(random.SystemRandom().getrandbits(len(WORDS))) & trial.manners
    if trial.state.problem.is_step:  # records gradients itself
        manner &= ~OF_GRADIENTS
    if trial.state.mutates:  # what requires gradients may not be written to
        manner &= ~Manner.REQUIRED
    if Manner.OWN_MEMORY in manner and sum(tensor.nbytes for tensor in tensors) > MOST_BYTES:
        manner &= ~Manner.OWN_MEMORY
    return manner if Manner.OWN_MEMORY in manner else manner & ~Manner.REQUIRED
