"""Does a kernel read what is the same in every draw, and know the indices that mean something else?

Arguments that never change (a mask that lets everything through, equal segments, `steps=3`) take other values, within
what can be seen of their structure and where the reference takes them, and then some that lack a structure which
callers need not keep. So do labels that the model ignores, floats of a few kinds, and tensors that were drawn apart:
they come close, are equal, or are one tensor. A kernel has to be right there or to refuse them by an exception: then
the report says what it is limited to.
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
from workers.referee.inputs.distributions import (
    CLOSE,
    EQUAL,
    FEW_FLOATS,
    OWN,
    Distribution,
    changes,
    drawn,
    rebuilt,
    with_mark,
)
from workers.referee.inputs.relations import close, equal
from workers.referee.inputs.unvarying import MOST_OTHERS, Freedom, Variation, follows, loosened, variations
from workers.referee.state import ReferenceState
from workers.referee.trial import Trial

SETTLED = 1e-4
"""Difference of two results, over the largest magnitude, up to which they are one."""
OTHER_SETS = 2
"""Further input sets on which one other value of each such argument is tried."""
VALUES_SLOT, MARKS_SLOT = 5000, 6000
MAY_RAISE = ". A kernel may raise an exception for values that it does not support"
MOST_LOOSENED = 4
"""Values that lack a structure which are tried of one leaf."""
WRITES = frozenset({"index_copy", "index_copy_", "index_put", "index_put_", "_index_put_impl_", "scatter", "scatter_"})
"""Operators that leave open which one counts of several values written to one place."""
SEARCHES = frozenset({"searchsorted", "bucketize", "segment_reduce", "embedding_bag", "_embedding_bag"})
"""Operators that take whole numbers in order only."""
ATTENDS = frozenset({"scaled_dot_product_attention", "_scaled_dot_product_flash_attention_for_cpu", "_safe_softmax"})
"""Operators that make zeros of rows in which nothing is let through, where a softmax makes NaN of them."""
SHOWN = 200
"""Characters of what a kernel says when it refuses."""


def on_other_values(trial: Trial, notes: list[str]) -> GateFinding | None:
    """What is wrong with other values of each leaf that does not vary, and with indices that the model names; `notes`
    gets what became of them."""
    state = trial.state
    announced = state.problem.forward_arguments(trial.draw(0, OWN))
    marks = [one for one in (*map(with_mark, state.named_indices), FEW_FLOATS) if changes(announced, one)]
    related = _related(state, announced)
    if not state.unvarying and not marks and not related:
        return None
    others = state.set_numbers[1:]
    with _caller(trial) as caller:
        calls = [(f"{mark.name} values", OWN, drawn(announced, mark)) for mark in marks]
        finding = _on_unvarying(caller, 0, announced, notes) or _on_calls(caller, announced, calls + related, notes)
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
        if number == 0:
            tried += itertools.islice(_loosened_ones(trial.state, announced, place), MOST_LOOSENED)
        for variation in tried:
            varied |= variation.places
            where = f"{variation.what} {names[place]}, which is the same in every draw"
            where = f"input set {number}, {where}" if number else where
            finding, refusal = _tried(trial, variation.arguments, VALUES_SLOT + place, where)
            if finding is not None:
                return finding
            if refusal is not None:
                break
        notes.append(_told(names[place], refusal, announced, place, is_tried=bool(tried)))
    return None


def _on_calls(
    trial: Trial, announced: list[Any], calls: Sequence[tuple[str, Distribution, list[Any]]], notes: list[str]
) -> GateFinding | None:
    """What is wrong in other calls, each with what is said of its values and how they are judged."""
    state = trial.state
    for index, (where, kind, changed) in enumerate(calls):
        if state.problem.limits.excludes(announced, changed):
            continue
        call = _with_cotangents(state, changed, is_plain=False)
        if call is None:
            continue
        finding, refusal = _tried(trial, call, MARKS_SLOT + index, where, kind)
        if finding is not None:
            if kind is not OWN and state.scales_on(call, state.expected(call).tensors, kind) is None:
                continue
            return finding
        notes.append(
            f"passed on {where}" if refusal is None else f"limited: {where} are refused with {refusal[:SHOWN]}"
        )
    return None


def _related(state: ReferenceState, announced: list[Any]) -> list[tuple[str, Distribution, list[Any]]]:
    """Calls whose tensors are close to each other, or equal, where what the reference does with equal values is known:
    one tensor then, unless the reference changes its arguments or has gradients of them."""
    near = close(announced) if state.knows_ties or not state.problem.is_step else None
    shared = not (state.mutates or state.problem.is_step)
    same = equal(announced, shared=shared) if state.knows_ties else None
    found = (("arguments close to each other", CLOSE, near), ("equal arguments", EQUAL, same))
    return [(where, kind, changed) for where, kind, changed in found if changed is not None]


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


def _loosened_ones(state: ReferenceState, announced: list[Any], place: int) -> Iterator[Variation]:
    """Values that lack an announced structure, where the reference takes them."""
    known, names = bool(state.names), state.names
    freedom = Freedom(
        repeats=known and not names & WRITES, restarts=not names & SEARCHES, empty_rows=not names & ATTENDS
    )
    for variation in loosened(announced, place, freedom):
        if not state.problem.limits.excludes(announced, variation.arguments):
            call = _with_cotangents(state, variation.arguments, is_plain=True)
            if call is not None:
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


def _tried(
    trial: Trial, arguments: list[Any], number: int, where: str, kind: Distribution = OWN
) -> tuple[GateFinding | None, str | None]:
    """What is wrong on other values, and how the kernel refuses them if it does."""
    try:
        finding = try_values(trial, arguments, number, where, kind)
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
