"""Does a kernel read what is the same in every draw, and know the indices that mean something else?

Arguments that never change (a mask that lets everything through, equal segments, `steps=3`, what a default stands for)
take other values, within what can be seen of their structure and where the reference takes them, and then some that
lack a structure which callers need not keep. So do labels that the model ignores, whole numbers whose range follows
from what the model does with them, floats of a few kinds, and tensors that were drawn apart: they come close, are
opposite, equal, or one tensor. A kernel has to be right there or to refuse them by an exception: then the report says
what it is limited to.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import random
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from workers.ipc.tensors import flatten, leaves, relaid, with_leaves
from workers.referee.comparison.error_scales import same_bytes
from workers.referee.comparison.output_structure import Answer
from workers.referee.comparison.tolerance import all_finite
from workers.referee.costs.operator_costs import WRITES, base_name
from workers.referee.costs.whole_ranges import EXACT_IN_DOUBLE, WholeRange, hashes, whole_ranges
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
    loose,
    only_mark,
    rebuilt,
    with_mark,
)
from workers.referee.inputs.named_texts import asked_keys, named_texts
from workers.referee.inputs.nested import of_other_lengths, with_key
from workers.referee.inputs.relations import close, equal, opposite
from workers.referee.inputs.shared_structure import without_structure
from workers.referee.inputs.transforms import as_it_is, within
from workers.referee.inputs.unvarying import (
    MOST_FOR_NONE,
    MOST_NUMBERS,
    MOST_OF_ONE,
    MOST_OTHERS,
    Freedom,
    Variation,
    follows,
    fraction,
    identities,
    loosened,
    other_sizes,
    variations,
    wider_numbers,
    with_leaf,
    with_sources,
)
from workers.referee.inputs.value_kinds import may_be_any
from workers.referee.state import ReferenceState
from workers.referee.trial import Trial

SETTLED = 1e-4
"""Difference of two results, over the largest magnitude, up to which they are one."""
OTHER_SETS = 2
"""Further input sets on which one other value of each such argument is tried."""
VALUES_SLOT, CALLS_SLOT, RANGES_SLOT, STRUCTURES_SLOT = 5000, 6000, 7000, 8000
SHARING_DRAWS = 2
"""Draws besides the first one that must have a structure as well."""
SLOWEST_S = 0.05
"""Seconds that the reference may take, by the time that it took for a smaller number."""
IDENTITIES_S = 0.25
"""Seconds up to which a number's identity cases are looked for."""
ORDERED = frozenset(["clamp", "clip", "hardtanh"])
"""Operators of two numbers of which the smaller one comes first."""
VALUES = Distribution(name="other", transform=as_it_is, harsh=True)
"""How values are judged that are not the problem's own."""
MAY_RAISE = ". A kernel may raise an exception for values that it does not support"
MOST_LOOSENED = 4
"""Values that lack a structure which are tried of one leaf."""
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
    ranges = _ranges(state, announced)
    calls = _marked(state, announced) + _related(state, announced)
    has_defaults = len(with_defaults(state, announced)) > len(announced)
    if not (state.unvarying or calls or ranges or has_defaults or flatten(announced)):
        return None
    others = state.set_numbers[1:]
    with _caller(trial) as caller:
        finding = (
            _on_unvarying(caller, 0, announced, notes)
            or _on_wider_numbers(caller, announced, notes)
            or _on_shared_structure(caller, announced, notes)
            or _on_calls(caller, announced, calls, notes)
            or _on_nested(caller, announced, notes)
            or _on_ranges(caller, announced, ranges, notes)
        )
        for number in random.SystemRandom().sample(others, min(OTHER_SETS, len(others))):
            finding = finding or _on_another_set(caller, number, len(leaves(announced)))
    return finding


def on_values_at(trial: Trial, arguments: list[Any], where: str, notes: list[str]) -> GateFinding | None:
    """What is wrong in a call of other sizes with indices that the model names, with equal tensors, and with values
    that lack a structure; `notes` gets what became of them."""
    state = trial.state
    calls = _marked(state, arguments) + _related(state, arguments)
    paths = [path for path, _ in leaves(arguments)]
    for place in state.unvarying:
        if place < len(paths) and not state.problem.limits.is_fixed(argument_of(paths[place])):
            name = _called(state.problem.argument_names, paths[place])
            variations = (one for one, _ in itertools.islice(_loosened_ones(state, arguments, place), MOST_LOOSENED))
            calls += [
                (f"{one.what} {name}", VALUES, state.problem.forward_arguments(one.arguments)) for one in variations
            ]
    with _caller(trial) as caller:
        return _on_calls(
            caller, arguments, [(f"{where}, {what}", kind, changed) for what, kind, changed in calls], notes
        )


