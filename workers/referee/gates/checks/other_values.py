"""Does a kernel read what is the same in every draw, and know the indices that mean something else?

Arguments that never change (a mask that lets everything through, equal segments, `steps=3`) take other values, within
what can be seen of their structure and where the reference takes them. So do labels that the model ignores. A kernel
has to be right there or to refuse them by an exception: then the report says what it is limited to.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from workers.ipc.tensors import flatten, leaves
from workers.referee.comparison.error_scales import same_bytes
from workers.referee.comparison.tolerance import all_finite
from workers.referee.errors import FaultKind, Refused, RunnerFault
from workers.referee.gates.checks.calls import try_values
from workers.referee.gates.checks.recovery import after_an_exception
from workers.referee.gates.finding import GateFinding
from workers.referee.inputs.constraints import is_same
from workers.referee.inputs.distributions import OWN, Distribution, changes, drawn, rebuilt, with_mark
from workers.referee.inputs.unvarying import MOST_OTHERS, Variation, follows, variations
from workers.referee.state import ReferenceState
from workers.referee.trial import Trial

SETTLED = 1e-4
"""Difference of two results, over the largest magnitude, up to which they are one."""
OTHER_SETS = 2
"""Further input sets on which one other value of each such argument is tried."""
VALUES_SLOT, MARKS_SLOT = 5000, 6000
MAY_RAISE = ". A kernel may raise an exception for values that it does not support"
SHOWN = 200
"""Characters of what a kernel says when it refuses."""


def on_other_values(trial: Trial, notes: list[str]) -> GateFinding | None:
    """What is wrong with other values of each leaf that does not vary, and with indices that the model names; `notes`
    gets what became of them."""
    state = trial.state
    announced = state.problem.forward_arguments(trial.draw(0, OWN))
    marks = [one for one in map(with_mark, state.named_indices) if changes(announced, one)]
    if not state.unvarying and not marks:
        return None
    others = state.set_numbers[1:]
    with _caller(trial) as caller:
        finding = _on_unvarying(caller, 0, announced, notes) or _on_marks(caller, announced, marks, notes)
        for number in random.SystemRandom().sample(others, min(OTHER_SETS, len(others))):
            finding = finding or _on_another_set(caller, number, len(leaves(announced)))
    return finding


def _on_another_set(trial: Trial, number: int, count: int) -> GateFinding | None:
    """The same for another open input set, whose sizes may have a way of their own through a kernel."""
    announced = trial.state.problem.forward_arguments(trial.draw(number, OWN))
    return None if len(leaves(announced)) != count else _on_unvarying(trial, number, announced, [])


def _on_unvarying(trial: Trial, number: int, announced: list[Any], notes: list[str]) -> GateFinding | None:
    limits, paths = trial.state.problem.limits, [path for path, _ in leaves(announced)]
    names = [_called(trial.state.problem.argument_names, path) for path in paths]
    varied = set[int]()
    for place in trial.state.unvarying:
        if place in varied or limits.is_fixed(_argument(paths[place])):
            continue
        most = MOST_OTHERS if number == 0 else 1
        tried, refusal = list(itertools.islice(_taken_ones(trial.state, announced, place), most)), None
        for variation in tried:
            varied |= variation.places
            where = f"other values of {names[place]}, which is the same in every draw"
            where = f"input set {number}, {where}" if number else where
            finding, refusal = _tried(trial, variation.arguments, VALUES_SLOT + place, where)
            if finding is not None:
                return finding
            if refusal is not None:
                break
        notes.append(_told(names[place], refusal, announced, place, is_tried=bool(tried)))
    return None


def _on_marks(
    trial: Trial, announced: list[Any], marks: Sequence[Distribution], notes: list[str]
) -> GateFinding | None:
    for index, mark in enumerate(marks):
        marked = drawn(announced, mark)
        if trial.state.problem.limits.excludes(announced, marked):
            continue
        call = _with_cotangents(trial.state, marked, is_plain=False)
        if call is None:
            continue
        finding, refusal = _tried(trial, call, MARKS_SLOT + index, f"{mark.name} values")
        if finding is not None:
            return finding
        notes.append(
            f"passed on {mark.name} values"
            if refusal is None
            else f"limited: {mark.name} values are refused with {refusal[:SHOWN]}"
        )
    return None


def taken(state: ReferenceState, arguments: list[Any], tensors: list[torch.Tensor]) -> list[Any] | None:
    """The arguments with these tensors, and cotangents to fit, where the problem's promises permit them and the
    reference takes them."""
    limits = state.problem.limits
    other = limits.fitted(arguments, list(rebuilt(arguments, tensors)), may_move=not state.chooses)
    return None if other is None else _with_cotangents(state, other, is_plain=False)


def _with_cotangents(state: ReferenceState, arguments: list[Any], *, is_plain: bool) -> list[Any] | None:
    """Arguments of a call, where the reference takes them; `is_plain`: whether plain values are other ones."""
    if not _rehearsed(state, arguments, is_plain=is_plain):
        return None
    try:
        call = state.problem.with_cotangents(arguments)
        outputs = state.problem.run(call).tensors
    except Refused:
        return None
    return call if len(outputs) == len(state.metas(0)) and all_finite(outputs) else None


def _rehearsed(state: ReferenceState, arguments: list[Any], *, is_plain: bool) -> bool:
    """Whether the reference takes what it was not written for, tried on the CPU: an index that is out of range raises
    there; on a GPU it costs the process its device."""
    if not state.place.is_gpu or not (is_plain or any(not one.is_floating_point() for one in flatten(arguments))):
        return True
    return state.problem.takes_on_host(arguments)


@contextlib.contextmanager
def _caller(trial: Trial) -> Iterator[Trial]:
    """Where the calls are made: on a GPU, whose context one bad index destroys, in a process of their own."""
    if not trial.state.place.is_gpu:
        yield trial
        return
    with trial.another() as other:
        other.load()
        yield other


def _taken_ones(state: ReferenceState, announced: Sequence[Any], place: int) -> Iterator[Variation]:
    """Other values that the reference takes, and on which it gives the same twice: a dropout's rate that was zero would
    no longer."""
    for variation in variations(announced, place, random.SystemRandom()):
        arguments = _within_limits(state, announced, variation, place)
        call = None if arguments is None else _with_cotangents(state, arguments, is_plain=True)
        if call is not None and _is_settled(state, call):
            yield dataclasses.replace(variation, arguments=call)


def _within_limits(
    state: ReferenceState, announced: Sequence[Any], variation: Variation, place: int
) -> list[Any] | None:
    """A variation within what the problem promises: as it is, or a single number at an end of its range."""
    limits, other = state.problem.limits, variation.arguments
    if not limits.excludes(announced, other):
        return other
    _, leaf = leaves(list(announced))[place]
    kept = limits.kept(announced, other)
    is_number = not isinstance(leaf, torch.Tensor) or leaf.numel() == 1
    return kept if is_number and len(variation.places) == 1 and not is_same(kept, list(announced)) else None


def _is_settled(state: ReferenceState, arguments: list[Any]) -> bool:
    first, second = (state.problem.run(arguments).tensors for _ in range(2))
    return all(_agree(one, other) for one, other in zip(first, second, strict=True))


def _agree(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two results are the same but for the order of sums, which is another each time on a GPU."""
    if one.shape != other.shape or not one.is_floating_point() or not one.numel():
        return same_bytes(one, other)
    wide, again = one.double(), other.double()
    return bool((wide - again).abs().amax() <= SETTLED * wide.abs().amax())


