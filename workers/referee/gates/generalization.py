"""The generalization gate: shapes, values and parameters that nobody announced, and the held-out input sets."""

from __future__ import annotations

import dataclasses
import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from services.domain.constraints import sentences
from services.domain.gates import GateStatus
from workers.ipc.sparse import holds_sparse
from workers.ipc.tensors import flatten, structure
from workers.referee.comparison.tolerance import all_finite
from workers.referee.errors import FaultKind, Refused, RunnerFault
from workers.referee.gates.checks.calls import try_values
from workers.referee.gates.checks.held_out_timing import time_held_out
from workers.referee.gates.checks.left_kinds import on_left_kinds
from workers.referee.gates.checks.left_state import leaves_state
from workers.referee.gates.checks.other_values import on_other_values, taken
from workers.referee.gates.checks.parameter_use import with_other_parameters, with_other_settings
from workers.referee.gates.checks.recovery import after_an_exception
from workers.referee.gates.checks.strided_arguments import on_strided
from workers.referee.gates.finding import GateFinding, passed
from workers.referee.inputs.distributions import OWN, Distribution
from workers.referee.inputs.index_structure import IndexStructure, first_rows, index_structure, row_count
from workers.referee.inputs.resize import Axes, dimensions, odd_part, resized_at, sharing, spread
from workers.referee.inputs.transforms import any_code
from workers.referee.state import ReferenceState
from workers.referee.trial import Trial
from workers.runner.step import DENSE

DERIVED_SLOT = 1000
LARGEST_BYTES = 64 << 20
"""Inputs of a call from which on nothing larger is tried: the reference and the candidate would take their time."""
GROWTH = 1.5
MORE_KINDS = 0.3
"""Share of the shapes that are tried on two further kinds of values."""
MAY_RAISE = ". A kernel may raise an exception for shapes that it does not support"
"""What is said of a mismatch where nothing was announced: it need not be able to do everything."""
IN_BETWEEN = 68
"""Sizes from here on, up to the announced one, are tried beside smaller ones."""
MOST_IN_BETWEEN = 2
"""Sets of dimensions that get such a size."""
FEW_PLACES = (1, 3, 5, 7, 11)
LEAST = 12
"""Sizes below which a draw of few places is far from what was announced."""
MOST_GROUPS = 6
"""Sets of dimensions that change together."""
LONG = (1 << 16, 5 << 14)
"""Sizes that 16 bits do not count."""
LONG_BYTES = 8 << 20
"""Inputs of such a call, at most."""
LONG_S = 0.01
"""A reference's run from which on sizes grow no further: the next may take 16 times as long."""
LOOP, LOOP_S = (9000, 11000), 0.25
"""The same two of a reference that makes a step of each place, in a loop."""
LEAST_LOOP = 16
MOST_LONG = 3
MOST_COUNTED = 1 << 24
"""Ones that a float counts."""
COUNTS = frozenset({"sum", "count_nonzero", "cumsum"})
"""Operators that count."""
SHORT = 5
"""Sizes of the other dimensions then: of fewer numbers, a variance may be near zero."""
MOST_SPREAD = 2
Change = Callable[[list[torch.Tensor]], "list[torch.Tensor] | None"]
"""Gives a call's tensors other sizes; None where that breaks a structure."""
Derived = tuple[list[Any], Change | None]
"""A call of other shapes; and, where they are far from the announced ones, what makes another one of a draw."""


def examine(trial: Trial) -> GateFinding:
    """Held-out input sets must work. Derived shapes, and other values of arguments that never change, must be right or
    be refused by an exception: silence fails. Fails with the first mismatch."""
    notes = list[str]()
    promised = sentences(trial.state.problem.limits.constraints)
    finding = (
        _on_held_out(trial) or _on_derived(trial, notes) or on_left_kinds(trial, notes) or on_other_values(trial, notes)
    )
    if finding is not None:
        return finding
    doubt = with_other_settings(trial)
    if doubt is not None and doubt.status is GateStatus.FAILED:
        return doubt
    doubt = (None if notes and _is_enough(trial) else _later(trial)) or doubt
    if doubt is not None and doubt.status is GateStatus.FAILED:
        return doubt
    finding = time_held_out(trial) or doubt
    if finding is not None:
        return finding
    if not _is_enough(trial):
        notes += on_strided(trial)
    held_out = len(trial.state.held_out_numbers)
    counted = [f"passed on {held_out} held-out input {'set' if held_out == 1 else 'sets'}"] if held_out else []
    return passed("; ".join([*promised, *counted, *notes]))


def _later(trial: Trial) -> GateFinding | None:
    """What is wrong with other parameters, and with what calls leave in the model after so many others."""
    doubt = with_other_parameters(trial)
    if doubt is not None and doubt.status is GateStatus.FAILED:
        return doubt
    return leaves_state(trial) or doubt


