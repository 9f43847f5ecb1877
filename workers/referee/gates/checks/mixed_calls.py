"""Is a kernel right where several things change together?

Sizes, values and arguments that never vary change one at a time elsewhere; a kernel may do well with each and ignore
what two of them mean together: what is right of whole tiles and below them, another scale for rows of an odd size. So
a few calls change all of them. Each thing has two ways to be (a group of dimensions is short or long, an argument as
announced or not, values the problem's own or not), and any two things come in each of their four combinations.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from workers.ipc.tensors import flatten, leaves, with_leaves
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import all_finite
from workers.referee.errors import FaultKind, Refused, RunnerFault
from workers.referee.gates.checks.calls import try_values
from workers.referee.gates.checks.other_values import taken, taken_ones, with_cotangents
from workers.referee.gates.checks.recovery import after_an_exception
from workers.referee.gates.checks.size_groups import SizeGroup, announced, bytes_of, bytes_with, larger, to_size
from workers.referee.gates.finding import GateFinding
from workers.referee.inputs.distributions import OWN, Distribution
from workers.referee.inputs.named_sizes import named_sizes
from workers.referee.inputs.unvarying import keeps_structure
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
ATTEMPTS = 3
MOST_BYTES = 8 << 20
"""Inputs of such a call, or twice those that were announced."""
MAY_RAISE = ". A kernel may raise an exception for shapes and values that it does not support"


@dataclass(kw_only=True)
class _Mixed:
    """What a call changes."""

    sizes: list[tuple[SizeGroup, int]]
    values: dict[int, Any] = field(default_factory=dict)
    """Leaves by their numbers."""
    is_changed: bool = False
    """Whether values are to be of another kind."""
    kind: Distribution = OWN


def on_mixed(
    trial: Trial, groups: Sequence[SizeGroup], notes: list[str], *, number: int = 0, most: int = CALLS, where: str = ""
) -> GateFinding | None:
    """What is wrong in calls of an input set of which sizes, values and unvarying arguments change together; `notes`
    gets what became of each. `where` begins what is said of them."""
    generator, named = random.SystemRandom(), named_sizes(trial.request.source)
    places = _places(trial, announced(trial, number))
    if not groups:
        return None
    ways = itertools.cycle(generator.sample(PATTERNS, len(PATTERNS)))
    things: dict[Any, tuple[int, ...]] = dict(zip(["values", *places, *map(id, groups)], ways, strict=False))
    room = max(MOST_BYTES, 2 * bytes_of(announced(trial, number)))
    for index in generator.sample(range(CALLS), most):
        if trial.used_share > trial.budget.shapes_share:
            break
        second = {thing for thing, calls in things.items() if index in calls}
        chosen = _sized(trial, groups, second, named, number, room)
        if chosen is None:
            continue
        mixed, call = chosen
        changing = [one for one in places if one in second]
        call, answer = _with_kind(trial, mixed, _with_others(trial, mixed, call, changing, number))
        place = where + _told(trial, mixed, call)
        try:
            finding = _tried(trial, mixed, call, answer, number, MIXED_SLOT + index, place)
        except RunnerFault as fault:
            if fault.kind is not FaultKind.RAISED:
                rest = "" if fault.kind is FaultKind.FORGED else MAY_RAISE
                raise RunnerFault(fault.kind, f"{place}: {fault}{rest}") from None
            notes.append(f"{place}: refused with {str(fault)[:200]}")
            finding = None if where else after_an_exception(trial)
        else:
            notes.append(f"passed on {place}")
        if finding is not None:
            return dataclasses.replace(finding, detail=finding.detail + MAY_RAISE) if finding.gate is None else finding
    return None


def _places(trial: Trial, arguments: list[Any]) -> list[int]:
    """The leaves that do not vary and may."""
    state = trial.state
    found = leaves(arguments)
    return [
        place
        for place in state.unvarying
        if place < len(found) and not state.problem.limits.is_fixed(int(found[place][0][1:].partition("]")[0]))
    ]


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
    state, known = trial.state, leaves(announced(trial, number))
    for place in places:
        forward = state.problem.forward_arguments(call)
        if place in mixed.values or len(leaves(forward)) <= place:
            continue
        others = (
            one for one in taken_ones(state, forward, place) if has_structure_of(known, one[0].arguments, one[0].places)
        )
        found = list(itertools.islice(others, random.SystemRandom().choice((1, 1, 2))))
        if found:
            variation, _ = found[-1]
            call = variation.arguments
            after = leaves(state.problem.forward_arguments(call))
            mixed.values.update({at: after[at][1] for at in variation.places})
    return call


def has_structure_of(known: Sequence[tuple[str, Any]], call: list[Any], places: Iterable[int]) -> bool:
    """Whether tensors of a call, by their places, have the structure of the announced ones."""
    given = leaves(call)
    return all(
        keeps_structure(known[place][1], given[place][1])
        for place in places
        if isinstance(known[place][1], torch.Tensor) and known[place][1].numel() > 1
    )


def _with_kind(trial: Trial, mixed: _Mixed, call: list[Any]) -> tuple[list[Any], Answer | None]:
    """The call with another kind of values, of those tried on the first input set, where the reference takes one, and
    what it makes of it."""
    kinds = [one for one in trial.state.usable(0) if one.finite and not one.has_ties and one.layout == DENSE]
    kinds = [one for one in kinds if mixed.is_changed and one.transform is not None]
    generator = random.SystemRandom()
    for some in ([one for one in kinds if one.harsh], kinds):
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
        changed = to_size(trial, group.axes, size, apart=state.chooses)(tensors) if has_room else None
        if changed is not None:
            tensors = changed
        elif room is not None:
            mixed.sizes = [one for one in mixed.sizes if one[0] is not group]
    call = taken(state, arguments, tensors)
    if call is not None and mixed.values:
        call = _with_values(trial, call, mixed.values)
    return None if call is None else state.changed(call, mixed.kind)


def _answer(trial: Trial, call: list[Any]) -> Answer | None:
    """What the reference makes of a call, where that is finite and something."""
    try:
        answer = trial.state.expected(call)
    except Refused:
        return None
    return answer if all_finite(answer.tensors) and any(one.numel() for one in answer.tensors) else None


def _with_values(trial: Trial, call: list[Any], values: Mapping[int, Any]) -> list[Any] | None:
    """The call with other leaves, and cotangents to fit."""
    forward = trial.state.problem.forward_arguments(call)
    changed = [values.get(place, value) for place, (_, value) in enumerate(leaves(forward))]
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
    scales = trial.state.scales_on(again, expected.tensors, mixed.kind)
    return None if scales is None else try_values(trial, again, slot, where, mixed.kind, expected, scales)


def _told(trial: Trial, mixed: _Mixed, call: list[Any]) -> str:
    """A call in words: its shapes, and what else has changed."""
    forward = leaves(trial.state.problem.forward_arguments(call))
    names = trial.state.problem.argument_names
    others = [
        f"other values of {path}" if isinstance(value, torch.Tensor) else f"{_name(names, path)} = {value!r}"
        for place, (path, value) in enumerate(forward)
        if place in mixed.values
    ]
    shapes = "derived shapes " + shown(trial.shapes_of(call))
    return ", ".join([shapes, *others, *([f"{mixed.kind.name} values"] if mixed.kind is not OWN else [])])


def _name(names: Sequence[str], path: str) -> str:
    number, _, rest = path[1:].partition("]")
    return f"{names[int(number)]}{rest}" if int(number) < len(names) else path


def shown(shapes: Sequence[Sequence[int]]) -> str:
    """Shapes as people write them: `67×2048, 2048`."""
    return ", ".join("×".join(str(size) for size in shape) or "scalar" for shape in shapes)
