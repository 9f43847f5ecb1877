"""Arguments whose lists and dicts have other lengths, and whose dicts have further keys."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from workers.ipc.sparse import is_sparse
from workers.ipc.tensors import flatten, leaves
from workers.referee.inputs.unvarying import in_place_of_none

UNKNOWN_KEY = "further"
"""A key that no model asks for."""
MOST_GROUPS = 4
"""Groups of lists that change their length together."""
MOST_LEFT_OUT = 2
"""Keys that are left out, one at a time."""
LENGTHS: tuple[tuple[str, int, Callable[[int], int]], ...] = (
    ("one item less", 3, lambda length: length - 1),
    ("one item more", 1, lambda length: length + 1),
    ("one item only", 2, lambda _length: 1),
)
"""How lists change their length, and from which one on."""


def of_other_lengths(
    arguments: list[Any], another: list[Any], generator: random.Random | None = None
) -> Iterator[tuple[str, list[Any]]]:
    """Arguments whose lists have one item less, one more, about as `another` draw has it, and one only, and whose dicts
    lack a key or have an unknown one; each with what to call it. Lists of one length change together, and where these
    are of several kinds, each kind alone too."""
    generator = generator or random.SystemRandom()
    if [path for path, _ in leaves(arguments)] != [path for path, _ in leaves(another)]:
        return
    groups = _groups(arguments)
    for length, kinds in generator.sample(groups, min(MOST_GROUPS, len(groups))):
        for what, least, changed in LENGTHS:
            if length >= least:
                count = changed(length)
                lists = f"lists of {length} {kinds[0] if len(kinds) == 1 else 'items'}, with {what}"
                yield lists, _each(arguments, another, _to_length(length, kinds, count, generator))
    dicts = [one for one in _parts(arguments) if isinstance(one, dict)]
    keys = list(dict.fromkeys(key for one in dicts if len(one) > 1 for key in one))
    for key in generator.sample(keys, min(MOST_LEFT_OUT, len(keys))):
        yield f"dicts without {key!r}", _each(arguments, another, _without(key))
    if any(dicts):
        yield "dicts with an unknown key", _each(arguments, another, _with_unknown)


def with_key(arguments: list[Any], key: str) -> Iterator[list[Any]]:
    """Arguments in which each dict that lacks a key has it, with one of the values that may stand for `None`."""
    dicts = [one for one in _parts(arguments) if isinstance(one, dict) and key not in one]
    for value in (*in_place_of_none(flatten(dicts)), True) if dicts else ():
        yield _each(arguments, arguments, _with_item(key, value))


def _parts(value: Any) -> Iterator[Any]:
    """The containers within a list of arguments, at any depth."""
    for item in dict.values(value) if isinstance(value, dict) else value:
        if type(item) in (list, tuple, dict):
            yield item
            yield from _parts(item)


def _groups(arguments: list[Any]) -> list[tuple[int, tuple[str, ...]]]:
    """Lengths of lists, each with the kinds of lists that change together."""
    found = dict[int, list[str]]()
    for one in _parts(arguments):
        kind = _kind(one)
        if kind is not None and kind not in found.setdefault(len(one), []):
            found[len(one)].append(kind)
    several = [(length, tuple(kinds)) for length, kinds in found.items() if len(kinds) > 1]
    return [*several, *((length, (kind,)) for length, kinds in found.items() for kind in kinds)]


def _kind(value: Any) -> str | None:
    """What a list is one of; None for one that keeps its length."""
    if type(value) not in (list, tuple) or not value:
        return None
    if all(isinstance(one, torch.Tensor) for one in value):
        return None if any(map(is_sparse, value)) else "tensors"
    return "numbers" if all(isinstance(one, int | float) for one in value) else "other values"


def _each(arguments: list[Any], another: list[Any], change: Callable[[Any, Any], Any]) -> list[Any]:
    """Arguments in which each container is what `change` makes of it and of the one in another draw."""

    def changed(one: Any, fresh: Any) -> Any:
        if type(one) is dict:
            return change({key: changed(item, fresh[key]) for key, item in one.items()}, fresh)
        if type(one) in (list, tuple):
            return change(type(one)(map(changed, one, fresh)), fresh)
        return one

    return [changed(one, fresh) for one, fresh in zip(arguments, another, strict=True)]


def _to_length(length: int, kinds: Sequence[str], count: int, generator: random.Random) -> Callable[[Any, Any], Any]:
    def change(one: Any, fresh: Any) -> Any:
        if type(one) is dict or len(one) != length or _kind(one) not in kinds:
            return one
        return type(one)(one[:count] if count <= length else [*one, _further(one, fresh, generator)])

    return change


def _further(items: Sequence[Any], fresh: Sequence[Any], generator: random.Random) -> Any:
    """One more item: a number of those that there are, or the last one of another draw, of tensors that become smaller
    a part of it."""
    last, before = items[-1], items[-2:][0]
    if isinstance(last, int | float):
        return generator.choice(items)
    found = fresh[-1]
    if isinstance(last, torch.Tensor) and isinstance(before, torch.Tensor) and before.dim() == last.dim():
        for axis, (larger, size) in enumerate(zip(before.shape, last.shape, strict=True)):
            if 0 < size < larger:
                found = found.narrow(axis, 0, max(1, size * size // larger)).contiguous()
    return found


def _without(key: Any) -> Callable[[Any, Any], Any]:
    def change(one: Any, _fresh: Any) -> Any:
        has_more = type(one) is dict and len(one) > 1
        return {name: item for name, item in one.items() if name != key} if has_more else one

    return change


def _with_item(key: str, value: Any) -> Callable[[Any, Any], Any]:
    return lambda one, _fresh: {key: value, **one} if type(one) is dict else one


def _with_unknown(one: Any, fresh: Any) -> Any:
    """A dict with one item more, which is like its last one."""
    return {**one, UNKNOWN_KEY: list(fresh.values())[-1]} if type(one) is dict and one else one
