"""Arguments whose lists have other lengths, and whose dicts have further keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from workers.ipc.sparse import is_sparse
from workers.ipc.tensors import flatten
from workers.referee.inputs.unvarying import in_place_of_none

LEAST_LIKE = 2
"""Tensors from which on a list is one of like tensors."""


def of_other_lengths(arguments: list[Any], another: list[Any]) -> Iterator[tuple[str, list[Any]]]:
    """Arguments whose lists of like tensors have one tensor less, one more, which `another` draw has, and one only;
    each with what to call it. Lists of one length change together."""
    lengths = {len(one) for one in _parts(arguments) if _is_list_of_like(one)}
    if not lengths or len(flatten(arguments)) != len(flatten(another)):
        return
    for what, least, change in (("one tensor less", 3, -1), ("one tensor more", 2, 1), ("one tensor only", 2, None)):
        if any(length >= least for length in lengths):
            yield f"lists of {what}", _with_lengths(arguments, another, least, change)


def with_key(arguments: list[Any], key: str) -> Iterator[list[Any]]:
    """Arguments in which each dict that lacks a key has it, with one of the values that may stand for `None`."""
    dicts = [one for one in _parts(arguments) if isinstance(one, dict) and key not in one]
    for value in (*in_place_of_none(flatten(dicts)), True) if dicts else ():
        yield _with_item(arguments, key, value)


def _parts(value: Any) -> Iterator[Any]:
    """The containers within a list of arguments, at any depth."""
    for item in dict.values(value) if isinstance(value, dict) else value:
        if type(item) in (list, tuple, dict):
            yield item
            yield from _parts(item)


def _with_item(value: Any, key: str, item: Any) -> Any:
    """A nested value in which each dict that lacks a key has it with this item."""
    if type(value) is dict:
        return {key: item, **{name: _with_item(one, key, item) for name, one in value.items()}}
    return type(value)(_with_item(one, key, item) for one in value) if type(value) in (list, tuple) else value


def _is_list_of_like(value: Any) -> bool:
    if type(value) not in (list, tuple) or len(value) < LEAST_LIKE:
        return False
    if not all(isinstance(one, torch.Tensor) and not is_sparse(one) for one in value):
        return False
    return len({(one.shape, one.dtype) for one in value}) == 1


def _with_lengths(arguments: list[Any], another: list[Any], least: int, change: int | None) -> list[Any]:
    def other(one: Any, fresh: Sequence[Any]) -> Any:
        if _is_list_of_like(one) and len(one) >= least:
            count = 1 if change is None else len(one) + change
            return type(one)([*one, *fresh][:count])
        if type(one) is dict:
            return {key: other(item, fresh[key]) for key, item in one.items()}
        return type(one)(map(other, one, fresh)) if type(one) in (list, tuple) else one

    return [other(one, fresh) for one, fresh in zip(arguments, another, strict=True)]
