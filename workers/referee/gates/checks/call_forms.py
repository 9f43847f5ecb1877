"""Calls of the forms that a caller may choose: arguments by keyword, and a model in its other mode.

A kernel takes the place of a module. Its caller passes arguments by the names that the module gives them, and switches
the whole network between training and evaluation.
"""

from __future__ import annotations

import dataclasses
import secrets

from workers.referee.boundary.isolated_problem import SEED_BITS
from workers.referee.comparison.error_scales import same_bytes
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import all_finite
from workers.referee.errors import FaultKind, Refused, RunnerFault
from workers.referee.gates.checks.calls import try_draw
from workers.referee.gates.finding import GateFinding
from workers.referee.inputs.distributions import OWN
from workers.referee.trial import UNCHANGING, Trial

KEYWORDS = "with arguments by keyword, by the names of the reference's `forward`"
MODES = {True: "train()", False: "eval()"}
"""What puts a model into training mode, or not."""


def by_keyword(trial: Trial) -> GateFinding | None:
    """What is wrong with the output where several arguments come by the reference's names. A kernel may raise an
    exception there."""
    problem, arguments = trial.state.problem, trial.draw(0, OWN)
    count, names = len(problem.forward_arguments(arguments)), problem.argument_names
    if not 1 < count <= len(names):
        return None
    try:
        finding = try_draw(trial, 0, OWN, arguments, observe=False, names=names[:count])
    except RunnerFault as fault:
        if fault.kind is not FaultKind.RAISED:
            raise RunnerFault(fault.kind, f"{KEYWORDS}: {fault}") from None
        trial.notes.append(f"PROVEN FOR ARGUMENTS BY POSITION: it refused keywords with {str(fault)[:200]}")
        return None
    return finding and dataclasses.replace(finding, detail=f"{KEYWORDS}: {finding.detail}")


def in_the_other_mode(trial: Trial) -> GateFinding | None:
    """What is wrong with the output after `eval()`, or `train()` where the model is built in evaluation mode, if the
    reference's is the same in both modes. If it is not, and the kernel is wrong or raises an exception, that is
    remarked on. Nothing is asked of random outputs."""
    problem, arguments = trial.state.problem, trial.draw(0, OWN)
    if trial.missing:
        return None
    seed, told = secrets.randbits(SEED_BITS), ""
    with problem.moved_statistics(seed, in_other_mode=True) as is_training:
        values = problem.state()
        answer = _answer(trial, arguments)
        if answer is None or not _same(answer, _answer(trial, arguments)) or not trial.session.change_state(values):
            return None
        try:
            finding = try_draw(trial, 0, OWN, arguments, observe=False, in_other_mode=True)
        except RunnerFault as fault:
            if fault.kind is not FaultKind.RAISED:
                raise RunnerFault(fault.kind, f"after {MODES[is_training]}: {fault}") from None
            finding, told = None, f"it refused the other with {str(fault)[:200]}"
    trial.session.change_state(problem.state())
    if finding is not None:
        with problem.moved_statistics(seed, in_other_mode=False):
            is_same = _same(answer, _answer(trial, arguments))
        if is_same and any(note.startswith(UNCHANGING) for note in trial.notes):
            return None
        if is_same:
            return dataclasses.replace(finding, detail=f"after {MODES[is_training]}: {finding.detail}")
        told = f"after {MODES[is_training]}: {finding.detail}"
    if told:
        mode = "EVALUATION" if is_training else "TRAINING"
        trial.notes.append(f"PROVEN FOR {mode} MODE ONLY: {told}")
    return None


def _answer(trial: Trial, arguments: list[object]) -> Answer | None:
    """What the reference makes of arguments, where it takes them."""
    try:
        answer = trial.state.expected(arguments)
    except Refused:
        return None
    return answer if all_finite(answer.tensors) else None


def _same(one: Answer, other: Answer | None) -> bool:
    return other is not None and all(map(same_bytes, one.tensors, other.tensors))
