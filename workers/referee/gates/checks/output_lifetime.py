"""Is the memory of outputs the caller's own, as long as the caller holds it?

Outputs of some calls are held from early on, and read again at the end. That detects a kernel that uses a few outputs
in turn; a thousand of them would outlast an evaluation. So a model that holds memory it has returned is called until
its outputs would have come round, or for a while. To hold some is no offence: whether they are written to while others
hold them is what counts.

An output in memory of its own is the caller's whatever else a call changes. One that lies in an argument or in the
model, as the reference's does, is not.

The same on a GPU, but for outputs of more than `MOST_HELD_BYTES`.
"""

from __future__ import annotations

import dataclasses
import time

from workers.ipc.tensors import flatten
from workers.referee.comparison.call_outputs import Fetched
from workers.referee.comparison.output_structure import Answer, ContractError, places
from workers.referee.gates.checks.calls import has_room, judge_on_values, try_draw
from workers.referee.gates.finding import GateFinding
from workers.referee.inputs.distributions import OWN
from workers.referee.state import ReferenceState
from workers.referee.trial import Trial

MOST_CALLS = 4096
CALLED_S = 10.0
SHARE = 0.3
"""Of the time that is left to the evaluation."""


def called_on(trial: Trial) -> GateFinding | None:
    """Hold an output and call on with other values, where the model holds what it has returned; what is wrong with that
    output when it is returned. `changed_later` has the rest to say."""
    state, session = trial.state, trial.session
    if any(other is None for _, other in state.shares):
        return None
    arguments, others = trial.draw(0, OWN), trial.draw(0, OWN)
    slot = trial.slot(0, arguments)
    if not has_room(trial, slot):
        return None
    slot.write(flatten(arguments))
    if not session.keeps_outputs(slot):
        return None
    finding = try_draw(trial, 0, OWN, arguments, observe=False, hold=True)
    if finding is not None:
        return finding
    slot.write(flatten(others))
    now = time.monotonic()
    until = now + min(CALLED_S, SHARE * trial.time_limit.left_s)
    with session.awake():
        for _ in range(MOST_CALLS):
            if state.mutates:
                slot.write(flatten(others))
            session.call(slot)
            if time.monotonic() > until:
                break
    return None


def changed_later(trial: Trial) -> GateFinding | None:
    """An early call's outputs, which were held all the time, are not what they were: later calls wrote into them."""
    held = trial.held
    if held is None or held.session is not trial.session:
        return None
    fetched = _with_the_reference_s(trial.state, trial.session.held(held.slot), held.answer)
    where = "what an early call returned, read after later ones"
    return judge_on_values(trial, fetched, held.arguments, held.answer, held.distribution, held.scales, where)


def _with_the_reference_s(state: ReferenceState, fetched: Fetched, answer: Answer) -> Fetched:
    """What was held, with the reference's values in those outputs that are not the caller's alone."""
    others = {index for index, _ in state.aliases} | {index for index, other in state.shares if other is None}
    outputs = list(fetched.outputs)
    try:
        order = places(fetched.structure, answer.shape)
        for index in others:
            outputs[order[index]] = dataclasses.replace(outputs[order[index]], value=answer.tensors[index])
    except (ContractError, IndexError):  # the judgement says so
        return fetched
    return dataclasses.replace(fetched, outputs=tuple(outputs))
