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
from workers.referee.errors import FaultKind, RunnerFault
from workers.referee.gates.checks.calls import answer_of, try_draw
from workers.referee.gates.finding import GateFinding
from workers.referee.inputs.distributions import OWN
from workers.referee.trial import UNCHANGING, Trial
from workers.runner.protocol import CallForm

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
        finding = try_draw(trial, 0, OWN, arguments, observe=False, form=CallForm(names=tuple(names[:count])))
    except RunnerFault as fault:
        if fault.kind is not FaultKind.RAISED:
            raise fault.at(KEYWORDS) from None
        trial.notes.append(f"PROVEN FOR ARGUMENTS BY POSITION: it refused keywords with {str(fault)[:200]}")
        return None
    return finding and finding.at(KEYWORDS)


def in_the_other_mode(trial: Trial) -> GateFinding | None:
    """What is wrong with the output after `eval()`, or `train()` where the model is built in evaluation mode, if the
    reference's is the same in both modes. If it is not, and the kernel is wrong or raises an exception, that is
    remarked on. Random outputs are not judged."""
    problem, arguments = trial.state.problem, trial.draw(0, OWN)
    if trial.missing:
        return None
    seed, remark = secrets.randbits(SEED_BITS), ""
    with problem.moved_statistics(seed, in_other_mode=True) as is_training:
        values = problem.state()
        answer = answer_of(trial, arguments)
        if answer is None or not _same(answer, answer_of(trial, arguments)) or not trial.session.change_state(values):
            return None
        try:
            finding = try_draw(trial, 0, OWN, arguments, observe=False, form=CallForm(in_other_mode=True))
        except RunnerFault as fault:
            if fault.kind is not FaultKind.RAISED:
                raise fault.at(f"after {MODES[is_training]}") from None
            finding, remark = None, f"it refused the other with {str(fault)[:200]}"
    trial.session.change_state(problem.state())
    if finding is not None:
        with problem.moved_statistics(seed, in_other_mode=False):
            is_same = _same(answer, answer_of(trial, arguments))
        if is_same and any(note.startswith(UNCHANGING) for note in trial.notes):
            return None
        if is_same:
            return dataclasses.replace(finding, detail=f"after {MODES[is_training]}: {finding.detail}")
        remark = f"after {MODES[is_training]}: {finding.detail}"
    if remark:
        mode = "EVALUATION" if is_training else "TRAINING"
        trial.notes.append(f"PROVEN FOR {mode} MODE ONLY: {remark}")
    return None


def _same(one: Answer, other: Answer | None) -> bool:
    return other is not None and all(map(same_bytes, one.tensors, other.tensors))
