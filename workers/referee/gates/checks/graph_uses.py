"""Gradients as callers ask for them: not of everything, not by every output, of results that are gone by then.

A training loop freezes layers, leaves outputs and rows out of a loss, gives one tensor twice, changes activations in
place where PyTorch permits it, and calls the same module without gradients. What the reference makes of such a step is
what a kernel has to make of it, unless it raises an exception.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from workers.ipc.tensors import flatten
from workers.referee.comparison.error_scales import same_bytes
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import all_finite, worse
from workers.referee.errors import FaultKind, Refused, RunnerFault
from workers.referee.gates.checks.calls import judge_inputs, judge_outputs
from workers.referee.gates.finding import GateFinding
from workers.referee.inputs.constraints import is_same
from workers.referee.inputs.distributions import EQUAL, OWN
from workers.referee.inputs.relations import equal
from workers.referee.trial import Trial
from workers.runner.protocol import CallForm, Manner
from workers.runner.step import GraphUse

MOST_BYTES = 64 << 20
"""Of a step's arguments, up to which other uses are tried."""
ALL_BYTES, FEW = 16 << 20, 4
"""Up to which all of them are; and how many of them, drawn at random, beyond."""
MOST_ALONE = 4
"""Gradients, and outputs, that are tried alone; others are left out by chance."""
ADDED = GraphUse(added=True)
SHOWN = 200
"""Characters of what a kernel says when it refuses."""


@dataclass(frozen=True)
class OtherStep:
    """A step whose graph is used otherwise."""

    where: str
    """What a finding calls it."""
    use: GraphUse
    arguments: list[Any]
    answer: Answer | None = None
    """What has to come out; None: what the reference makes of such a step."""


def used_otherwise(trial: Trial) -> GateFinding | None:
    """What is wrong with a step whose graph is used otherwise. A kernel may raise an exception there."""
    state = trial.state
    if not state.problem.is_step or state.mutates:
        return None
    arguments = trial.draw(0, OWN)
    size = sum(tensor.nbytes for tensor in flatten(arguments))
    if size > MOST_BYTES:
        return None
    refused = dict[str, str]()
    steps = list(_steps(trial, arguments))
    for step in steps if size <= ALL_BYTES else random.SystemRandom().sample(steps, min(len(steps), FEW)):
        if trial.used_share > trial.budget.correctness_share:
            break
        try:
            finding = _tried(trial, step)
        except Refused:
            continue
        except RunnerFault as fault:
            if fault.kind is not FaultKind.RAISED:
                raise
            refused.setdefault(str(fault)[:SHOWN], step.where)
            continue
        if finding is not None:
            return finding
    trial.notes += [f"PROVEN FOR USUAL STEPS: it refused {where} with {said}" for said, where in refused.items()]
    return None


