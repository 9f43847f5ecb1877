"""The generalization gate: shapes, values and parameters that were not announced, and the held-out input sets."""

from __future__ import annotations

import functools
import itertools
import random
import time
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from services.domain.constraints import sentences
from services.domain.gates import GateStatus
from workers.ipc.tensors import flatten
from workers.referee.comparison.error_scales import same_bytes
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import all_finite
from workers.referee.costs.operator_costs import SCANS
from workers.referee.errors import FaultKind, Refused, RunnerFault
from workers.referee.gates.checks.calls import opened, try_values
from workers.referee.gates.checks.endurance import call_before, on_many_calls
from workers.referee.gates.checks.held_out_timing import time_held_out
from workers.referee.gates.checks.left_kinds import on_left_kinds
from workers.referee.gates.checks.left_state import leaves_state
from workers.referee.gates.checks.mixed_calls import on_mixed, shown
from workers.referee.gates.checks.odd_sizes import on_odd_sizes
from workers.referee.gates.checks.other_values import on_other_values, taken
from workers.referee.gates.checks.parameter_use import with_other_parameters, with_other_settings
from workers.referee.gates.checks.recovery import after_an_exception
from workers.referee.gates.checks.size_groups import (
    LARGEST_BYTES,
    Change,
    SizeGroup,
    announced,
    bytes_of,
    larger,
    size_groups,
    size_of,
    to_size,
    unchanged,
)
from workers.referee.gates.checks.strided_arguments import on_strided
from workers.referee.gates.checks.surroundings import on_a_small_stack
from workers.referee.gates.finding import GateFinding, passed
from workers.referee.inputs.constraints import is_same
from workers.referee.inputs.dependence import refitted
from workers.referee.inputs.distributions import ALIKE, OWN, Distribution
from workers.referee.inputs.index_structure import (
    IndexStructure,
    first_rows,
    index_structure,
    more_rows,
    reaching,
    row_count,
)
from workers.referee.inputs.named_sizes import named_sizes
from workers.referee.inputs.resize import Axes, resized_at, spread
from workers.referee.inputs.transforms import any_code
from workers.referee.state import ReferenceState
from workers.referee.trial import Trial
from workers.runner.step import DENSE

DERIVED_SLOT = 1000
MORE_KINDS = 0.3
"""Share of the shapes that are tried on two further kinds of values."""
MAY_RAISE = ". A kernel may raise an exception for shapes that it does not support"
"""What is said of a mismatch where nothing was announced: it need not be able to do everything."""
FEW_PLACES = (1, 3, 5, 7, 11)
LEAST = 12
"""Sizes below which a draw of few places is far from what was announced."""
MOST_ALONE = 6
"""Groups of dimensions that take each kind of size alone."""

MORE_ROWS = (2, 8, 32, 128)
"""Times the rows, next to indices."""
LONG = (1 << 16, 5 << 14)
"""Sizes that 16 bits do not count."""
BEYOND = 8
"""Factor of a number in the candidate's source: a little behind an array's end there may be room by chance."""
LONG_BYTES = 8 << 20
"""Inputs of such a call, at most."""
LONG_S = 0.01
"""A reference's run from which on sizes grow no further: the next may take 16 times as long."""
BUSY = 10
"""Factor by which one run may take longer because the machine is busy."""
NAMED_S = 0.05
"""The same where the candidate's source names a longer size: few do."""
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
ANNOUNCED_ONLY = "PROVEN FOR THE ANNOUNCED SIZES OF"
SHORTER, CALLS = 16, 3
"""Factor by which the longest size is shorter where a call did not end, and the calls of which the fastest counts."""
SLOWER = 2 * SHORTER**3
"""Factor by which the longer one may be slower: a kernel may need the cube of a size, as for a power of a matrix."""
MAX_NAMED = 6
"""Dimensions that are named."""
MOST_SPREAD = 2
MOST_EXCHANGED = 4
"""Times a size is larger than the one that it is exchanged for."""
MIXED_SETS, MIXED_OF_SET = 3, 2
"""Further input sets, and calls of each, of which several things change."""
Derived = tuple[list[Any], Change | None]
"""A call of other shapes; and, where they are far from the announced ones, what makes another one of a draw."""


