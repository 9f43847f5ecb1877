"""Does a candidate read its parameters, and what it is built with?

Before any training a norm's weight is one and its bias zero: who leaves them out is right by chance. A second process
is given a state in which whatever holds one value only holds others, and is called once. What is not trained (masks,
tables, positions: any buffer but a batch norm's statistics) stays as it is. Entries of `INIT_SETS` have processes too.
"""

from __future__ import annotations

import dataclasses
import secrets
from typing import Any

from services.domain.gates import GateStatus
from workers.referee.comparison.tolerance import all_finite
from workers.referee.errors import Refused, RunnerFault
from workers.referee.gates.checks.calls import try_draw, try_values
from workers.referee.gates.finding import GateFinding, suspicious
from workers.referee.inputs.distributions import OWN
from workers.referee.trial import Trial

WHERE = "with other parameters than those before any training (they are copied once the model is built)"
TRAINED = "once its parameters have changed in place, as a step of training changes them"
UNKNOWN = (
    "its parameters do not match the reference's, some of which hold a single value (ones, zeros): whether it reads "
    "them is not known, since no others can be put in their place. Register the reference's, by name and shape"
)

SETTINGS_SLOT = 2000


def with_other_parameters(trial: Trial) -> GateFinding | None:
    """What is wrong with the output for parameters that are no longer ones and zeros; None where there are none such,
    or where the reference cannot take others. A hint where the candidate's parameters match nobody's."""
    state = trial.state
    with state.problem.other_parameters() as has_any:
        if not has_any:
            return None
        arguments = trial.draw(0, OWN)
        if not _is_taken(trial, arguments):
            return None
        try:
            with trial.another() as other:
                finding = _tried(other, arguments)
        except RunnerFault as fault:
            raise RunnerFault(fault.kind, f"{WHERE}: {fault}") from None
    if finding is None or finding.status is GateStatus.SUSPICIOUS:
        return finding
    return dataclasses.replace(finding, detail=f"{WHERE}: {finding.detail}")


def after_training(trial: Trial) -> GateFinding | None:
    """What is wrong with the output once the parameters have changed in the process that has been called so often:
    what was made of them before is of no use then. None where no gradients are judged."""
    problem, finding = trial.state.problem, None
    with problem.moved_parameters() as has_any:
        if not has_any:
            return None
        arguments = trial.draw(0, OWN)
        if not _is_taken(trial, arguments) or not trial.session.change_state(problem.state()):
            return None
        finding = try_draw(trial, 0, OWN, arguments, observe=False)
    trial.session.change_state(problem.state())
    return None if finding is None else dataclasses.replace(finding, detail=f"{TRAINED}: {finding.detail}")


def with_other_settings(trial: Trial) -> GateFinding | None:
    """What is wrong with the output of a model that is built with an entry of `INIT_SETS`; None where nothing is, a
    hint where its parameters match nobody's."""
    state, doubt = trial.state, None
    for number in range(state.problem.init_sets):
        where = f"built with INIT_SETS[{number}]"
        try:
            with state.problem.other_settings(number), trial.another() as other:
                if not other.load():
                    doubt = suspicious(
                        f"{where}: its parameters do not match the reference's: {', '.join(other.missing)}"
                    )
                finding = try_values(other, other.draw(0, OWN), SETTINGS_SLOT, where)
        except RunnerFault as fault:
            raise RunnerFault(fault.kind, f"{where}: {fault}") from None
        if finding is not None:
            return finding
    return doubt


def _is_taken(trial: Trial, arguments: list[Any]) -> bool:
    """Whether the reference gives something finite for the parameters that it has now."""
    try:
        return all_finite(trial.state.expected(arguments).tensors)
    except Refused:
        return False


def _tried(trial: Trial, arguments: list[Any]) -> GateFinding | None:
    """What is wrong with one call in a process of its own; a hint where its parameters match nobody's."""
    trial.start()
    if not trial.build_model(seed=secrets.randbits(31), copy_state=True):
        return suspicious(UNKNOWN)
    return try_draw(trial, 0, OWN, arguments, observe=False)
