"""Does a candidate read its parameters? Before any training a norm's weight is one and its bias zero: who leaves them
out is right by chance.

A second process is given a state in which whatever holds one value only holds others, and is called once. What is not
trained (masks, tables, positions: any buffer but a batch norm's statistics) stays as it is.
"""

from __future__ import annotations

import dataclasses
import secrets
from typing import Any

from workers.referee.comparison import all_finite
from workers.referee.draws import OWN
from workers.referee.errors import Refused, RunnerFault
from workers.referee.gates.correctness import try_draw
from workers.referee.gates.load import LoadGate
from workers.referee.trial import GateFinding, Trial

WHERE = "with other parameters than those before any training (they are copied once the model is built)"


def with_other_parameters(trial: Trial) -> GateFinding | None:
    """What is wrong with the output for parameters that are no longer ones and zeros; None where there are none such,
    where the reference cannot take others, or where the candidate has no parameters to match."""
    state = trial.state
    with state.problem.other_parameters() as has_any:
        if not has_any:
            return None
        arguments = trial.draw(0, OWN)
        if not _is_taken(trial, arguments):
            return None
        other = Trial(request=trial.request, state=state, deadline=trial.deadline)
        try:
            finding = _tried(other, arguments, trial.session.call_limit_s)
        except RunnerFault as fault:
            raise RunnerFault(fault.kind, f"{WHERE}: {fault}") from None
        finally:
            other.close_slots()
            other.end_runner()
    return None if finding is None else dataclasses.replace(finding, detail=f"{WHERE}: {finding.detail}")


def _is_taken(trial: Trial, arguments: list[Any]) -> bool:
    """Whether the reference gives something finite for the parameters that it has now."""
    try:
        return all_finite(trial.state.expected(arguments).tensors)
    except Refused:
        return False


def _tried(trial: Trial, arguments: list[Any], limit_s: float) -> GateFinding | None:
    """What is wrong with one call in a process of its own; None too where its parameters match nobody's."""
    trial.runner = trial.state.link.spawn("candidate", deadline=trial.deadline)
    trial.session.call_limit_s = limit_s
    if not LoadGate().load(trial, seed=secrets.randbits(31), copy_state=True):
        return None
    return try_draw(trial, 0, OWN, arguments, observe=False)
