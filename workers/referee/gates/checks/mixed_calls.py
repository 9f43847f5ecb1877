"""Is a kernel right where several things change together?

Sizes, values and arguments that never vary change one at a time elsewhere; a kernel may do well with each and ignore
what two of them mean together: what is right of whole tiles and below them, another scale for rows of an odd size. So
a few calls change all of them. Each thing has two ways to be (a group of dimensions is short or long, an argument as
announced or left out or not, lists as long as announced or not, values the problem's own or not), and any two things
come in each of their four combinations. A last call changes all arguments that are left out.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch

from workers.ipc.tensors import flatten, leaves, with_leaves
from workers.referee.comparison.output_structure import Answer
from workers.referee.errors import FaultKind, RunnerFault
from workers.referee.gates.checks.calls import answer_of, try_values
from workers.referee.gates.checks.other_values import argument_of, taken, taken_ones, with_cotangents, with_defaults
from workers.referee.gates.checks.recovery import after_an_exception
from workers.referee.gates.checks.size_groups import SizeGroup, announced, bytes_of, bytes_with, larger, to_size
from workers.referee.gates.finding import GateFinding
from workers.referee.inputs.distributions import OWN, WIDE, Distribution
from workers.referee.inputs.named_sizes import named_sizes
from workers.referee.inputs.nested import of_other_lengths
from workers.referee.inputs.unvarying import keeps_structure
from workers.referee.state import ReferenceState
from workers.referee.trial import Trial
from workers.runner.step import DENSE

MIXED_SLOT = 8000
CALLS = 6
PATTERNS = tuple(itertools.combinations(range(1, CALLS), CALLS // 2))
"""In which calls a thing is in its second way: any two patterns overlap, and neither is in the other; in the first
call everything is in its first way."""
FEW = (1, 2, 3, 3, 5, 7, 11)
FEWEST = (1, 2, 3)
"""Sizes where everything is short: fewer elements than any vector has."""
NAMED = 0.4
"""Share of the longer sizes that are next to a number that the candidate's source names."""
WIDE_SHARE = 0.5
"""Share of the calls with another kind of values that have wide ones, where the reference takes these."""
ATTEMPTS = 3
MOST_LENGTHS = 3
"""Other lengths of lists that are tried on the reference."""
MOST_BYTES = 8 << 20
"""Inputs of such a call, or twice those that were announced."""
MAY_RAISE = ". A kernel may raise an exception for shapes and values that it does not support"


@dataclass(kw_only=True)
class _Mixed:
    """What a call changes."""

    sizes: list[tuple[SizeGroup, int]]
    values: dict[int, tuple[str, Any]] = field(default_factory=dict)
    """Leaves by their numbers, each with the way to it."""
    lengths: int | None = None
    """What lists' other lengths are drawn under; None where they are as announced."""
    is_changed: bool = False
    """Whether values are to be of another kind."""
    kind: Distribution = OWN


def on_mixed(
    trial: Trial, groups: Sequence[SizeGroup], notes: list[str], *, number: int = 0, most: int = CALLS, where: str = ""
) -> GateFinding | None:
    """What is wrong in calls of an input set of which sizes, values and unvarying arguments change together; `notes`
    gets what became of each. `where` begins their descriptions."""
    generator, given = random.SystemRandom(), announced(trial, number)
    places, left_out = _places(trial, given)
    ways = itertools.cycle(generator.sample(PATTERNS, len(PATTERNS)))
    names: list[Any] = ["values", *(["lists"] if _has_lists(given) else []), *places, *left_out, *map(id, groups)]
    things: dict[Any, tuple[int, ...]] = dict(zip(names, ways, strict=False))
    things |= {one: (*things[one], CALLS) for one in left_out}
    room = max(MOST_BYTES, 2 * bytes_of(given))
    attempt = partial(_attempt, trial, groups, number=number, room=room, where=where, notes=notes)
    indices = generator.sample(range(CALLS), most) if groups else []
    for index in [*indices, CALLS] if len(left_out) > 1 else indices:
        if trial.used_share > trial.budget.shapes_share:
            break
        second = {thing for thing, calls in things.items() if index in calls}
        finding, is_refused = attempt(index, second, [one for one in (*places, *left_out) if one in second])
        rarely_taken = {"lists", *left_out} & second
        if finding is None and is_refused and rarely_taken and index < CALLS:
            finding, _ = attempt(index, second - rarely_taken, [one for one in places if one in second])
        if finding is not None:
            return finding
    return None


