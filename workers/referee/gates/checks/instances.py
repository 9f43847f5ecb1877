"""Two models of the candidate's class in one process, and two steps of which neither has ended when the other begins.

A network has many layers of one class, each with weights of its own: what one keeps for the whole module is another's.
A layer may be called twice before the first backward, and a graph that is retained has a second one.
"""

from __future__ import annotations

import secrets

from workers.ipc.tensors import flatten
from workers.referee.boundary.isolated_problem import SEED_BITS
from workers.referee.boundary.slots import Slot
from workers.referee.comparison.tolerance import all_finite
from workers.referee.errors import FaultKind, Refused, RunnerFault
from workers.referee.gates.checks.calls import judge_on_values, judge_outputs, try_draw
from workers.referee.gates.checks.manners import call_as_a_caller, said_of
from workers.referee.gates.finding import GateFinding
from workers.referee.inputs.distributions import OWN
from workers.referee.trial import LOAD_LIMIT_S, Trial

MOST_BYTES = 256 << 20
"""Of parameters and buffers, and of a call's inputs, up to which there are two of everything."""
SLOT = 700_000


def two_instances(trial: Trial) -> GateFinding | None:
    """What is wrong with a second model of the same class, which has other weights, and with the first once the second
    has been called. A kernel may raise an exception there."""
    problem = trial.state.problem
    with problem.moved_parameters(secrets.randbits(SEED_BITS)) as has_any:
        if not has_any or trial.missing:
            return None
        state, arguments = problem.state(), trial.draw(0, OWN)
        if sum(tensor.nbytes for _, tensor in state) > MOST_BYTES:
            return None
        try:
            answer = trial.state.expected(arguments)
        except Refused:
            return None
        if not all_finite(answer.tensors):
            return None
        seed, slot = secrets.randbits(SEED_BITS), trial.slot(0, arguments)
        try:
            if not trial.session.add_instance(state, seed=seed, limit_s=LOAD_LIMIT_S):
                return None
            manner = call_as_a_caller(
                trial, slot, flatten(arguments), lambda manner: trial.session.call(slot, "other", manner=manner)
            )
        except RunnerFault as fault:
            if fault.kind is not FaultKind.RAISED:
                raise
            trial.notes.append(f"PROVEN FOR ONE MODEL IN A PROCESS: it refused a second one with {str(fault)[:200]}")
            trial.session.drop_instance()
            return None
        fetched = trial.session.fetch(slot)
        scales = trial.state.scales(0, OWN) or ()
        where = "of two models in one process, with weights of their own, the second"
        finding = said_of(judge_on_values(trial, fetched, arguments, answer, OWN, scales, where), manner)
    if finding is None:
        finding = try_draw(trial, 0, OWN, trial.draw(0, OWN), observe=False)
    trial.session.drop_instance()
    return finding


def interleaved_steps(trial: Trial) -> GateFinding | None:
    """What is wrong with gradients where a second forward comes between a forward and its backward, or where a graph
    has a second backward, of other cotangents. A kernel may raise an exception there."""
    if not trial.state.problem.is_step:
        return None
    pair = [trial.draw(0, OWN) for _ in range(2)]
    count = len(trial.state.problem.forward_arguments(pair[0]))
    again = [*pair[0][:count], *pair[1][count:]]
    if sum(tensor.nbytes for tensor in flatten(pair)) > MOST_BYTES:
        return None
    like, session = trial.slot(0, pair[0]), trial.session
    slots = list[Slot]()
    try:
        for index in range(3):
            slots.append(session.open_sibling(like, SLOT + index, own_outputs=True))
        given = [pair[0], pair[1], again]
        for slot, arguments in zip(slots, given, strict=True):
            slot.write(flatten(arguments))
        try:
            found = session.interleave_steps(slots)
        except RunnerFault as fault:
            if fault.kind is not FaultKind.RAISED:
                raise
            trial.notes.append(f"PROVEN FOR ONE BACKWARD AFTER EACH FORWARD: it refused others with {str(fault)[:200]}")
            session.forget(slots)
            return None
        session.forget(slots)
    finally:
        for slot in slots:
            slot.close()
    scales = trial.state.scales(0, OWN) or ()
    places = ("the first of two steps", "the second of two steps", "a second backward of the first of two steps")
    for fetched, arguments, place in zip(found, given, places, strict=True):
        where = f"{place} whose forward passes come before both backward passes"
        finding = judge_outputs(trial, fetched, trial.state.expected(arguments), scales, where)
        if finding is not None:
            return finding
    return None