def _marked(state: ReferenceState, arguments: list[Any]) -> list[tuple[str, Distribution, list[Any]]]:
    """Calls with indices that the model names, in places and everywhere, and with floats that are of a few kinds."""
    kinds = (one for number in state.traits.named_indices for one in (with_mark(number), only_mark(number)))
    marks = [one for one in (*kinds, FEW_FLOATS) if changes(arguments, one)]
    return [(f"{mark.name} values", VALUES, drawn(arguments, mark)) for mark in marks]


def _on_another_set(trial: Trial, number: int, count: int) -> GateFinding | None:
    """The same for another open input set, whose sizes may have a way of their own through a kernel."""
    announced = trial.state.problem.forward_arguments(trial.draw(number, OWN))
    return None if len(leaves(announced)) != count else _on_unvarying(trial, number, announced, [])


def _on_unvarying(trial: Trial, number: int, announced: list[Any], notes: list[str]) -> GateFinding | None:
    state, whole = trial.state, with_defaults(trial.state, announced)
    paths, values = zip(*leaves(whole), strict=True)
    names = [_called(state.problem.argument_names, path) for path in paths]
    places = [*state.unvarying, *range(len(leaves(announced)), len(paths))]
    numbers = sum(isinstance(values[place], int | float) for place in places)
    varied = set[int]()
    for place in places:
        argument = argument_of(paths[place])
        if place in varied or state.problem.limits.is_fixed(argument):
            continue
        given = whole[: max(len(announced), argument + 1)]
        most = MOST_FOR_NONE if values[place] is None else MOST_OTHERS
        if isinstance(values[place], int | float):
            most = max(MOST_OTHERS, min(MOST_OF_ONE, MOST_NUMBERS // numbers))
        loosened_ones = _loosened_ones(state, announced, place) if number == 0 and argument < len(announced) else ()
        tried = itertools.chain(
            itertools.islice(taken_ones(state, given, place), most if number == 0 else 1),
            itertools.islice(taken_ones(state, given, place, with_sources(given, place)), MOST_OTHERS),
            _identities(state, given, place) if number == 0 and _is_number(values[place]) else (),
            itertools.islice(loosened_ones, MOST_LOOSENED),
        )
        is_tried, refusal = False, None
        for variation, answer in tried:
            is_tried = True
            varied |= variation.places
            where = f"{variation.what} {names[place]}, which is the same in every draw"
            where = f"input set {number}, {where}" if number else where
            finding, refused = _tried(trial, variation.arguments, VALUES_SLOT + place, where, answer)
            if finding is not None:
                return finding
            refusal = refusal or refused
        notes.append(_outcome(names[place], refusal, given, place, is_tried=is_tried))
    return None


def _on_wider_numbers(trial: Trial, announced: list[Any], notes: list[str]) -> GateFinding | None:
    """What is wrong with single fractions that vary, where they are larger than in any draw and the reference is exact
    still."""
    state = trial.state
    fractions = [place for place, (_, value) in enumerate(leaves(announced)) if fraction(value) is not None]
    if not set(fractions) - set(state.unvarying):
        return None
    draws = [announced, *(state.problem.forward_arguments(trial.draw(0, OWN)) for _ in range(SHARING_DRAWS))]
    calls = list[tuple[str, Distribution, list[Any]]]()
    for place, factor, other in wider_numbers(draws):
        name = _called(state.problem.argument_names, leaves(announced)[place][0])
        kept = state.problem.limits.kept(announced, other)
        found = None if is_same(kept, announced) else with_cotangents(state, kept, is_plain=True)
        if found is not None and state.accuracy.is_steady_on(found[0]):
            calls.append((f"values of {name} {factor} times as large as drawn", VALUES, kept))
    return _on_calls(trial, announced, calls, notes)


def with_defaults(state: ReferenceState, announced: Sequence[Any]) -> list[Any]:
    """Arguments with those that were left out, as far as what they are then is known."""
    left_out = itertools.takewhile(
        lambda name: name in state.problem.defaults, state.problem.argument_names[len(announced) :]
    )
    return [*announced, *(state.problem.defaults[name] for name in left_out)]


def _ranges(state: ReferenceState, announced: list[Any]) -> dict[int, WholeRange]:
    """The ranges of the tensors that hold whole numbers in no order, by their numbers, where the graph shows them."""
    tensors = flatten(announced)
    if state.analysis.other_forms or len(tensors) != len(state.analysis.inputs):
        return {}
    if not any(may_be_any(one) for one in tensors):
        return {}
    free = loose(tensors)
    return {
        place: one
        for place, one in whole_ranges(state.analysis).items()
        if any(tensors[place] is other for other in free) and may_be_any(tensors[place])
        if not (state.place.is_gpu and one.is_index)  # one out of range costs the process its device
    }


def _on_ranges(
    trial: Trial, announced: list[Any], ranges: dict[int, WholeRange], notes: list[str]
) -> GateFinding | None:
    """What is wrong where whole numbers come from all of their ranges: from zero on, and with both signs."""
    limits, tensors = trial.state.problem.limits, flatten(announced)
    wide = any(2 * int(tensors[place].max()) < one.high for place, one in ranges.items())
    kinds = [("larger", True, ranges)] if wide else []
    kinds += [("any", False, ranges)] if any(one.low < 0 for one in ranges.values()) else []
    analysis = trial.state.analysis
    further = [("converted", whole_ranges(analysis, converted=EXACT_IN_DOUBLE))] if ranges else []
    further += [("wrapping", whole_ranges(analysis, wraps=True))] if ranges and hashes(analysis) else []
    for kind, others in further:
        if all(place in others for place in ranges):
            wider = {place: others[place] for place in ranges}
            kinds += [(kind, True, wider)] if wider != ranges else []
    for index, (kind, is_positive, given) in enumerate(kinds):
        changed = list(tensors)
        for place, one in given.items():
            low = 0 if is_positive else one.low
            changed[place] = within(tensors[place], low, one.high, evenly=one.is_index or kind == "wrapping")
        other = list(rebuilt(announced, relaid(changed, tensors)))
        kept = limits.kept(announced, other) if limits else other
        found = None if is_same(kept, announced) else with_cotangents(trial.state, kept, is_plain=False)
        if found is None or (kind == "converted" and not trial.state.accuracy.is_steady_on(found[0])):
            continue
        finding, refusal = _tried(trial, found[0], RANGES_SLOT + index, f"{kind} whole numbers", found[1])
        if finding is not None:
            return finding
        notes.append(_became(f"{kind} whole numbers", refusal))
    return None


def _on_shared_structure(trial: Trial, announced: list[Any], notes: list[str]) -> GateFinding | None:
    """What is wrong with values that vary, where they lack a structure that all draws share. Of one that kernels may
    rely on, only what breaks the process: the report says the rest."""
    state = trial.state
    paths = [path for path, _ in leaves(announced)]
    fixed = {place for place, path in enumerate(paths) if state.problem.limits.is_fixed(argument_of(path))}
    removals = without_structure(
        announced,
        lambda: [state.problem.forward_arguments(trial.draw(0, OWN)) for _ in range(SHARING_DRAWS)],
        [place for place in range(len(paths)) if place not in fixed and place not in state.unvarying],
        _freedom(state),
    )
    for index, removal in enumerate(removals):
        if state.problem.limits.excludes(announced, removal.arguments):
            continue
        found = with_cotangents(state, removal.arguments, is_plain=False)
        if found is None:
            continue
        name, gate = _called(state.problem.argument_names, paths[removal.place]), trial.errors.gate
        where = f"{name} without {removal.structure}"
        try:
            trial.errors.gate = None if removal.is_promise else gate
            finding, refusal = _tried(trial, found[0], STRUCTURES_SLOT + index, where, found[1])
        finally:
            trial.errors.gate = gate
        if finding is None:
            notes.append(_became(where, refusal))
        elif finding.gate is None and removal.is_promise:
            only = f"PROVEN FOR {removal.structure.upper()} IN {name} ONLY"
            wrong = finding.detail.removeprefix(f"{where}: ").removesuffix(MAY_RAISE)
            notes.append(f"{only}: others are computed wrongly, without an exception ({wrong[:SHOWN]})")
        else:
            return finding
    return None


def _on_calls(
    trial: Trial, announced: list[Any], calls: Sequence[tuple[str, Distribution, list[Any]]], notes: list[str]
) -> GateFinding | None:
    """What is wrong in other calls, each with a description of its values and how they are judged."""
    state = trial.state
    for index, (where, kind, changed) in enumerate(calls):
        if state.problem.limits.excludes(announced, changed):
            continue
        found = with_cotangents(state, changed, is_plain=False)
        if found is None:
            continue
        finding, refusal = _tried(trial, found[0], CALLS_SLOT + index, where, found[1], kind)
        if finding is not None:
            return finding
        notes.append(_became(where, refusal))
    return None


def _on_nested(trial: Trial, announced: list[Any], notes: list[str]) -> GateFinding | None:
    """What is wrong with lists of other lengths, and with keys of dicts that the model asks for and that are absent."""
    state = trial.state
    calls = list[tuple[str, Distribution, list[Any]]]()
    if any(isinstance(one, list | tuple | dict) for one in announced):
        another = state.problem.forward_arguments(trial.draw(0, OWN))
        calls += [(where, VALUES, one) for where, one in of_other_lengths(announced, another)]
        for key in asked_keys(state.problem.problem.source):
            given = ((f"a key {key!r}", VALUES, one) for one in with_key(announced, key))
            calls += itertools.islice((one for one in given if _is_taken(state, one[2])), MOST_FOR_NONE)
    return _on_calls(trial, announced, calls, notes)


def _is_taken(state: ReferenceState, arguments: list[Any]) -> bool:
    return with_cotangents(state, arguments, is_plain=True) is not None


def _related(state: ReferenceState, announced: list[Any]) -> list[tuple[str, Distribution, list[Any]]]:
    """Calls whose tensors are close to each other, opposite, or equal, where what the reference does with equal values
    is known: one tensor then, unless the reference changes its arguments or has gradients of them."""
    may_be_near = state.traits.knows_ties or not state.problem.is_step
    near, other = (close(announced), opposite(announced)) if may_be_near else (None, None)
    shared = not (state.mutates or state.problem.is_step)
    same = equal(announced, shared=shared) if state.traits.knows_ties else None
    found = (
        ("arguments close to each other", CLOSE, near),
        ("arguments close to each other's opposites", CLOSE, other),
        ("equal arguments", EQUAL, same),
    )
    return [(where, kind, changed) for where, kind, changed in found if changed is not None]


def _became(where: str, refusal: str | None) -> str:
    return f"passed on {where}" if refusal is None else f"limited: {where} are refused with {refusal[:SHOWN]}"


def taken(state: ReferenceState, arguments: list[Any], tensors: list[torch.Tensor]) -> list[Any] | None:
    """The arguments with these tensors, and cotangents to fit, where the problem's promises permit them and the
    reference takes them."""
    limits = state.problem.limits
    other = limits.fitted(arguments, list(rebuilt(arguments, tensors)), may_move=not state.traits.chooses)
    found = None if other is None else with_cotangents(state, other, is_plain=False)
    return None if found is None else found[0]


def with_cotangents(state: ReferenceState, arguments: list[Any], *, is_plain: bool) -> tuple[list[Any], Answer] | None:
    """Arguments of a call, where the reference takes them, and what it makes of them; `is_plain`: whether plain values
    are other ones."""
    if not _rehearsed(state, arguments, is_plain=is_plain):
        return None
    try:
        call = state.problem.with_cotangents(arguments)
        answer = state.expected(call)
    except Refused:
        return None
    return (call, answer) if len(answer.tensors) == len(state.metas(0)) and all_finite(answer.tensors) else None


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


def taken_ones(
    state: ReferenceState, given: Sequence[Any], place: int, made: Iterable[Variation] | None = None
) -> Iterator[tuple[Variation, Answer]]:
    """Other values that the reference takes, those `made` if any are given, with what it makes of them, and on which it
    gives the same twice: a dropout's rate that was zero would no longer."""
    path, leaf = leaves(list(given))[place]
    if made is None:
        texts = named_texts(state.problem.problem.source, _last_name(state, path)) if isinstance(leaf, str) else ()
        made = variations(given, place, random.SystemRandom(), texts)
    for variation, answer in _answered(state, given, place, made):
        call = variation.arguments
        if _is_fit(call, answer, leaf) and _is_settled(state, call, answer):
            yield variation, answer


def _identities(state: ReferenceState, given: Sequence[Any], place: int) -> Iterator[tuple[Variation, Answer]]:
    """Other values of a number for which the reference gives an argument back, in memory of its own. A larger size
    than the first such one may be cut."""
    if state.problem.is_step:  # where it lies is its gradients' business, too
        return
    began, had_size = time.perf_counter(), False
    own = leaves(list(given))[place][1]
    for variation, answer in _answered(state, given, place, identities(given, place)):
        if time.perf_counter() - began > IDENTITIES_S:
            return
        call, number = variation.arguments, leaves(variation.arguments)[place][1]
        is_size = number not in (0, 1)
        if number != own and not (is_size and had_size) and _gives_back(call, answer):
            had_size |= is_size
            if not state.problem.manners(call).aliases and _is_settled(state, call, answer):
                yield variation, answer


def _answered(
    state: ReferenceState, given: Sequence[Any], place: int, made: Iterable[Variation]
) -> Iterator[tuple[Variation, Answer]]:
    """Other values within what the problem promises that the reference takes, and not for long."""
    largest, seconds_by, own = 0, 0.0, _whole(given, place)
    is_size = functools.cache(lambda: own in other_sizes(given, place) and not _is_apart(state, given, place))
    usual = functools.cache(lambda: [one.shape for one in _made_of(state, given) or ()])
    for variation in made:
        arguments = _within_limits(state, given, variation, place)
        if arguments is None or not _keeps_order(state, given, arguments, place):
            continue
        number = _whole(arguments, place)
        if abs(number) * seconds_by > SLOWEST_S:  # by the largest: a call's fixed cost weighs least there
            continue
        began = time.perf_counter()
        found = with_cotangents(state, arguments, is_plain=True)
        if found is None:
            continue
        if abs(number) > largest:
            largest, seconds_by = abs(number), (time.perf_counter() - began) / abs(number)
        call, answer = found
        if 0 <= number <= own or not is_size() or [one.shape for one in _own(state, answer)] != usual():
            yield dataclasses.replace(variation, arguments=call), answer


def _is_apart(state: ReferenceState, given: Sequence[Any], place: int) -> bool:
    """Whether a number that is a size of tensors is another thing: what lies beyond a smaller number counts still."""
    found = [value for _, value in leaves(list(given))]
    size = _whole(given, place)
    tensors = [(index, one) for index, one in enumerate(found) if isinstance(one, torch.Tensor) and index != place]
    floats = [(index, one) for index, one in tensors if one.layout is torch.strided and one.is_floating_point()]
    lines = [(index, dim) for index, one in floats for dim in range(one.dim()) if one.shape[dim] == size]
    for smaller in dict.fromkeys([size - 1, size // 2]) if size and lines else ():
        cut = with_leaf(given, place, smaller)
        before = _made_of(state, cut)
        if before is None:
            continue
        for index, dim in lines:
            other = found[index].clone()
            other.select(dim, size - 1).copy_(other.select(dim, size - 1) * 0.5)
            changed = [other if at == index else value for at, (_, value) in enumerate(leaves(cut))]
            after = _made_of(state, list(with_leaves(cut, changed)))
            if after is None or all(_agree(*pair) for pair in zip(before, after, strict=True)):
                return False
        return True
    return False


def _made_of(state: ReferenceState, arguments: Sequence[Any]) -> list[torch.Tensor] | None:
    """What the reference makes of arguments, without gradients; None where it does not take them."""
    found = with_cotangents(state, list(arguments), is_plain=True)
    return None if found is None else _own(state, found[1])


def _own(state: ReferenceState, answer: Answer) -> list[torch.Tensor]:
    """The tensors of an answer without gradients."""
    return answer.tensors[: len(answer.tensors) - len(state.problem.gradient_names)]


def _is_fit(call: list[Any], answer: Answer, leaf: Any) -> bool:
    """Whether a kernel can be judged by what the reference makes of other values: it returns something, and where a
    number is another one, no argument as it is, which may or may not lie in its own memory."""
    return any(one.numel() for one in answer.tensors) and not (_is_number(leaf) and _gives_back(call, answer))


def _gives_back(call: list[Any], answer: Answer) -> bool:
    """Whether an argument is returned as it is."""
    return any(one.numel() and same_bytes(one, other) for one in answer.tensors for other in flatten(call))


def _keeps_order(state: ReferenceState, given: Sequence[Any], other: Sequence[Any], place: int) -> bool:
    """Whether bounds are still in order, where the reference may have two."""
    names = {base_name(item.target) for item in state.analysis.operators}
    if names and not names & ORDERED:
        return True
    before, after = ([value for _, value in leaves(list(one))] for one in (given, other))
    if len(before) != len(after) or not _is_number(before[place]) or not _is_number(after[place]):
        return True
    pairs = [(a, b) for a, b in zip(before, after, strict=True) if _is_number(a) and _is_number(b)]
    return all(
        (one < before[place]) <= (other <= after[place]) and (one > before[place]) <= (other >= after[place])
        for one, other in pairs
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole(arguments: Sequence[Any], place: int) -> int:
    """The whole number that a leaf is, or a tensor of one; zero where it is none."""
    value = leaves(list(arguments))[place][1]
    if isinstance(value, torch.Tensor) and value.layout is torch.strided and value.numel() == 1:
        value = value.item()
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _last_name(state: ReferenceState, path: str) -> str:
    """The argument, field or key that a leaf belongs to."""
    rest = path.partition("]")[2]
    if rest:
        return rest.rpartition(".")[2] if not rest.endswith("]") else rest.rpartition("[")[2].strip("]'\"")
    number, names = argument_of(path), state.problem.argument_names
    return names[number] if number < len(names) else ""


def _freedom(state: ReferenceState) -> Freedom:
    known, names = bool(state.traits.names), state.traits.names
    return Freedom(repeats=known and not names & WRITES, restarts=not names & SEARCHES, empty_rows=not names & ATTENDS)


def _loosened_ones(state: ReferenceState, announced: list[Any], place: int) -> Iterator[tuple[Variation, Answer]]:
    """Values that lack an announced structure, where the reference takes them."""
    for variation in loosened(announced, place, _freedom(state)):
        if not state.problem.limits.excludes(announced, variation.arguments):
            found = with_cotangents(state, variation.arguments, is_plain=True)
            if found is not None:
                yield dataclasses.replace(variation, arguments=found[0]), found[1]


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


def _is_settled(state: ReferenceState, arguments: list[Any], answer: Answer) -> bool:
    again = state.problem.run(arguments).tensors
    return all(_agree(one, other) for one, other in zip(answer.tensors, again, strict=True))


def _agree(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two results are the same but for the order of sums, which is another each time on a GPU."""
    if one.shape != other.shape or not one.is_floating_point() or not one.numel():
        return same_bytes(one, other)
    wide, again = one.double(), other.double()
    return bool((wide - again).abs().amax() <= SETTLED * wide.abs().amax())


def _tried(
    trial: Trial, arguments: list[Any], number: int, where: str, answer: Answer, kind: Distribution = VALUES
) -> tuple[GateFinding | None, str | None]:
    """What is wrong on other values, of which the reference makes `answer`, and how the kernel refuses them if it
    does. Nothing is, where a rounding decides too much there."""
    try:
        finding = try_values(trial, arguments, number, where, kind, answer)
    except RunnerFault as fault:
        if fault.kind is FaultKind.RAISED:
            return after_an_exception(trial), str(fault)
        raise fault.at(where, MAY_RAISE) from None
    if finding is not None and finding.gate is None:
        if _is_a_matter_of_rounding(trial.state, arguments, answer, kind):
            return None, None
        finding = finding.advised(MAY_RAISE)
    return finding, None


def _is_a_matter_of_rounding(state: ReferenceState, arguments: list[Any], answer: Answer, kind: Distribution) -> bool:
    """Whether the reference itself loses nearly all digits there, as of arguments that are close to each other or
    equal."""
    scales = state.accuracy.scales_on(arguments, answer.tensors, kind)
    return scales is None or (kind in (CLOSE, EQUAL) and state.accuracy.is_ill_conditioned(scales, answer.tensors))


def _outcome(name: str, refusal: str | None, announced: Sequence[Any], place: int, *, is_tried: bool) -> str:
    """What became of a leaf, for the report."""
    if refusal is not None:
        return f"limited to {name} as announced: other values are refused with {refusal[:SHOWN]}"
    if is_tried:
        return f"passed on other values of {name}"
    if follows(announced, place):
        return f"{name} follows from another argument, and is tried with that only"
    leaf = leaves(list(announced))[place][1]
    if leaf is None or isinstance(leaf, str):
        return f"{name} is {leaf!r} in every draw: the reference takes nothing else that was tried"
    return f"{name} did not vary: the reference takes no other value that keeps its structure"


def argument_of(path: str) -> int:
    """The number of the argument that a leaf belongs to."""
    return int(path.removeprefix("[").partition("]")[0])


def _called(names: Sequence[str], path: str) -> str:
    """The name of a leaf of the arguments: `scale`, `options['steps']`."""
    number, rest = argument_of(path), path.partition("]")[2]
    name = names[number] if number < len(names) else f"argument {number}"
    return f"`{name}{rest}`" if name.isidentifier() else f"{name}{rest}"
