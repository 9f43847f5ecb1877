"""Two models of the candidate's class in one process, and steps of which none has ended when another begins.

A network has many layers of one class, each with weights of its own: what one keeps for the whole module is another's.
A layer may be called many times before the first backward, and a graph that is retained has a second one.
"""

from __future__ import annotations

import dataclasses
import random
import secrets
from typing import Any

import torch

from workers.ipc.tensors import TensorMeta, flatten
from workers.referee.boundary.isolated_problem import SEED_BITS
from workers.referee.boundary.runner_client import RunnerSession
from workers.referee.boundary.slots import Slot
from workers.referee.comparison.call_outputs import Fetched
from workers.referee.comparison.tolerance import all_finite
from workers.referee.errors import FaultKind, Refused, RunnerFault
from workers.referee.gates.checks.calls import judge_on_values, try_draw
from workers.referee.gates.checks.other_values import taken
from workers.referee.gates.finding import GateFinding
from workers.referee.inputs.distributions import OWN
from workers.referee.inputs.resize import cut_along
from workers.referee.trial import LOAD_LIMIT_S, Trial

MOST_BYTES = 256 << 20
"""Of parameters and buffers, and of a call's inputs, up to which there are two of everything."""
SLOT = 700_000
PLACES = ("the first of several steps", "the second of several steps", "a second backward of the first of them")
BEFORE_ALL = "whose forward passes come before all backward passes"
MOST_GRAPHS, GRAPH_BYTES = 20, 48 << 20
"""Graphs that are open at once, and bytes of the inputs of all of them."""
GRAPHS_S = 0.3
"""Seconds that so many quick calls may take; twenty of a small shape that take as long each are not too slow yet."""


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
        slot.write(flatten(arguments))
        try:
            if not trial.session.add_instance(state, seed=seed, limit_s=LOAD_LIMIT_S):
                return None
            trial.session.call(slot, "other")
        except RunnerFault as fault:
            if fault.kind is not FaultKind.RAISED:
                raise
            trial.notes.append(f"PROVEN FOR ONE MODEL IN A PROCESS: it refused a second one with {str(fault)[:200]}")
            trial.session.drop_instance()
            return None
        fetched = trial.session.fetch(slot)
        scales = trial.state.scales(0, OWN) or ()
        where = "of two models in one process, with weights of their own, the second"
        finding = judge_on_values(trial, fetched, arguments, answer, OWN, scales, where)
    if finding is None:
        finding = try_draw(trial, 0, OWN, trial.draw(0, OWN), observe=False)
    trial.session.drop_instance()
    return finding


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
    gradients, of which hardly anybody holds two."""
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
