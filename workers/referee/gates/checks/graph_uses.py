"""Gradients as callers ask for them: not of everything, not by every output, of results that are gone by then.

A training loop freezes layers, leaves outputs and rows out of a loss, gives one tensor twice, changes activations in
place where PyTorch permits it, and calls the same module without gradients. What the reference makes of such a step is
what a kernel has to make of it, unless it raises an exception.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from workers.ipc.tensors import flatten
from workers.referee.comparison.tolerance import ErrorScale, all_finite, worse
from workers.referee.errors import FaultKind, Refused, RunnerFault
from workers.referee.gates.checks.calls import judge_outputs
from workers.referee.gates.finding import GateFinding
from workers.referee.inputs.constraints import is_same
from workers.referee.inputs.distributions import EQUAL, OWN, rebuilt
from workers.referee.inputs.relations import equal
from workers.referee.trial import Trial
from workers.runner.step import GraphUse

MOST_BYTES = 64 << 20
"""Of a step's arguments, up to which other uses are tried."""
MOST_ALONE = 4
"""Gradients, and outputs, that are tried alone; others are left out by chance."""
SHOWN = 200
"""Characters of what a kernel says when it refuses."""
Step = tuple[str, GraphUse, list[Any]]


def used_otherwise(trial: Trial) -> GateFinding | None:
    """What is wrong with a step whose graph is used otherwise. A kernel may raise an exception there."""
    state = trial.state
    if not state.problem.is_step or state.mutates or state.aliases or state.shares:
        return None
    arguments = trial.draw(0, OWN)
    if sum(tensor.nbytes for tensor in flatten(arguments)) > MOST_BYTES:
        return None
    refused = dict[str, str]()
    for where, use, given in _steps(trial, arguments):
        try:
            finding = _tried(trial, where, use, given)
        except RunnerFault as fault:
            if fault.kind is not FaultKind.RAISED:
                raise
            refused.setdefault(str(fault)[:SHOWN], where)
            continue
        if finding is not None:
            return finding
    trial.notes += [f"PROVEN FOR USUAL STEPS: it refused {where} with {said}" for said, where in refused.items()]
    return None


def _steps(trial: Trial, arguments: list[Any]) -> Iterator[Step]:
    """Uses of a graph, each with what it is called and its arguments."""
    state, names, plan = trial.state, trial.state.problem.gradient_names, trial.state.problem.step_plan
    assert plan is not None
    yield "a forward without gradients", GraphUse(gradients=()), arguments
    yield "a step on results of other operations", GraphUse(), arguments
    if len(names) > 1:
        for place in _some(len(names)):
            yield f"a step in which {names[place]} alone requires a gradient", GraphUse(gradients=(place,)), arguments
    if len(plan.outputs) > 1:
        for place in _some(len(plan.outputs)):
            where = f"a step whose loss has output {plan.outputs[place]} alone"
            yield where, GraphUse(cotangents=(place,)), arguments
    forward = state.problem.forward_arguments(arguments)
    count = len(flatten(forward))
    zeros = [torch.zeros_like(one) for one in arguments[len(forward) : -1]]
    yield "a step whose cotangents are zeros", GraphUse(), [*forward, *zeros, arguments[-1]]
    inputs, outputs = state.overwritable(count, len(state.metas(0)) - len(names))
    for one in inputs:
        where = f"a step of which argument {one} is overwritten between forward and backward"
        yield where, GraphUse(overwritten=(one,)), arguments
    for one in outputs:
        where = f"a step of which output {one} is overwritten before backward"
        yield where, GraphUse(overwritten_outputs=(one,)), arguments
    yield from _given_twice(trial, forward)


def _some(count: int) -> Sequence[int]:
    return random.SystemRandom().sample(range(count), min(count, MOST_ALONE))


def _given_twice(trial: Trial, forward: list[Any]) -> Iterator[Step]:
    """A step in which two inputs are one tensor, where the reference's gradient of it is known."""
    state, plan = trial.state, trial.state.problem.step_plan
    changed = equal(forward, shared=False) if state.knows_ties else None
    if changed is None or plan is None:
        return
    if state.problem.limits and not is_same(state.problem.limits.kept(forward, changed), changed):
        return
    tensors = flatten(changed)
    wanted = [tensors[index] for index in plan.inputs]
    pairs = [(one, two) for two in range(len(wanted)) for one in range(two) if torch.equal(wanted[one], wanted[two])]
    if pairs:
        given = state.problem.with_cotangents(list(rebuilt(forward, tensors)))
        yield "a step with one tensor given twice", GraphUse(same=pairs[0]), given


def _tried(trial: Trial, where: str, use: GraphUse, given: list[Any]) -> GateFinding | None:
    state, kind = trial.state, EQUAL if use.same else OWN
    try:
        answer = state.expected(given, use)
    except Refused:
        return None
    if not all_finite(answer.tensors):
        return None
    slot = trial.slot(0, given)
    slot.write(flatten(given))
    trial.session.call(slot, use=use)
    fetched = trial.session.fetch(slot)
    known = [dataclasses.replace(scale, usual=()) for scale in state.scales(0, OWN) or ()]
    finding = judge_outputs(trial, fetched, answer, known, where)
    if finding is None:
        return None
    own = state.scales_on(given, answer.tensors, kind, use=use)
    if own is None or state.is_ill_conditioned(own, answer.tensors):
        return None
    scales: list[ErrorScale] = [worse(one, other) for one, other in zip(own, known, strict=True)]
    return judge_outputs(trial, fetched, answer, scales, where)
