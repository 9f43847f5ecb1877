"""Two models of the candidate's class in one process, and steps of which none has ended when another begins.

A network has many layers of one class, each with weights of its own: what one keeps for the whole module is another's.
A layer may be called many times before the first backward, and a graph that is retained has a second one.
"""

from __future__ import annotations

import dataclasses
import functools
import random
import secrets
from collections.abc import Sequence
from typing import Any

import torch

from workers.ipc.tensors import TensorMeta, flatten
from workers.referee.boundary.isolated_problem import SEED_BITS
from workers.referee.boundary.runner_client import RunnerSession
from workers.referee.boundary.slots import Slot
from workers.referee.comparison.call_outputs import Fetched
from workers.referee.comparison.output_structure import Answer
from workers.referee.errors import FaultKind, RunnerFault
from workers.referee.gates.checks.calls import answer_of, judge_on_values, try_draw
from workers.referee.gates.checks.manners import call_as_a_caller, said_of
from workers.referee.gates.checks.other_values import taken
from workers.referee.gates.finding import GateFinding
from workers.referee.inputs.distributions import OWN
from workers.referee.inputs.resize import cut_along
from workers.referee.trial import LOAD_LIMIT_S, UNCHANGING, Trial
from workers.runner.protocol import ModelOrigin

MOST_BYTES = 256 << 20
"""Of parameters and buffers, and of a call's inputs, up to which there are two of everything."""
SLOT, SETTINGS_SLOT = 700_000, 700_010
CROWD = 20
"""Models besides the first two: a network has many layers."""
AGAIN = 3
"""Models that are built once the others are gone."""
OTHER_WEIGHTS = "of two models in one process, with weights of their own, the second"
BUILT = (ModelOrigin.BUILT, ModelOrigin.REUSED)
"""What has to be right. Who keeps the memory that parameters had at first is wrong where another's is used again, and
where others stand in their place too, which is a remark: then the former is not tried."""
WHERE = {
    ModelOrigin.BUILT: "of models in one process, with weights of their own, one that was built when others had gone",
    ModelOrigin.REUSED: "of models in one process, with their own weights, one that was built where another had lain",
    ModelOrigin.ASSIGNED: "with other tensors in its parameters' place, as load_state_dict(…, assign=True) puts them",
    ModelOrigin.COPIED: "a deep copy of a model that is gone",
}
REMARK = {
    ModelOrigin.BUILT: "ONE MODEL IN A PROCESS",
    ModelOrigin.REUSED: "ONE MODEL IN A PROCESS",
    ModelOrigin.ASSIGNED: "PARAMETERS THAT ARE CHANGED IN PLACE",
    ModelOrigin.COPIED: "MODELS THAT ARE NOT COPIED",
}
"""What a kernel is proven for where another use is refused or wrong."""
PLACES = ("the first of several steps", "the second of several steps", "a second backward of the first of them")
BEFORE_ALL = "whose forward passes come before all backward passes"
MOST_GRAPHS, GRAPH_BYTES = 20, 48 << 20
"""Graphs that are open at once, and bytes of the inputs of all of them."""
GRAPHS_S = 0.3
"""Seconds that so many quick calls may take; twenty of a small shape that take as long each are not too slow yet."""


def two_instances(trial: Trial) -> GateFinding | None:
    """What is wrong with a second model of the same class, which has other weights, with the first once the second
    and many more have been called, and with models that are built once those are gone. A kernel may raise an exception
    there. Remarked on is what is wrong with a deep copy that outlives its model, which one without parameters has too,
    and with a model in which others stand in the place of its parameters."""
    problem = trial.state.problem
    usual = problem.state()
    if trial.missing or sum(tensor.nbytes for _, tensor in usual) > MOST_BYTES:
        return None
    arguments, finding = trial.draw(0, OWN), None
    if usual:
        trial.session.call(trial.slot(0, arguments))  # what it keeps of its weights is there before others are built
        finding = _with_a_second(trial, arguments) or try_draw(trial, 0, OWN, trial.draw(0, OWN), observe=False)
        trial.session.drop_instance()
    if finding is not None or trial.used_share > trial.budget.correctness_share:
        return finding
    return _once_they_are_gone(trial, arguments, usual)