def examine(trial: Trial) -> GateFinding:
    """Held-out input sets must work. Derived shapes, and other values of arguments that never change, must be right or
    be refused by an exception: silence fails. Fails with the first mismatch."""
    notes = list[str]()
    promised = sentences(trial.state.problem.limits.constraints)
    groups = list(size_groups(trial, announced(trial)))
    finding = (
        _on_held_out(trial)
        or _on_derived(trial, groups, notes)
        or on_left_kinds(trial, notes)
        or on_other_values(trial, notes)
        or (None if _is_enough(trial) else on_many_calls(trial, [one.axes for one in groups if not one.is_small]))
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


def _on_derived(trial: Trial, groups: list[SizeGroup], notes: list[str]) -> GateFinding | None:
    """What is wrong on other shapes; `notes` gets what became of each."""
    finding = (
        _on_each(trial, groups, notes)
        or on_mixed(trial, groups, notes)
        or on_odd_sizes(trial, groups, notes)
        or _on_further_sets(trial, notes)
    )
    if finding is None and not _is_enough(trial):
        _tell_unchanged(trial, groups)
    return finding


def _on_each(trial: Trial, groups: list[SizeGroup], notes: list[str]) -> GateFinding | None:
    """The same where one thing changes at a time. Before each call comes one of the announced shapes."""
    before = call_before(trial)
    for index, (arguments, change) in enumerate(_each_once(trial, _derived(trial, groups))):
        if notes and _is_enough(trial):
            notes.append("there was no time for other shapes")
            break
        where = f"derived shapes {shown(trial.shapes_of(arguments))}"
        before()
        try:
            finding = _tried(trial, arguments, change, DERIVED_SLOT + index, where)
        except RunnerFault as fault:
            is_far = change is not None  # from the announced sizes: it may take long there, or much memory
            is_slow = is_far and fault.kind is FaultKind.HUNG and _may_be_slow(trial, arguments, DERIVED_SLOT + index)
            is_dear = is_slow or (is_far and fault.kind is FaultKind.MEMORY)
            if is_dear or _reads_from_nothing(trial, arguments, fault):
                notes.append(f"limited: {where}: {str(fault)[:200]}")
                trial.load_again()
                continue
            if fault.kind is not FaultKind.RAISED:
                raise fault.at(where, MAY_RAISE) from None
            notes.append(f"{where}: refused with {str(fault)[:200]}")
            finding = after_an_exception(trial)
            if finding is not None:
                return finding
            continue
        if finding is None and not _is_enough(trial):
            finding = _changed(trial, arguments, DERIVED_SLOT + index, where, is_far=change is not None)
            finding = finding or on_a_small_stack(trial, arguments, DERIVED_SLOT + index, where)
        if finding is not None:
            return finding.advised(MAY_RAISE)
        notes.append(f"passed on {where}")
    return None


def _tell_unchanged(trial: Trial, groups: list[SizeGroup]) -> None:
    """Note which sizes were the announced ones in every call, though others are possible."""
    arguments = trial.state.problem.forward_arguments(announced(trial))
    shapes, named = trial.shapes_of(arguments), unchanged(trial, arguments, groups)
    names = _owners(trial.state.problem.argument_names, arguments)
    found = [f"`{names[place]}` (dimension {axis}: {shapes[place][axis]})" for place, axis in named]
    if found:
        rest = f" and {len(found) - MAX_NAMED} more" if len(found) > MAX_NAMED else ""
        trial.notes.append(f"{ANNOUNCED_ONLY} {', '.join(found[:MAX_NAMED])}{rest}: no call had another one")


def _on_further_sets(trial: Trial, notes: list[str]) -> GateFinding | None:
    """What is wrong in calls of the other open input sets in which several things change."""
    others = trial.state.set_numbers[1:]
    for number in random.SystemRandom().sample(others, min(MIXED_SETS, len(others))):
        groups = list(size_groups(trial, announced(trial, number), number))
        finding = on_mixed(trial, groups, notes, number=number, most=MIXED_OF_SET, where=f"input set {number}, ")
        if finding is not None:
            return finding
    return None


def _reads_from_nothing(trial: Trial, arguments: list[Any], fault: RunnerFault) -> bool:
    """Whether a kernel that begins with the first element of each row met rows without one: honest ones do so."""
    first, *_ = trial.shapes_of(arguments)
    return "SIGSEGV" in str(fault) and len(first) > 0 and first[0] > 0 and 0 in first


def _may_be_slow(trial: Trial, arguments: list[Any], number: int) -> bool:
    """Whether a call of these sizes that did not end may have taken too long, by the time that shorter ones take in a
    new process. Where they take next to no time, the kernel has written past its arrays, over what it waits for.
    Raises `RunnerFault` for what else is wrong with those."""
    state, limit_s = trial.state, trial.session.call_limit_s
    shorter = _shorter(state, arguments)
    while shorter is not None:
        trial.load_again()
        try:
            with opened(trial, number, shorter, state.expected(shorter)) as slot:
                slot.write(flatten(shorter))
                return min(trial.session.call(slot).wall_s for _ in range(CALLS)) * SLOWER > limit_s
        except RunnerFault as fault:
            if fault.kind is FaultKind.RAISED:
                return True
            if fault.kind is not FaultKind.HUNG:
                raise
        shorter = _shorter(state, shorter)
    return True


def _shorter(state: ReferenceState, arguments: list[Any]) -> list[Any] | None:
    """A call whose longest size is shorter, where the reference takes it."""
    forward = state.problem.forward_arguments(arguments)
    tensors = flatten(forward)
    size = max((size for one in tensors for size in one.shape), default=0)
    axes = [(place, axis) for place, one in enumerate(tensors) for axis in range(one.dim()) if one.shape[axis] == size]
    cut = resized_at(tensors, axes, size // SHORTER) if size > SHORTER else None
    return None if cut is None else taken(state, forward, cut)


def _again(trial: Trial, change: Change, number: int, where: str) -> GateFinding | None:
    """What is wrong on another draw of these shapes, by the reference's own error there: far from the announced sizes,
    now and then a row hangs on a rounding."""
    state, arguments = trial.state, announced(trial)
    tensors = change(flatten(arguments))
    call = None if tensors is None else taken(state, arguments, tensors)
    if call is None:
        return None
    expected = state.expected(call)
    scales = state.accuracy.scales_on(call, expected.tensors, OWN)
    if scales is None or state.accuracy.is_rounding_noise(scales, expected.tensors):
        return None
    return try_values(trial, call, number, where, expected=expected, scales=scales)


def _tried(trial: Trial, arguments: list[Any], change: Change | None, number: int, where: str) -> GateFinding | None:
    """What is wrong in a call of other shapes; nothing where a gradient is rounding noise there."""
    finding = try_values(trial, arguments, number, where)
    if finding is not None and change is not None:
        return _again(trial, change, number, where)
    if finding is None or finding.gate is not None:
        return finding
    outputs = trial.state.expected(arguments).tensors
    scales = trial.state.accuracy.scales_on(arguments, outputs, OWN)
    is_noise = scales is not None and trial.state.accuracy.is_rounding_noise(scales, outputs)
    return None if is_noise else finding


def _changed(
    trial: Trial, arguments: list[Any], number: int, where: str, *, is_far: bool = False
) -> GateFinding | None:
    """What is wrong on further values of these shapes, changed as those of the open input sets were, where the
    reference takes that: a kernel that is right on any values of some sizes may take a short cut at others. Where
    sizes are far from the announced ones, only those that pile up: a counter may be too narrow for so many."""
    state = trial.state
    for kind in _piling_up(trial) if is_far else _other_kinds(trial):
        changed = state.changed(arguments, kind)
        if is_far and is_same(changed, arguments):
            continue
        try:
            expected = state.expected(changed)
        except Refused:
            continue
        if not all_finite(expected.tensors):
            continue
        place = f"{where}, {kind.name} values"
        finding = try_values(trial, changed, number, place, kind, expected)
        if finding is None:
            continue
        scales = (state.accuracy.fit_scales if is_far else state.accuracy.scales_on)(changed, expected.tensors, kind)
        if scales is not None and is_far:  # what is known of the announced sizes may not be so there
            finding = try_values(trial, changed, number, place, kind, expected, scales)
        if scales is not None and finding is not None:
            return finding
    return None


def _owners(names: Sequence[str], arguments: Sequence[Any]) -> list[str]:
    """For each tensor of a call the name of the argument that holds it."""
    return [
        names[number] if number < len(names) else f"argument {number}"
        for number, one in enumerate(arguments)
        for _ in flatten(one)
    ]


def _is_enough(trial: Trial) -> bool:
    """Whether the time for other shapes is used up."""
    return trial.used_share > trial.budget.shapes_share


def _other_kinds(trial: Trial) -> list[Distribution]:
    """A kind of values of which some are large, and another one now and then, of those tried on the first input set."""
    generator = random.SystemRandom()
    kinds = [one for one in trial.state.tried.usable(0) if one.finite and not one.has_ties and one.layout == DENSE]
    harsh = [one for one in kinds if one.harsh]
    others = [one for one in kinds if not one.harsh and one.transform is not None]
    chosen = [generator.choice(harsh)] if harsh else []
    if others and (not chosen or generator.random() < MORE_KINDS):
        chosen.append(generator.choice(others))
    return chosen


def _piling_up(trial: Trial) -> list[Distribution]:
    """A kind of values of which many are alike, of those tried on the first input set; and slices that are, where the
    reference counts or runs along a dimension."""
    state = trial.state
    kinds = [one for one in state.tried.usable(0) if one.piles_up and one.code in (None, any_code) and not one.uneven]
    counts = state.traits.names & SCANS or any("int" in one.dtype for one in state.metas(0))
    return [*kinds[-1:], *([ALIKE] if counts and state.traits.takes_ties else [])]


def _each_once(trial: Trial, calls: Iterator[Derived]) -> Iterator[Derived]:
    """Calls of the same shapes once: of small sizes, and of multiples of something, there are few."""
    seen = {trial.shapes_of(announced(trial))}
    for arguments, change in calls:
        shapes = trial.shapes_of(arguments)
        if shapes not in seen:
            seen.add(shapes)
            yield arguments, change


def _derived(trial: Trial, groups: list[SizeGroup]) -> Iterator[Derived]:
    """Other shapes that the reference takes: each dimension smaller, larger, of few places and, on a CPU, of none and
    of very many; then what broadcasts as large as what it meets. One after the other, since cuts of large inputs may
    be large."""
    state, arguments = trial.state, announced(trial)
    indices = index_structure(flatten(arguments))
    if indices is not None:
        yield from _other_rows(trial, arguments, indices)
    part = arguments
    for group in groups:
        part = min(part, state.problem.forward_arguments(group.call), key=bytes_of)
        yield group.call, None
    for axes, size in _other_sizes(trial, flatten(arguments), groups):
        change = to_size(trial, axes, size, apart=state.traits.chooses)
        tensors = change(flatten(arguments))
        if tensors is not None and (call := taken(state, arguments, tensors)):
            is_far = size < min(LEAST, size_of(flatten(arguments), axes))
            yield call, change if is_far else None
    general = [group.axes for group in groups if not (group.is_small or group.is_square)]
    yield from _exchanged(trial, general)
    if not state.place.is_gpu:
        yield from _long(trial, general)
        yield from _counted(trial, general)
    yield from _spread(trial, part)


def _exchanged(trial: Trial, groups: list[Axes]) -> Iterator[Derived]:
    """A call in which two sizes are exchanged, so that tensors have as many elements as before."""
    arguments = announced(trial)
    tensors = flatten(arguments)
    sizes = [(one, size_of(tensors, one)) for one in groups]
    pairs = [
        (one, other)
        for one, other in itertools.combinations(sizes, 2)
        if one[1] != other[1] and max(one[1], other[1]) <= MOST_EXCHANGED * min(one[1], other[1])
    ]
    if not pairs or bytes_of(tensors) > LARGEST_BYTES:
        return
    (axes, size), (others, other) = random.SystemRandom().choice(pairs)
    change = _chain([to_size(trial, axes, other, apart=True), to_size(trial, others, size, apart=True)])
    changed = change(tensors)
    if changed is not None and (call := taken(trial.state, arguments, changed)):
        call_before(trial)()  # whatever others have cost: what is kept for the announced sizes is there
        yield call, None


def _counted(trial: Trial, groups: list[Axes]) -> Iterator[Derived]:
    """A call of more bytes than a float counts, where whole numbers are summed: all of them are the largest one."""
    state, arguments = trial.state, announced(trial)
    tensors = flatten(arguments)
    if state.problem.is_step or not state.traits.names & COUNTS or any(one.element_size() > 1 for one in tensors):
        return
    if any(one.is_floating_point() for one in tensors) or any("int" not in one.dtype for one in state.metas(0)):
        return
    for axes in random.SystemRandom().sample(groups, min(MOST_LONG, len(groups))):
        others = [to_size(trial, one, 1, apart=False) for one in groups if not set(one) & set(axes)]
        together = max(sum(place == place_ for place_, _ in axes) for place, _ in axes)
        size = round((MOST_COUNTED + random.SystemRandom().randrange(99, 999)) ** (1 / together)) + 1
        change = _chain([*others, to_size(trial, axes, size, apart=False), _filled])
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
        arguments = announced(trial)
        others = [one for one in groups if not set(one) & set(axes)]
        least = 1 if _long_names(trial) else SHORT
        short = [to_size(trial, one, min(least, size_of(flatten(arguments), one)), apart=False) for one in others]
        for before in (short, []):
            found = _longest(trial, arguments, axes, before)
            if found is not None:
                yield found
                break


def _long_names(trial: Trial) -> list[int]:
    """Numbers in the candidate's source that are longer still: its arrays may have so many elements."""
    return [one for one in named_sizes(trial.request.source) if one >= LONG[0]]


def _longest(trial: Trial, arguments: list[Any], axes: Axes, before: list[Change]) -> Derived | None:
    """The longest such call after other changes: sizes grow step by step, as long as the reference takes no time."""
    state, started = trial.state, flatten(arguments)
    found: tuple[list[Any], Change] | None = None
    for change in before:
        started = change(started) or started
    own = size_of(started, axes)
    named = _long_names(trial)
    lengths, longest_s = (LOOP, LOOP_S) if _is_loop(trial, own) else (LONG, NAMED_S if named else LONG_S)
    size = BEYOND * random.SystemRandom().choice(named) + 1 if named else random.SystemRandom().randrange(*lengths)
    most = min(size, own * LONG_BYTES // max(1, bytes_of(started)))
    size = own
    while size < most:
        size = min(most, 4 * size)
        change = _chain([*before, to_size(trial, axes, size, apart=True)])
        tensors = change(flatten(arguments))
        began = time.monotonic()
        call = None if tensors is None else taken(state, arguments, tensors)
        if call is None:
            break
        found = call, change
        took = time.monotonic() - began
        if took > longest_s and (took > BUSY * longest_s or _fastest_s(state, call) > longest_s):
            break
    return None if found is None else _reaching(trial, axes, own, found)


def _reaching(trial: Trial, axes: Axes, own: int, found: tuple[list[Any], Change]) -> Derived:
    """The same call with whole numbers that were below the size, and are spread over the dimension that has grown,
    where the reference takes them as places there."""
    state, arguments, (long, lengthen) = trial.state, announced(trial), found

    def change(tensors: list[torch.Tensor]) -> list[torch.Tensor] | None:
        grown = lengthen(tensors)
        reached = None if grown is None else reaching(grown, own, size_of(grown, axes))
        return None if grown is None or reached is None else refitted(grown, reached)

    tensors = change(flatten(arguments))
    call = None if tensors is None else taken(state, arguments, tensors)
    if call is None:
        return found
    pairs = zip(state.expected(call).tensors, state.expected(long).tensors, strict=True)
    return (call, change) if all(one.shape == other.shape for one, other in pairs) else found


def _fastest_s(state: ReferenceState, call: list[Any]) -> float:
    """Seconds of the fastest of a few runs of the reference: on a busy machine, one is not enough."""
    found = list[float]()
    for _ in range(CALLS):
        began = time.monotonic()
        state.expected(call)
        found.append(time.monotonic() - began)
    return min(found)


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


def _other_rows(trial: Trial, arguments: list[Any], found: IndexStructure) -> Iterator[Derived]:
    """Sparse matrices, or bags, of fewer rows and of more: their indices change together only. Of the larger ones there
    is one of twice the rows, and on a CPU one of as many as the reference takes in no time."""
    state, tensors = trial.state, flatten(arguments)
    most = row_count(tensors, found)
    counts = dict.fromkeys((min(most, 67), random.SystemRandom().randrange(1, most + 1), 1))
    for count in counts:
        if count < most and (call := taken(state, arguments, first_rows(tensors, found, count))):
            yield call, None
    before, largest = state.expected(state.problem.with_cotangents(arguments)), None
    for times in MORE_ROWS:
        change = functools.partial(_more_rows, times=times)
        began = time.monotonic()
        call = taken(state, arguments, change(tensors))
        if call is None or (times > MORE_ROWS[0] and bytes_of(call) > LONG_BYTES):
            break
        if times == MORE_ROWS[0]:
            if _is_same(state.expected(call), before):  # it takes rows beyond those that it knows, and ignores them
                return
            yield call, None
        else:
            largest = call, change
        if state.place.is_gpu or time.monotonic() - began > LONG_S:
            break
    if largest is not None:
        yield largest


def _more_rows(tensors: list[torch.Tensor], *, times: int) -> list[torch.Tensor]:
    found = index_structure(tensors)
    return tensors if found is None else more_rows(tensors, found, times)


def _is_same(answer: Answer, other: Answer) -> bool:
    pairs = zip(answer.tensors, other.tensors, strict=True)
    return all(one.shape == before.shape and same_bytes(one, before) for one, before in pairs)


def _other_sizes(trial: Trial, tensors: list[torch.Tensor], groups: list[SizeGroup]) -> Iterator[tuple[Axes, int]]:
    """Sizes of dimensions: one, few places, more than announced, and on a CPU none; others come with `on_mixed`."""
    is_small = bytes_of(tensors) <= LARGEST_BYTES
    generator = random.SystemRandom()
    for number, group in enumerate(groups[:MOST_ALONE]):
        if number == 0 and group.may_shrink:
            yield group.axes, 1
        if group.may_shrink:
            yield group.axes, generator.choice(FEW_PLACES)
        if is_small and not group.is_small:
            yield group.axes, larger(group.size, generator)
        # a grid of no blocks is an error of CUDA's that many kernels leave to the next launch
        if not trial.state.place.is_gpu and group.may_shrink:
            yield group.axes, 0
