"""Is a call right after many others, and does the process keep its size?

What a kernel keeps from call to call may overflow: a counter of eight bits that marks what it has seen, a table with
room for so many shapes, scratch that still holds what was not finite. So calls that are not judged come before judged
ones: of the announced shapes with NaNs in them, of one small shape until the next ordinary call is the 256th, and of
shapes that grow step by step. Some of them come from a thread of their own each. And resident memory must stop
growing at some time. What the first call of a process chooses must do for others: in a process of its own, that is one
of a small shape.
"""

from __future__ import annotations

import contextlib
import functools
import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from workers.ipc.sparse import holds_sparse
from workers.ipc.tensors import flatten, structure
from workers.referee.boundary.slots import Slot
from workers.referee.errors import FaultKind, Refused, RunnerFault
from workers.referee.gates.checks.calls import try_draw
from workers.referee.gates.checks.mixed_calls import shown
from workers.referee.gates.checks.other_values import taken
from workers.referee.gates.checks.size_groups import Change, announced, size_of, to_size
from workers.referee.gates.checks.surroundings import try_by
from workers.referee.gates.finding import GateFinding, failed
from workers.referee.inputs.distributions import OWN, rebuilt
from workers.referee.inputs.resize import Axes
from workers.referee.trial import Mode, Trial
from workers.runner.protocol import ThreadTeam
from workers.runner.step import shortened

ENDURANCE_SLOT = 5000
PERIOD = 256
"""Calls after which a counter of eight bits is what it was."""
CALLERS = 20
"""Of these calls, those that come from a new thread each: no array of 16 has a place for each."""
FIRST_SHAPES, SHAPES = 100, 300
"""The first of them, by whose time it is seen whether all are made, and all of them."""
FIRST_S = 0.03
"""For the first ones, up to which all are made: larger ones take ten times as long together."""
ALL_SHAPES = 0.3
"""Share of the evaluations in which all are made though they take longer."""
MOST_GROWING = 2
"""Sets of dimensions that grow step by step."""
GROWING_S = 0.4
"""For one of them, after which another one follows."""
SHORT, SHORTEST = 5, 2
"""Sizes of the other dimensions of small calls, and of growing ones, of which there are many."""
LEAST_GROWING = 17
"""The first of growing sizes: references that take it take larger ones."""
MOST_BYTES = 8 << 20
"""Of inputs, up to which a call with NaNs comes before each one of other shapes."""
BEFORE_S = 0.1
"""For all of these calls."""
WINDOWS = 6
"""In a row, in each of which memory must grow to be called growing."""
WINDOW_S, WINDOW_OF_STEPS_S = 2e-3, 0.3
"""Steps keep little each, so that it takes more of them to show."""
WINDOW_CALLS, WINDOW_STEPS = (2, 32), (2, 16)
CALL_BYTES, WINDOW_BYTES = 4096, 64 << 10
"""What memory must grow by at least, for each call and in a window."""
FIRST = "SHAPES OF ITS FIRST CALL"


def call_before(trial: Trial) -> Callable[[], None]:
    """A function that makes a call of the announced shapes which is not judged. About half of its numbers are NaN where
    the reference takes that and kernels have to."""
    arguments = trial.draw(0, OWN)
    is_large = trial.bytes_of(arguments) > MOST_BYTES
    if is_large or trial.mode is not Mode.FULL or holds_sparse(structure(arguments, [])):
        return lambda: None
    given, left_s = _with_nans(trial, arguments) or arguments, BEFORE_S

    def call() -> None:
        nonlocal left_s
        if left_s <= 0:
            return
        slot = trial.slot(0, arguments)
        slot.write(flatten(given))
        try:
            left_s -= trial.session.call(slot).wall_s
        except RunnerFault as fault:
            if fault.kind is not FaultKind.RAISED:
                raise fault.at("arguments of which every other number is no number") from None

    return call