def _attempt(
    trial: Trial,
    groups: Sequence[SizeGroup],
    index: int,
    second: set[Any],
    changing: Sequence[int],
    *,
    number: int,
    room: int,
    where: str,
    notes: list[str],
) -> tuple[GateFinding | None, bool]:
    """What is wrong in a call in which these things are in their second way, and whether the kernel refuses it."""
    chosen = _sized(trial, groups, second, named_sizes(trial.request.source), number, room)
    if chosen is None:
        return None, False
    mixed, call = chosen
    call = _with_others(trial, mixed, call, changing, number)
    if "lists" in second:
        call = _with_lengths(trial, mixed, call, number, random.SystemRandom().getrandbits(31)) or call
    call, answer = _with_other_kind(trial, mixed, call)
    place, is_refused = where + _described(trial, mixed, call), False
    try:
        finding = _tried(trial, mixed, call, answer, number, MIXED_SLOT + index, place)
    except RunnerFault as fault:
        if fault.kind is not FaultKind.RAISED:
            raise fault.at(place, MAY_RAISE) from None
        notes.append(f"{place}: refused with {str(fault)[:200]}")
        finding, is_refused = None if where else after_an_exception(trial), True
    else:
        notes.append(f"passed on {place}")
    return finding and finding.advised(MAY_RAISE), is_refused


def _places(trial: Trial, arguments: list[Any]) -> tuple[list[int], list[int]]:
    """The leaves that do not vary and may: of those that are given, and of those that are left out."""
    state = trial.state
    found = leaves(with_defaults(state, arguments))
    given = len(leaves(arguments))
    free = [place for place, (path, _) in enumerate(found) if not state.problem.limits.is_fixed(argument_of(path))]
    varying = {place for place in range(given) if place not in state.unvarying}
    return [one for one in free if one < given and one not in varying], [one for one in free if one >= given]


def _has_lists(arguments: list[Any]) -> bool:
    """Whether a call has lists or dicts that may have other lengths."""
    return any(of_other_lengths(arguments, arguments))


def _sized(
    trial: Trial, groups: Sequence[SizeGroup], second: set[Any], named: Sequence[int], number: int, room: int
) -> tuple[_Mixed, list[Any]] | None:
    """Sizes that the reference takes, with a call of them: where it does not take all together, some stay."""
    generator = random.SystemRandom()
    for attempt in range(ATTEMPTS):
        sizes = [
            (group, _size(group, named, generator, is_long=id(group) in second, short=FEW if second else FEWEST))
            for group in groups
            if not attempt or generator.random() < 1 / 2
        ]
        others = [(group, size) for group, size in sizes if size != group.size]
        mixed = _Mixed(sizes=others, is_changed="values" in second)
        call = _made(trial, mixed, number, room)
        if call is not None:
            return mixed, call
    return None


def _with_others(trial: Trial, mixed: _Mixed, call: list[Any], places: Sequence[int], number: int) -> list[Any]:
    """The call with another value of each leaf that does not vary, where the reference takes one. It has the structure
    that the announced one has: what was cut from that may no longer show it."""
    state = trial.state
    known = leaves(with_defaults(state, announced(trial, number)))
    for place in places:
        given = _up_to(state, state.problem.forward_arguments(call), place)
        if place in mixed.values or len(leaves(given)) <= place:
            continue
        others = (
            one for one in taken_ones(state, given, place) if has_structure_of(known, one[0].arguments, one[0].places)
        )
        found = list(itertools.islice(others, random.SystemRandom().choice((1, 1, 2))))
        if found:
            variation, _ = found[-1]
            call = variation.arguments
            after = leaves(state.problem.forward_arguments(call))
            mixed.values.update({at: after[at] for at in variation.places})
    return call


def _up_to(state: ReferenceState, arguments: list[Any], place: int) -> list[Any]:
    """Arguments of `forward` up to the one that a leaf belongs to, if that is left out."""
    whole = with_defaults(state, arguments)
    found = leaves(whole)
    return whole[: max(len(arguments), argument_of(found[place][0]) + 1)] if place < len(found) else arguments


def _with_lengths(trial: Trial, mixed: _Mixed, call: list[Any], number: int, seed: int) -> list[Any] | None:
    """The call with other lengths of its lists and dicts, as `seed` has it; None where the reference takes none."""
    state, generator = trial.state, random.Random(seed)  # noqa: S311 - the same for another draw
    fresh = _made(trial, dataclasses.replace(mixed, values={}, lengths=None, kind=OWN), number)
    if fresh is None:
        return None
    forward, other = map(state.problem.forward_arguments, (call, fresh))
    ways = list(of_other_lengths(forward, [*other, *forward[len(other) :]], generator))
    for _, changed in generator.sample(ways, min(MOST_LENGTHS, len(ways))):
        excluded = state.problem.limits.excludes(forward, changed)
        found = None if excluded else with_cotangents(state, changed, is_plain=False)
        if found is not None:
            mixed.lengths = seed
            return found[0]
    return None


def has_structure_of(known: Sequence[tuple[str, Any]], call: list[Any], places: Iterable[int]) -> bool:
    """Whether tensors of a call, by their places, have the structure of the announced ones."""
    given = leaves(call)
    return all(
        keeps_structure(known[place][1], given[place][1])
        for place in places
        if isinstance(known[place][1], torch.Tensor) and known[place][1].numel() > 1
    )