def _tried(trial: Trial, arguments: list[Any], number: int, where: str) -> tuple[GateFinding | None, str | None]:
    """What is wrong on other values, and how the kernel refuses them if it does."""
    try:
        finding = try_values(trial, arguments, number, where)
    except RunnerFault as fault:
        if fault.kind is FaultKind.RAISED:
            return after_an_exception(trial), str(fault)
        rest = "" if fault.kind is FaultKind.FORGED else MAY_RAISE
        raise RunnerFault(fault.kind, f"{where}: {fault}{rest}") from None
    if finding is not None and finding.gate is None:
        finding = dataclasses.replace(finding, detail=finding.detail + MAY_RAISE)
    return finding, None


def _told(name: str, refusal: str | None, announced: Sequence[Any], place: int, *, is_tried: bool) -> str:
    """What became of a leaf, for the report."""
    if refusal is not None:
        return f"limited to {name} as announced: other values are refused with {refusal[:SHOWN]}"
    if is_tried:
        return f"passed on other values of {name}"
    if follows(announced, place):
        return f"{name} follows from another argument and changes with it"
    return f"{name} did not vary: the reference takes no other value that keeps its structure"


def _argument(path: str) -> int:
    """The number of the argument that a leaf belongs to."""
    return int(path.removeprefix("[").partition("]")[0])


def _called(names: Sequence[str], path: str) -> str:
    """What people call a leaf of the arguments: `scale`, `options['steps']`."""
    number, rest = _argument(path), path.partition("]")[2]
    name = names[number] if number < len(names) else f"argument {number}"
    return f"`{name}{rest}`" if name.isidentifier() else f"{name}{rest}"