def _on_held_out(trial: Trial) -> GateFinding | None:
    """What is wrong on the held-out input sets."""
    for number in trial.state.held_out_numbers:
        where = f"held-out input set {-number}"
        arguments = trial.draw(number, OWN)
        finding = try_values(trial, arguments, number, where) or _changed(trial, arguments, number, where)
        if finding is not None:
            return finding
    return None


def _on_derived(trial: Trial, notes: list[str]) -> GateFinding | None:
    """What is wrong on other shapes; `notes` gets what became of each."""
    for index, (arguments, change) in enumerate(_each_once(trial, _derived(trial))):
        if notes and _is_enough(trial):
            notes.append("there was no time for other shapes")
            break
        where = f"derived shapes {_shown(trial.shapes_of(arguments))}"
        try:
            finding = try_values(trial, arguments, DERIVED_SLOT + index, where)
            if finding is not None and change is not None:
                finding = _again(trial, change, DERIVED_SLOT + index, where)
        except RunnerFault as fault:
            is_slow = fault.kind is FaultKind.HUNG and change is not None  # far from the announced sizes
            if is_slow or _reads_from_nothing(trial, arguments, fault):
                notes.append(f"limited: {where}: {str(fault)[:200]}")
                trial.load_again()
                continue
            if fault.kind is not FaultKind.RAISED:
                rest = "" if fault.kind is FaultKind.FORGED else MAY_RAISE
                raise RunnerFault(fault.kind, f"{where}: {fault}{rest}") from None
            notes.append(f"{where}: refused with {str(fault)[:200]}")
            finding = after_an_exception(trial)
            if finding is not None:
                return finding
            continue
        if finding is None and not _is_enough(trial):
            finding = _changed(trial, arguments, DERIVED_SLOT + index, where, is_far=change is not None)
        if finding is not None:
            return dataclasses.replace(finding, detail=finding.detail + MAY_RAISE) if finding.gate is None else finding
        notes.append(f"passed on {where}")
    return None


def _reads_from_nothing(trial: Trial, arguments: list[Any], fault: RunnerFault) -> bool:
    """Whether a kernel that begins with the first element of each row met rows without one: honest ones do so."""
    first, *_ = trial.shapes_of(arguments)
    return "SIGSEGV" in str(fault) and len(first) > 0 and first[0] > 0 and 0 in first


def _again(trial: Trial, change: Change, number: int, where: str) -> GateFinding | None:
    """What is wrong on another draw of these shapes, by the reference's own error there: far from the announced sizes,
    now and then a row hangs on a rounding."""
    state, arguments = trial.state, _announced(trial)
    tensors = change(flatten(arguments))
    call = None if tensors is None else taken(state, arguments, tensors)
    if call is None:
        return None
    expected = state.expected(call)
    scales = state.scales_on(call, expected.tensors, OWN)
    return None if scales is None else try_values(trial, call, number, where, expected=expected, scales=scales)


def _changed(
    trial: Trial, arguments: list[Any], number: int, where: str, *, is_far: bool = False
) -> GateFinding | None:
    """What is wrong on further values of these shapes, changed as those of the open input sets were, where the
    reference takes that: a kernel that is right on any values of some sizes may take a short cut at others. Where
    sizes are far from the announced ones, only those that pile up: a counter may be too narrow for so many."""
    state = trial.state
    for kind in _piling_up(trial) if is_far else _other_kinds(trial):
        changed = state.changed(arguments, kind)
        try:
            expected = state.expected(changed)
        except Refused:
            continue
        if not all_finite(expected.tensors):
            continue
        finding = try_values(trial, changed, number, f"{where}, {kind.name} values", kind, expected)
        if finding is not None and state.scales_on(changed, expected.tensors, kind) is not None:
            return finding
    return None


def _is_enough(trial: Trial) -> bool:
    """Whether the time for other shapes is used up."""
    return trial.used_share > trial.budget.shapes_share


def _other_kinds(trial: Trial) -> list[Distribution]:
    """A kind of values of which some are large, and another one now and then, of those tried on the first input set."""
    generator = random.SystemRandom()
    kinds = [one for one in trial.state.usable(0) if one.finite and not one.has_ties and one.layout == DENSE]
    harsh = [one for one in kinds if one.harsh]
    others = [one for one in kinds if not one.harsh and one.transform is not None]
    chosen = [generator.choice(harsh)] if harsh else []
    if others and (not chosen or generator.random() < MORE_KINDS):
        chosen.append(generator.choice(others))
    return chosen