def _with_other_kind(trial: Trial, mixed: _Mixed, call: list[Any]) -> tuple[list[Any], Answer | None]:
    """The call with another kind of values, of those tried on the first input set, wide ones every other time, where
    the reference takes one, and what it makes of it."""
    kinds = [one for one in trial.state.tried.usable(0) if one.finite and not one.has_ties and one.layout == DENSE]
    kinds = [one for one in kinds if mixed.is_changed and one.transform is not None]
    generator = random.SystemRandom()
    wide = [WIDE] if WIDE in kinds and generator.random() < WIDE_SHARE else []
    for some in (wide, [one for one in kinds if one.harsh], kinds):
        kind = generator.choice(some) if some else OWN
        changed = call if kind is OWN else trial.state.changed(call, kind)
        answer = None if kind is OWN else _answer(trial, changed)
        if answer is not None:
            mixed.kind = kind
            return changed, answer
    return call, _answer(trial, call)


def _size(
    group: SizeGroup, named: Sequence[int], generator: random.SystemRandom, *, is_long: bool, short: Sequence[int]
) -> int:
    """A size of a group: a `short` one, or about as announced, or next to a number that the candidate names."""
    if group.is_small:
        return generator.choice([one for one in (2, 4, 5) if one > group.size]) if is_long else group.size
    if not is_long:
        few = [one for one in short if one < group.size]
        return generator.choice(few) if group.may_shrink else group.size
    near = [one + by for one in named for by in (-1, 1) if one + by > group.size // 2]
    if near and generator.random() < NAMED:
        return generator.choice(near)
    if group.may_shrink and generator.random() < 1 / 2:
        return generator.randrange(group.size // 2, group.size) | 1
    return larger(group.size, generator) | 1


def _made(trial: Trial, mixed: _Mixed, number: int, room: int | None = None) -> list[Any] | None:
    """A call of a draw of its own; None where the reference does not take it. No size leaves more bytes than `room`."""
    state, arguments = trial.state, announced(trial, number)
    tensors = flatten(arguments)
    # larger ones first: what has been cut may no longer show its structure
    for group, size in sorted(mixed.sizes, key=lambda one: one[0].size - one[1]):
        has_room = room is None or size < group.size or bytes_with(tensors, group.axes, size) <= room
        changed = to_size(trial, group.axes, size, apart=state.traits.chooses)(tensors) if has_room else None
        if changed is not None:
            tensors = changed
        elif room is not None:
            mixed.sizes = [one for one in mixed.sizes if one[0] is not group]
    call = taken(state, arguments, tensors)
    if call is not None and mixed.values:
        call = _with_values(trial, call, mixed.values)
    if call is not None and mixed.lengths is not None:
        call = _with_lengths(trial, mixed, call, number, mixed.lengths)
    return None if call is None else state.changed(call, mixed.kind)


def _answer(trial: Trial, call: list[Any]) -> Answer | None:
    """The reference's answer to a call, where it is finite and has elements."""
    answer = answer_of(trial, call)
    return answer if answer is not None and any(one.numel() for one in answer.tensors) else None


def _with_values(trial: Trial, call: list[Any], values: Mapping[int, tuple[str, Any]]) -> list[Any] | None:
    """The call with other leaves, and cotangents to fit."""
    forward = _up_to(trial.state, trial.state.problem.forward_arguments(call), max(values))
    changed = [values.get(place, leaf)[1] for place, leaf in enumerate(leaves(forward))]
    found = with_cotangents(trial.state, list(with_leaves(forward, changed)), is_plain=True)
    return None if found is None else found[0]


def _tried(
    trial: Trial, mixed: _Mixed, call: list[Any], answer: Answer | None, number: int, slot: int, where: str
) -> GateFinding | None:
    """What is wrong in a call, and in another one of a draw of its own, by the reference's own error there: in few
    places, now and then a row hangs on a rounding."""
    finding = None if answer is None else try_values(trial, call, slot, where, mixed.kind, answer)
    if finding is None or finding.gate is not None:
        return finding
    again = _made(trial, mixed, number)
    expected = None if again is None else _answer(trial, again)
    if again is None or expected is None:
        return None
    scales = trial.state.accuracy.scales_on(again, expected.tensors, mixed.kind)
    if scales is None or trial.state.accuracy.is_rounding_noise(scales, expected.tensors):
        return None
    return try_values(trial, again, slot, where, mixed.kind, expected, scales)


def _described(trial: Trial, mixed: _Mixed, call: list[Any]) -> str:
    """A call in words: its shapes, and what else has changed."""
    names = trial.state.problem.argument_names
    others = [
        f"other values of {path}" if isinstance(value, torch.Tensor) else f"{_name(names, path)} = {value!r}"
        for _, (path, value) in sorted(mixed.values.items(), key=lambda one: one[0])
    ]
    others += [] if mixed.lengths is None else ["other lengths of lists and dicts"]
    shapes = "derived shapes " + shown(trial.shapes_of(call))
    return ", ".join([shapes, *others, *([f"{mixed.kind.name} values"] if mixed.kind is not OWN else [])])


def _name(names: Sequence[str], path: str) -> str:
    number, rest = argument_of(path), path.partition("]")[2]
    return f"{names[number]}{rest}" if number < len(names) else path


def shown(shapes: Sequence[Sequence[int]]) -> str:
    """Shapes in words: `67×2048, 2048`."""
    return ", ".join("×".join(str(size) for size in shape) or "scalar" for shape in shapes)