def _with_nans(trial: Trial, arguments: list[Any]) -> list[Any] | None:
    state = trial.state
    if all(kind.finite for kind in state.tried.usable(0)):
        return None
    count = len(flatten(state.problem.forward_arguments(arguments)))
    tensors = [
        torch.where(torch.rand(one.shape) < 0.5, torch.full_like(one, torch.nan), one)
        if place < count and one.dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16) and one.is_cpu
        else one
        for place, one in enumerate(flatten(arguments))
    ]
    call = list(rebuilt(arguments, tensors))
    for number in filter(state.problem.limits.is_fixed, range(len(call))):
        call[number] = arguments[number]
    try:
        state.expected(call)
    except Refused:
        return None
    return call


def on_many_calls(trial: Trial, groups: list[Axes]) -> GateFinding | None:
    """What is wrong with an ordinary call after many others, of small shapes and of growing ones along `groups`; memory
    that each call keeps."""
    if trial.state.place.is_gpu or trial.mode is not Mode.FULL:
        return None
    finding = keeps_memory(trial)
    if finding is not None or not groups:
        return finding
    arguments = announced(trial)
    small = _cut_by(trial, arguments, [_cut(trial, axes, SHORT) for axes in groups])
    finding = None if small is None else after_many_calls(trial, small) or after_a_small_first_call(trial, small)
    began = time.monotonic()
    for axes in random.SystemRandom().sample(groups, min(MOST_GROWING, len(groups))):
        if time.monotonic() - began > GROWING_S:
            break
        others = [_cut(trial, one, SHORTEST) for one in groups if not set(one) & set(axes)]
        to_last = to_size(trial, axes, LEAST_GROWING + SHAPES - 1, apart=True)
        longest = None if finding is not None else _cut_by(trial, arguments, [*others, to_last])
        if longest is not None:
            finding = after_many_shapes(trial, longest, axes)
    return finding


def _cut(trial: Trial, axes: Axes, size: int) -> Change:
    return to_size(trial, axes, min(size, size_of(flatten(announced(trial)), axes)), apart=False)


def _cut_by(trial: Trial, arguments: list[Any], changes: Sequence[Change]) -> list[Any] | None:
    """A call's arguments after the changes, but for those that break a structure, where the reference takes them."""
    tensors = flatten(arguments)
    for change in changes:
        tensors = change(tensors) or tensors
    return taken(trial.state, arguments, tensors)


def keeps_memory(trial: Trial) -> GateFinding | None:
    """Evidence where each call of the announced shapes, or each step, keeps memory for good."""
    arguments = trial.draw(0, OWN)
    slot = trial.slot(0, arguments)
    slot.write(flatten(arguments))
    call_s = max(trial.session.call(slot).wall_s, 1e-6)
    try:
        for is_step in (False, True) if trial.state.problem.is_step else (False,):
            (least, most), window_s = (WINDOW_STEPS, WINDOW_OF_STEPS_S) if is_step else (WINDOW_CALLS, WINDOW_S)
            count = max(least, min(most, int(window_s / call_s)))
            each = _grown(trial, slot, count, with_backward=is_step, collect=False)
            if each:  # cycles, which Python gives back in its own time, are no leak
                each = _grown(trial, slot, count, with_backward=is_step, collect=True)
            if each:
                what = "step" if is_step else "call"
                return failed(
                    f"each {what} of the same shapes leaves its process with {each >> 10} KiB more, without end: give "
                    f"back what a {what} allocates"
                )
    finally:
        _put_back(trial)
    return None


def _grown(trial: Trial, slot: Slot, count: int, *, with_backward: bool, collect: bool) -> int:
    """The bytes by which memory grows in each call, in one window of so many calls after the other; 0 where it does not
    in one of them."""
    repeat = functools.partial(_repeated, trial, slot, count, with_backward=with_backward, collect=collect)
    needed, grown = max(count * CALL_BYTES, WINDOW_BYTES), list[int]()
    repeat()
    latest = repeat()
    while len(grown) < WINDOWS and latest:
        now = repeat()
        grown.append(now - latest)
        if grown[-1] < needed:
            return 0
        latest = now
    return sum(grown) // (len(grown) * count) if grown else 0