def _piling_up(trial: Trial) -> list[Distribution]:
    """A kind of values of which many are alike, of those tried on the first input set."""
    kinds = [one for one in trial.state.usable(0) if one.piles_up and one.code in (None, any_code) and not one.uneven]
    return kinds[-1:]


def _each_once(trial: Trial, calls: Iterator[Derived]) -> Iterator[Derived]:
    """Calls of the same shapes once: of small sizes, and of multiples of something, there are few."""
    seen = {trial.shapes_of(_announced(trial))}
    for arguments, change in calls:
        shapes = trial.shapes_of(arguments)
        if shapes not in seen:
            seen.add(shapes)
            yield arguments, change


def _derived(trial: Trial) -> Iterator[Derived]:
    """Other shapes that the reference takes: each dimension smaller, larger, of few places and, on a CPU, of none and
    of very many; then what broadcasts as large as what it meets. One after the other, since cuts of large inputs may
    be large."""
    state, arguments = trial.state, _announced(trial)
    indices = index_structure(flatten(arguments))
    if indices is not None or holds_sparse(structure(arguments, [])):
        yield from ((call, None) for call in _fewer_rows(state, arguments, indices))
        return
    groups, part = list[Axes](), arguments
    for axes, cut in _groups(trial, arguments):
        groups.append(axes)
        part = min(part, state.problem.forward_arguments(cut), key=_bytes)
        yield cut, None
    for axes, size in _other_sizes(trial, flatten(arguments), groups):
        change = _to_size(trial, axes, size, apart=state.chooses)
        tensors = change(flatten(arguments))
        if tensors is not None and (call := taken(state, arguments, tensors)):
            is_far = size < min(LEAST, _size(flatten(arguments), axes))
            yield call, change if is_far else None
    if not state.place.is_gpu:
        yield from _long(trial, groups)
        yield from _counted(trial, groups)
    yield from _spread(trial, part)


def _groups(trial: Trial, arguments: list[Any]) -> Iterator[tuple[Axes, list[Any]]]:
    """Dimensions that the reference has change together, each set with a call in which they are cut."""
    tensors, steps = flatten(arguments), trial.state.problem.limits.steps(arguments)
    done, count = set[tuple[int, int]](), 0
    for dimension in dimensions(tensors):
        if dimension in done or count == MOST_GROUPS:
            continue
        size = odd_part(_size(tensors, [dimension]), random.SystemRandom())
        for axes in sharing(tensors, dimension):
            cut = resized_at(tensors, axes, size, steps=steps)
            if cut is not None and (call := taken(trial.state, arguments, cut)):
                done.update(axes)
                count += 1
                yield axes, call
                break


def _to_size(trial: Trial, axes: Axes, size: int, *, apart: bool) -> Change:
    """What gives dimensions a size."""
    limits = trial.state.problem.limits
    steps = limits.steps(_announced(trial)) if limits else {}
    return lambda tensors: resized_at(tensors, axes, size, apart=apart, steps=steps)


def _counted(trial: Trial, groups: list[Axes]) -> Iterator[Derived]:
    """A call of more bytes than a float counts, where whole numbers are summed: all of them are the largest one."""
    state, arguments = trial.state, _announced(trial)
    tensors = flatten(arguments)
    if state.problem.is_step or not state.names & COUNTS or any(one.element_size() > 1 for one in tensors):
        return
    if any(one.is_floating_point() for one in tensors) or any("int" not in one.dtype for one in state.metas(0)):
        return
    for axes in random.SystemRandom().sample(groups, min(MOST_LONG, len(groups))):
        others = [_to_size(trial, one, 1, apart=False) for one in groups if not set(one) & set(axes)]
        together = max(sum(place == place_ for place_, _ in axes) for place, _ in axes)
        size = round((MOST_COUNTED + random.SystemRandom().randrange(99, 999)) ** (1 / together)) + 1
        change = _chain([*others, _to_size(trial, axes, size, apart=False), _filled])
        changed = change(tensors)
        call = None if changed is None else taken(state, arguments, changed)
        if call is not None and max(int(one.max()) for one in state.expected(call).tensors) > MOST_COUNTED:
            yield call, change
            return