def _with_a_second(trial: Trial, arguments: list[Any]) -> GateFinding | None:
    """What is wrong with a second model in the process. Many more like it are called once, if they take little time."""
    problem = trial.state.problem
    with problem.another_model(secrets.randbits(SEED_BITS)) as has_any:
        state = problem.state() if has_any else []
        answer = answer_of(trial, arguments) if has_any else None
        if answer is None:
            return None
        try:
            finding = _other(trial, arguments, answer, state, OTHER_WEIGHTS)
            if finding is None and _is_small(state):
                seed = secrets.randbits(SEED_BITS)
                trial.session.crowd_in(trial.slot(0, arguments), CROWD, seed=seed, limit_s=LOAD_LIMIT_S)
        except RunnerFault as fault:
            _remark(trial, fault, "ONE MODEL IN A PROCESS: it refused another one")
            return None
    return finding


def _once_they_are_gone(
    trial: Trial, arguments: list[Any], usual: Sequence[tuple[str, torch.Tensor]]
) -> GateFinding | None:
    """What is wrong with models that are built, with other weights again, where others lay; with a deep copy; and where
    another tensor stands in the place of a parameter."""
    problem = trial.state.problem
    with problem.another_model(secrets.randbits(SEED_BITS)) as has_any:
        state = problem.state() if has_any else []
        answer = answer_of(trial, arguments) if has_any or not usual else None
        if answer is None:
            return None
        finding = None
        has_own_place = False
        for origin in _origins(trial, usual):
            if origin is ModelOrigin.REUSED and has_own_place:
                continue
            try:
                _used_before(trial, arguments, usual, origin)
                finding = _other(trial, arguments, answer, state, WHERE[origin], origin)
            except RunnerFault as fault:
                has_own_place = has_own_place or origin is ModelOrigin.ASSIGNED
                if fault.kind is FaultKind.CRASHED and origin not in BUILT:
                    trial.notes.append(f"PROVEN FOR {REMARK[origin]}: {WHERE[origin]}: {str(fault)[:200]}")
                    trial.held = None
                    trial.load_again()
                    return None
                _remark(trial, fault, f"{REMARK[origin]}: it refused others")
                if origin is ModelOrigin.BUILT:
                    return None
                continue
            if finding is not None and origin in BUILT:
                break
            if finding is not None:
                has_own_place = has_own_place or origin is ModelOrigin.ASSIGNED
                trial.notes.append(f"PROVEN FOR {REMARK[origin]}: {finding.detail}")
                finding = None
    trial.session.drop_instance()
    return finding


def _origins(trial: Trial, usual: Sequence[tuple[str, torch.Tensor]]) -> list[ModelOrigin]:
    """How models come about that are tried once others are gone, in order."""
    if not usual:
        return [ModelOrigin.BUILT, ModelOrigin.COPIED]
    built = [ModelOrigin.BUILT] * (AGAIN if _is_small(usual) else 1)
    if any(note.startswith(UNCHANGING) for note in trial.notes):
        return built
    return [*built, ModelOrigin.ASSIGNED, ModelOrigin.REUSED, ModelOrigin.COPIED]


def _is_small(state: Sequence[tuple[str, torch.Tensor]]) -> bool:
    """Whether there may be many of these parameters and buffers."""
    return sum(tensor.nbytes for _, tensor in state) < MOST_BYTES // CROWD