def _steps(trial: Trial, arguments: list[Any]) -> Iterator[OtherStep]:
    """Uses of a graph, each with what it is called, its arguments, and what has to come out."""
    state, names, plan = trial.state, trial.state.problem.gradient_names, trial.state.problem.step_plan
    usual = state.expected(arguments)
    if plan is None or not all_finite(usual.tensors):
        return
    forward = state.problem.forward_arguments(arguments)
    outputs = len(usual.tensors) - len(names)
    has_own_memory = not state.shares and all(index >= outputs for index, _ in state.aliases)
    may_change = state.overwritable(len(flatten(forward)), outputs if has_own_memory else 0)
    yield OtherStep(
        "a forward without gradients", GraphUse(gradients=()), arguments, _with_gradients(usual, outputs, ())
    )
    zeros = [torch.zeros_like(one) for one in arguments[len(forward) : -1]]
    given = [*forward, *zeros, arguments[-1]]
    yield OtherStep("a step whose cotangents are zeros", GraphUse(), given, _with_gradients(usual, outputs, ()))
    yield OtherStep("a step whose arguments others read later", GraphUse(looked_at=True), arguments, usual)
    added = _added_up(trial, arguments, usual, outputs)
    if added is not None:
        yield OtherStep("two steps by .backward(), which add up in .grad of the same leaves", ADDED, arguments, added)
    for place in _some(len(names)):
        where = f"a step in which {names[place]} alone requires a gradient"
        wanted = _with_gradients(usual, outputs, (place,))
        yield OtherStep(where, GraphUse(gradients=(place,)), arguments, wanted)
    for place in _some(len(plan.outputs)) if len(plan.outputs) > 1 else ():
        where, use = f"a step whose loss has output {plan.outputs[place]} alone", GraphUse(cotangents=(place,))
        yield OtherStep(where, use, arguments)
    for one in may_change[0]:
        where = f"a step of which argument {one} is overwritten between forward and backward"
        yield OtherStep(where, GraphUse(overwritten=(one,)), arguments, usual)
    for one in may_change[1]:
        where = f"a step of which output {one} is overwritten before backward"
        yield OtherStep(where, GraphUse(overwritten_outputs=(one,)), arguments, usual)
    equals = _given_twice(trial, forward)
    tensors = [] if equals is None else [flatten(equals)[index] for index in plan.inputs]
    pairs = [(one, two) for two in range(len(tensors)) for one in range(two) if torch.equal(tensors[one], tensors[two])]
    if equals is not None and pairs:
        yield OtherStep("a step with one tensor given twice", GraphUse(same=pairs[0]), equals)


def _some(count: int) -> Sequence[int]:
    return random.SystemRandom().sample(range(count), min(count, MOST_ALONE))


def _with_gradients(usual: Answer, outputs: int, places: Sequence[int]) -> Answer:
    """What a step hands over of which only gradients in these places are asked for, or none are other than zero."""
    kept = [
        one if index < outputs or index - outputs in places else torch.zeros_like(one)
        for index, one in enumerate(usual.tensors)
    ]
    return dataclasses.replace(usual, tensors=kept)


def _added_up(trial: Trial, arguments: list[Any], usual: Answer, outputs: int) -> Answer | None:
    """What a step hands over whose gradients are added to those of another one like it, where that is what the
    reference makes of it, and a call leaves nothing in the model."""
    tensors = [one if index < outputs else one + one for index, one in enumerate(usual.tensors)]
    try:
        made = trial.state.expected(arguments, ADDED).tensors
    except Refused:
        return None
    is_known = not trial.state.problem.changing and all(map(same_bytes, made, tensors))
    return dataclasses.replace(usual, tensors=tensors) if is_known else None


def _given_twice(trial: Trial, forward: list[Any]) -> list[Any] | None:
    """Arguments of which some are equal, where the reference's gradients are known there."""
    state = trial.state
    changed = equal(forward, shared=False) if state.traits.knows_ties else None
    if changed is None or (state.problem.limits and not is_same(state.problem.limits.kept(forward, changed), changed)):
        return None
    try:
        return state.problem.with_cotangents(changed)
    except Refused:
        return None


def _tried(trial: Trial, step: OtherStep) -> GateFinding | None:
    state, use = trial.state, step.use
    answer = step.answer or state.expected(step.arguments, use)
    if not all_finite(answer.tensors):
        return None
    slot = trial.slot(0, step.arguments)
    slot.write(flatten(step.arguments))
    manner = Manner.GARBAGE & trial.manners  # the last step was given the same: what it left behind would be right
    trial.session.call(slot, form=CallForm(use=use, manner=manner))
    fetched = trial.session.fetch(slot)
    known = [dataclasses.replace(scale, usual=()) for scale in state.scales(0, OWN) or ()]
    finding = judge_outputs(trial, fetched, answer, known, step.where)
    if finding is None:
        return judge_inputs(trial, slot, step.arguments, answer, OWN, step.where) if use.looked_at else None
    own = state.accuracy.scales_on(step.arguments, answer.tensors, EQUAL if use.same else OWN, use=use)
    if own is None or (use.same and state.accuracy.is_ill_conditioned(own, answer.tensors)):
        return None
    scales = [worse(one, other) for one, other in zip(own, known, strict=True)]
    return judge_outputs(trial, fetched, answer, scales, step.where)
