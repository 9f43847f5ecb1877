"""What `forward` gives back as a whole: how its parts are nested, which are tensors, and what it does to its arguments.

Tensors are compared by `comparison`; here their places are. The order of a dict's keys does not matter. A named tuple
is as good as a plain one and the other way round: a candidate cannot import the problem's classes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from workers.ipc.tensors import flatten, structure

NUMBER_RTOL = 1e-4
SEQUENCES = ("list", "tuple", "named")


@dataclass(frozen=True, kw_only=True)
class Selection:
    """What an output holds places of, where equal values may be chosen in any order."""

    dim: int
    """Along which they lie."""
    source: torch.Tensor | None
    """All of them, where that is an argument."""
    values: int | None
    """Which output holds those at these places; None where none does."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the reference makes of some arguments."""

    tensors: list[torch.Tensor]
    """The tensors that it returned, in order."""
    shape: Any
    """How they are nested, as `workers.ipc.tensors.structure` says it."""
    inputs: list[torch.Tensor] | None = None
    """The tensors among the arguments after the call, where the reference changes any."""
    peak_bytes: int = 0
    """The most device memory that the call took, in addition to its inputs."""
    selections: Mapping[int, Selection] = field(default_factory=dict)
    """By output, for those that hold places of values."""

    @classmethod
    def of(cls, value: Any, arguments: Any = None) -> Answer:
        """The answer in what `forward` returned; `arguments` as they are after it, where they may have changed."""
        tensors: list[torch.Tensor] = []
        shape = structure(value, tensors)
        return cls(tensors=tensors, shape=shape, inputs=flatten(arguments) if arguments is not None else None)


class ContractError(Exception):
    """Something is nested otherwise than the reference's."""


def places(actual: Any, expected: Any) -> list[int]:
    """For each tensor that is expected the index of the actual one. Raises `ContractError` saying what differs.

    `actual` comes from a candidate's process: it may be anything that JSON can say."""
    found: list[int] = []
    _match(actual, expected, "the result", found)
    return found


def _match(actual: Any, expected: Any, where: str, found: list[int]) -> None:
    kind, content = _split(expected)
    own_kind, own = _split(actual)
    if kind in SEQUENCES:
        _match_sequence(actual, expected, where, found)
    elif kind != own_kind:
        raise ContractError(f"{where} is {_named(actual)}, expected {_named(expected)}")
    elif kind == "tensor":
        if type(own) is not int or own < 0:
            raise ContractError(f"{where} is not described")
        found.append(own)
    elif kind == "sparse":
        _match_sparse(own, content, where, found)
    elif kind in ("dict", "record"):
        _match_keys(own, content, where, found)
    elif kind == "float":
        if not math.isclose(_number(own), _number(content), rel_tol=NUMBER_RTOL, abs_tol=1e-12):
            raise ContractError(f"{where} is {_named(actual)}, expected {_named(expected)}")
    elif own != content:
        raise ContractError(f"{where} is {_named(actual)}, expected {_named(expected)}")


def _match_sequence(actual: Any, expected: Any, where: str, found: list[int]) -> None:
    (kind, content), (own_kind, own) = _split(expected), _split(actual)
    if own_kind not in SEQUENCES or (own_kind == "list") != (kind == "list") or not isinstance(own, list):
        raise ContractError(f"{where} is {_named(actual)}, expected {_named(expected)}")
    if len(own) != len(content):
        raise ContractError(f"{where} has {len(own)} parts, expected {len(content)}")
    if kind == own_kind == "named" and [_key(pair) for pair in own] != [_key(pair) for pair in content]:
        raise ContractError(f"{where} has the fields {_keys(own)}, expected {_keys(content)}")
    for index, (item, wanted) in enumerate(zip(_items(own_kind, own), _items(kind, content), strict=True)):
        _match(item, wanted, f"part {index} of {where}", found)


def _match_sparse(own: Any, content: Sequence[Any], where: str, found: list[int]) -> None:
    form, parts = content
    own_form, own_parts = own if isinstance(own, list) and len(own) == 2 else (None, None)
    if own_form != form or not isinstance(own_parts, list) or len(own_parts) != len(parts):
        raise ContractError(f"{where} is not the expected sparse tensor, a {form[0]} of shape {form[1]}")
    for index, (item, wanted) in enumerate(zip(own_parts, parts, strict=True)):
        _match(item, wanted, f"part {index} of the sparse tensor {where}", found)


def _match_keys(own: Any, content: Sequence[Any], where: str, found: list[int]) -> None:
    pairs = own if isinstance(own, list) else []
    have = {_key(pair): pair[1] for pair in pairs if isinstance(pair, list) and len(pair) == 2}
    if set(have) != {_key(pair) for pair in content}:
        raise ContractError(f"{where} has the keys {_keys(pairs)}, expected {_keys(content)}")
    for key, wanted in content:
        _match(have[_key([key])], wanted, f"{_shown(key)} of {where}", found)


def _items(kind: str, content: list[Any]) -> list[Any]:
    if kind != "named":
        return content
    return [pair[1] if isinstance(pair, list) and len(pair) == 2 else None for pair in content]


def _split(data: Any) -> tuple[str, Any]:
    if isinstance(data, dict) and len(data) == 1:
        kind, content = next(iter(data.items()))
        return str(kind), content
    return f"a plain {type(data).__name__}", data


def _key(pair: Sequence[Any]) -> str:
    return repr(pair[0]) if pair else ""


def _keys(pairs: Sequence[Any]) -> str:
    return f"[{', '.join(_shown(pair[0]) for pair in pairs[:20] if isinstance(pair, list) and pair)}]"


def _shown(key: Any) -> str:
    return repr(key)[:60]


def _number(text: Any) -> float:
    try:
        return float(text)
    except (TypeError, ValueError):
        return math.nan


def _named(data: Any) -> str:
    kind, content = _split(data)
    if kind in ("tensor", "sparse"):
        return f"a {'sparse ' if kind == 'sparse' else ''}tensor"
    if kind == "other":
        return str(content)[:200]
    if kind in (*SEQUENCES, "dict", "record"):
        return f"a {'dataclass' if kind == 'record' else 'named tuple' if kind == 'named' else kind}"
    return repr(content)[:60]