def _filled(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """Tensors that hold their largest value only."""
    return [one.amax().expand(one.shape).contiguous() if one.numel() else one for one in tensors]


def _long(trial: Trial, groups: list[Axes]) -> Iterator[Derived]:
    """Calls of which one dimension is longer than what 16 bits count, or as long as the reference takes in no time, the
    others short."""
    for axes in random.SystemRandom().sample(groups, min(MOST_LONG, len(groups))):
        arguments = _announced(trial)
        others = [one for one in groups if not set(one) & set(axes)]
        short = [_to_size(trial, one, min(SHORT, _size(flatten(arguments), one)), apart=False) for one in others]
        for before in (short, []):
            found = _longest(trial, arguments, axes, before)
            if found is not None:
                yield found
                break


def _longest(trial: Trial, arguments: list[Any], axes: Axes, before: list[Change]) -> Derived | None:
    """The longest such call after other changes: sizes grow step by step, as long as the reference takes no time."""
    state, found, started = trial.state, None, flatten(arguments)
    for change in before:
        started = change(started) or started
    own = _size(started, axes)
    lengths, longest_s = (LOOP, LOOP_S) if _is_loop(trial, own) else (LONG, LONG_S)
    most = min(random.SystemRandom().randrange(*lengths), own * LONG_BYTES // max(1, _bytes(started)))
    size = own
    while size < most:
        size = min(most, 4 * size)
        change = _chain([*before, _to_size(trial, axes, size, apart=True)])
        tensors = change(flatten(arguments))
        began = time.monotonic()
        call = None if tensors is None else taken(state, arguments, tensors)
        if call is None:
            break
        found = call, change
        if time.monotonic() - began > longest_s:
            break
    return found


def _is_loop(trial: Trial, size: int) -> bool:
    """Whether the reference may make a step of each place of a dimension: so often it calls one operator."""
    names = [item.target for item in trial.state.analysis.operators]
    return size >= LEAST_LOOP and max(map(names.count, set(names)), default=0) >= size - 1


def _chain(changes: Sequence[Change]) -> Change:
    """One change after the other; None where one breaks a structure."""

    def chained(tensors: list[torch.Tensor]) -> list[torch.Tensor] | None:
        for change in changes:
            changed = change(tensors)
            if changed is None:
                return None
            tensors = changed
        return tensors

    return chained


def _spread(trial: Trial, part: list[Any]) -> Iterator[Derived]:
    """Calls in which a tensor no longer broadcasts along a dimension, and the outputs are as large as before."""
    tensors, before = flatten(part), None
    places = [(place, axis) for place, one in enumerate(tensors) for axis in range(one.dim()) if one.shape[axis] == 1]
    for dimension in random.SystemRandom().sample(places, min(MOST_SPREAD, len(places))):
        wider = spread(tensors, dimension)
        if wider is None or (call := taken(trial.state, part, wider)) is None:
            continue
        before = before or [
            tuple(one.shape) for one in trial.state.expected(trial.state.problem.with_cotangents(part)).tensors
        ]
        if [tuple(one.shape) for one in trial.state.expected(call).tensors] == before:
            yield call, None


def _fewer_rows(state: ReferenceState, arguments: list[Any], found: IndexStructure | None) -> list[list[Any]]:
    """Sparse matrices of fewer rows: their indices can be cut together only."""
    if found is None:
        return []
    tensors, most = flatten(arguments), row_count(flatten(arguments), found)
    counts = dict.fromkeys((min(most, 67), random.SystemRandom().randrange(1, most + 1), 1))
    cuts = [first_rows(tensors, found, count) for count in counts if count < most]
    return [call for cut in cuts if (call := taken(state, arguments, cut))]


def _announced(trial: Trial) -> list[Any]:
    """Arguments of `forward` as the problem draws them; cotangents follow from their shapes."""
    return trial.state.problem.forward_arguments(trial.draw(0, OWN))


def _other_sizes(trial: Trial, tensors: list[torch.Tensor], groups: list[Axes]) -> Iterator[tuple[Axes, int]]:
    """Sizes of dimensions: one, few places, less and more than announced, and on a CPU none."""
    is_small = _bytes(tensors) <= LARGEST_BYTES
    generator = random.SystemRandom()
    for number, axes in enumerate(groups):
        size = _size(tensors, axes)
        if number == 0:
            yield axes, 1
        yield axes, generator.choice(FEW_PLACES)
        if is_small and size > IN_BETWEEN and number < MOST_IN_BETWEEN:
            yield axes, generator.randrange(IN_BETWEEN, size)
        if is_small:
            yield axes, round(size * generator.uniform(1.0, GROWTH)) + 1
        # a grid of no blocks is an error of CUDA's that many kernels leave to the next launch
        if not trial.state.place.is_gpu:
            yield axes, 0


def _bytes(arguments: list[Any]) -> int:
    """Size of a call's tensors."""
    return sum(tensor.nbytes for tensor in flatten(arguments))


def _size(tensors: Sequence[torch.Tensor], axes: Axes) -> int:
    """The size of dimensions that share one."""
    return tensors[axes[0][0]].shape[axes[0][1]]


def _shown(shapes: Sequence[Sequence[int]]) -> str:
    """Shapes as people write them: `67×2048, 2048`."""
    return ", ".join("×".join(str(size) for size in shape) or "scalar" for shape in shapes)