def _used_before(
    trial: Trial, arguments: list[Any], usual: Sequence[tuple[str, torch.Tensor]], origin: ModelOrigin
) -> None:
    """Have a kernel see other weights where a model's are to lie, and of the version that they are to have."""
    session = trial.session
    session.drop_instance()
    for each in [ModelOrigin.BUILT, origin] if origin is ModelOrigin.ASSIGNED else [ModelOrigin.BUILT]:
        session.add_instance(usual, seed=0, limit_s=LOAD_LIMIT_S, origin=each)
        session.call(trial.slot(0, arguments), "other")
    if origin is ModelOrigin.BUILT:
        session.drop_instance()


def with_settings_beside(trial: Trial, number: int) -> GateFinding | None:
    """What is wrong with a model that is built with an entry of `INIT_SETS` next to the first, and with the first once
    that one has been called. A kernel may raise an exception there."""
    problem = trial.state.problem
    with problem.other_settings(number):
        arguments, state = trial.draw(0, OWN), problem.state()
        if trial.missing or sum(tensor.nbytes for _, tensor in state) > MOST_BYTES:
            return None
        answer = answer_of(trial, arguments)
        if answer is None:
            return None
        where = f"of two models in one process, the second with the settings of INIT_SETS[{number}]"
        metas = [TensorMeta.of(tensor) for tensor in answer.tensors]
        slot = trial.session.open_slot(SETTINGS_SLOT, arguments, metas)
        try:
            finding = _other(trial, arguments, answer, state, where, init=problem.init_inputs, slot=slot)
        except RunnerFault as fault:
            _remark(trial, fault, "ONE SETTING IN A PROCESS: it refused another one")
            return None
        finally:
            slot.close()
        trial.session.forget([slot])
    if finding is None:
        finding = try_draw(trial, 0, OWN, trial.draw(0, OWN), observe=False)
        if finding is not None:
            detail = (
                f"once a model with the settings of INIT_SETS[{number}] was called in its process: {finding.detail}"
            )
            finding = dataclasses.replace(finding, detail=detail)
    trial.session.drop_instance()
    return finding


def _other(
    trial: Trial,
    arguments: list[Any],
    answer: Answer,
    state: Sequence[tuple[str, torch.Tensor]],
    where: str,
    origin: ModelOrigin = ModelOrigin.BUILT,
    *,
    init: Any = None,
    slot: Slot | None = None,
) -> GateFinding | None:
    """What is wrong with another model's outputs."""
    session = trial.session
    known, slot = slot is None, slot or trial.slot(0, arguments)
    seed = secrets.randbits(SEED_BITS)
    if not session.add_instance(state, seed=seed, limit_s=LOAD_LIMIT_S, origin=origin, init=init):
        return None
    manner = call_as_a_caller(trial, slot, flatten(arguments), functools.partial(session.call, slot, "other"))
    scales = trial.state.scales(0, OWN) or ()
    if not known:  # another setting's outputs may be of another size
        scales = tuple(dataclasses.replace(scale, usual=()) for scale in trial.state.known_scales(OWN))
    return said_of(judge_on_values(trial, session.fetch(slot), arguments, answer, OWN, scales, where), manner)


def _remark(trial: Trial, fault: RunnerFault, proven: str) -> None:
    """Note that a kernel raised an exception, and let go of all models but the first. Raises what else went wrong."""
    if fault.kind is not FaultKind.RAISED:
        raise fault
    trial.notes.append(f"PROVEN FOR {proven} with {str(fault)[:200]}")
    trial.session.drop_instance()