def after_many_calls(trial: Trial, small: list[Any]) -> GateFinding | None:
    """What is wrong with an ordinary call 256 calls after another one, between which all were small, some of them from
    new threads, or with one from a new thread then."""
    arguments = trial.draw(0, OWN)
    slot = trial.slot(0, arguments)
    slot.write(flatten(arguments))
    with _opened(trial, small) as between:
        trial.session.call(slot)
        try:
            _repeated(trial, between, CALLERS, callers=CALLERS)
        except RunnerFault as fault:
            raise fault.at(f"{CALLERS} calls, each from a new thread") from None
        _repeated(trial, between, PERIOD - 1 - CALLERS)
    finding = _judged(trial, f"{PERIOD} calls after the last ordinary one")
    if finding is None:
        _put_back(trial)
        finding = try_by(ThreadTeam.ANOTHER, trial, 0, OWN, trial.draw(0, OWN))
    return finding


def after_a_small_first_call(trial: Trial, small: list[Any]) -> GateFinding | None:
    """What is wrong with an ordinary call in a process of its own, whose first call is small. A kernel may raise an
    exception there."""
    where = f"in a process whose first call had the shapes {shown(trial.shapes_of(small))}"
    try:
        with trial.another() as other:
            other.load()
            try:
                with _opened(other, small) as slot:
                    _repeated(other, slot, 1)
            except RunnerFault as fault:
                raise fault.at(where) from None
            return _judged(other, where)
    except RunnerFault as fault:
        if fault.kind is not FaultKind.RAISED:
            raise
        trial.notes.append(f"PROVEN FOR THE {FIRST}: others were refused, {str(fault)[:200]}")
    return None


def after_many_shapes(trial: Trial, longest: list[Any], axes: Axes) -> GateFinding | None:
    """What is wrong with an ordinary call after calls of many shapes, which grow along `axes` to the given arguments.
    Nothing where the reference does not take some of the shapes, or where numbers may count places of them."""
    tensors = flatten(longest)
    if any(not one.is_floating_point() and one.dtype is not torch.bool for one in tensors):
        return None
    generator = random.SystemRandom()
    for size in (LEAST_GROWING, generator.randrange(LEAST_GROWING, LEAST_GROWING + SHAPES, 2)):
        cut = flatten(shortened(longest, axes, size))
        if any(tensors[place].shape[axis] != LEAST_GROWING + SHAPES - 1 for place, axis in axes):
            return None
        if taken(trial.state, trial.state.problem.forward_arguments(longest), cut) is None:
            return None
    with _opened(trial, longest) as slot:
        began = time.monotonic()
        where = _growing(trial, slot, axes, FIRST_SHAPES, LEAST_GROWING)
        if time.monotonic() - began <= FIRST_S or generator.random() < ALL_SHAPES:
            where = _growing(trial, slot, axes, SHAPES - FIRST_SHAPES, LEAST_GROWING + FIRST_SHAPES)
    return _judged(trial, f"after {where}")


def _growing(trial: Trial, slot: Slot, axes: Axes, count: int, least: int) -> str:
    """Make so many calls, each a place longer than the one before; what they and earlier ones are called."""
    last = least + count - 1
    where = f"{last - LEAST_GROWING + 1} calls that grow from {LEAST_GROWING} to {last} places along one dimension"
    try:
        trial.session.repeat(slot, count, axes, least, with_backward=trial.state.problem.is_step)
    except RunnerFault as fault:
        raise fault.at(where) from None
    return where


def _repeated(trial: Trial, slot: Slot, count: int, **how: Any) -> int:
    """What `repeat` gives, with arguments that are written anew before each call where the reference changes them."""
    return trial.session.repeat(slot, count, anew=bool(trial.state.mutates), **how)


@contextlib.contextmanager
def _opened(trial: Trial, arguments: list[Any]) -> Iterator[Slot]:
    slot = trial.session.open_slot(ENDURANCE_SLOT, arguments, [])
    try:
        slot.write(flatten(arguments))
        yield slot
        trial.session.forget([slot])
    finally:
        slot.close()


def _put_back(trial: Trial) -> None:
    """Give the model the values that calls which are not judged have changed."""
    if trial.state.problem.changing:
        trial.session.change_state(trial.state.problem.state())


def _judged(trial: Trial, where: str) -> GateFinding | None:
    _put_back(trial)
    try:
        finding = try_draw(trial, 0, OWN, trial.draw(0, OWN), observe=False)
    except RunnerFault as fault:
        raise fault.at(where) from None
    return finding and finding.at(where)