def interleaved_steps(trial: Trial) -> GateFinding | None:
    """What is wrong with gradients where other forwards come between a forward and its backward, or where a graph has a
    second backward, of cotangents that are others and zero in some rows. What all return is held to the end. A kernel
    may raise an exception there. Where inputs are large, many graphs are open of a small shape only."""
    if not trial.state.problem.is_step:
        return None
    pair = [trial.draw(0, OWN) for _ in range(2)]
    size = sum(tensor.nbytes for tensor in flatten(pair))
    if size > MOST_BYTES:
        return None
    most = MOST_GRAPHS - 2
    call_s = min((ended - began for began, ended in trial.session.calls), default=0.0)
    more = min(most, GRAPH_BYTES // max(1, size), int(GRAPHS_S / max(call_s, 1e-6)))
    finding = _judge_interleaved(trial, pair, more, trial.notes)
    has_time = call_s < GRAPHS_S and trial.used_share <= trial.budget.correctness_share
    small = [_cut(trial, arguments) for arguments in pair] if finding is None and more < most and has_time else []
    sizes = {trial.shapes_of(arguments) for arguments in small if arguments is not None}
    if len(sizes) == 1 and all(small):
        return _judge_interleaved(trial, [one for one in small if one is not None], most, [])
    return finding


def _cut(trial: Trial, arguments: list[Any]) -> list[Any] | None:
    """A call of fewer rows, where the reference takes it."""
    state, forward = trial.state, trial.state.problem.forward_arguments(arguments)
    steps, rows = state.problem.limits.steps(forward), random.Random(0)  # noqa: S311 - the same for both
    cut = cut_along(flatten(forward), last=False, generator=rows, steps=steps)
    return None if cut is None else taken(state, forward, cut)


def _judge_interleaved(
    trial: Trial, pair: list[list[Any]], more: int, notes: list[str], *, is_repeated: bool = True
) -> GateFinding | None:
    """What is wrong with two steps and, where it `is_repeated`, a second backward of the first; `notes` gets what is
    refused. Where only that one changes what the first returned, it is a remark: a graph may have one memory for its
    gradients, of which few callers hold two."""
    state, session = trial.state, trial.session
    count = len(state.problem.forward_arguments(pair[0]))
    again = [*pair[0][:count], *map(_without_rows, pair[1][count:-1]), pair[1][-1]]
    given = [*pair, again] if is_repeated else pair
    answers = [state.expected(arguments) for arguments in given]
    slots = list[Slot]()
    try:
        for index, (arguments, answer) in enumerate(zip(given, answers, strict=True)):
            metas = [TensorMeta.of(tensor) for tensor in answer.tensors]
            slots.append(session.open_slot(SLOT + index, arguments, metas))
            slots[-1].write(flatten(arguments))
        found = _interleaved(session, slots, more, notes)
        session.forget(slots)
    finally:
        for slot in slots:
            slot.close()
    scales = [dataclasses.replace(scale, usual=()) for scale in state.scales(0, OWN) or ()]
    findings = [
        judge_on_values(trial, fetched, arguments, answer, OWN, scales, f"{place}, {BEFORE_ALL}")
        for fetched, arguments, answer, place in zip(found, given, answers, PLACES, strict=False)
    ]
    first = next((finding for finding in findings if finding is not None), None)
    if first is None or len(findings) < len(PLACES) or findings != [first, None, None]:
        return first
    alone = _judge_interleaved(trial, pair, more, notes, is_repeated=False)
    if alone is None:
        notes.append("PROVEN FOR GRADIENTS NOT HELD: a graph's second backward changes what its first returned")
    return alone


def _interleaved(session: RunnerSession, slots: list[Slot], more: int, notes: list[str]) -> list[Fetched]:
    """What the steps hand over, without the second backward where a kernel refuses that; nothing where it refuses
    others too."""
    for several in (len(slots), 2):
        try:
            return session.interleave_steps(slots[:several], more=more)
        except RunnerFault as fault:
            if fault.kind is not FaultKind.RAISED:
                raise
            note = f"PROVEN FOR ONE BACKWARD AFTER EACH FORWARD: it refused others with {str(fault)[:200]}"
            notes += [] if note in notes else [note]
    return []


def _without_rows(cotangent: torch.Tensor) -> torch.Tensor:
    """A cotangent that is zero in about half of its rows, as where a loss leaves them out."""
    if cotangent.dim() < 2:
        return cotangent
    kept = torch.rand(cotangent.shape[:-1], device=cotangent.device) < 0.5
    return cotangent * kept.unsqueeze(-1).to(cotangent.dtype)
