"""A traced call as the PyTorch that a person would write: text that runs without `torch.ops`."""

from __future__ import annotations

import keyword
import math
import operator
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - as everybody calls it

from workers.referee.costs.operator_costs import base_name

Node = Any
Namer = Callable[[Node], str]
"""Gives the expression under which a node's value is known."""
END = (1 << 63) - 1
PASSED_ON = frozenset({"alias", "lift_fresh_copy", "detach", "detach_"})
RESERVED = frozenset({"torch", "F", "self"})


def identifier(name: str) -> str:
    """A name for a value, free of what the text needs itself."""
    return f"{name}_" if keyword.iskeyword(name) or name in RESERVED else name


def call_text(node: Node, named: Namer) -> str:
    """The call as an expression. It may not run: the caller has to try it."""
    if node.target is operator.getitem:
        return f"{named(node.args[0])}[{node.args[1]}]"
    name = base_name(str(node.target))
    arguments = [literal(item, named) for item in node.args]
    keywords = {key: literal(item, named) for key, item in node.kwargs.items() if item is not None}
    if name in PASSED_ON:
        return arguments[0]
    if name == "slice":
        return _slice(node, arguments[0])
    if name == "_to_copy":
        kept = {key: value for key, value in keywords.items() if key in ("dtype", "device")}
        return _call(f"{arguments[0]}.to", [], kept)
    if name == "_unsafe_view":
        return _call(f"{arguments[0]}.view", arguments[1:], keywords)
    if hasattr(torch, name):
        return _call(f"torch.{name}", arguments, keywords)
    if hasattr(F, name):
        return _call(f"F.{name}", arguments, keywords)
    return _call(f"{arguments[0]}.{name}", arguments[1:], keywords)


def literal(value: Any, named: Namer) -> str:
    """An argument as an expression."""
    if isinstance(value, torch.fx.Node):
        return named(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(literal(item, named) for item in value)}]"
    if isinstance(value, torch.device):
        return f'torch.device("{value}")'
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, torch.dtype | torch.layout | torch.memory_format):
        return str(value)
    return repr(value)


def _call(function: str, arguments: list[str], keywords: dict[str, str]) -> str:
    return f"{function}({', '.join([*arguments, *(f'{key}={value}' for key, value in keywords.items())])})"


def _slice(node: Node, source: str) -> str:
    """`x[:, 2:7]` for `slice(x, 1, 2, 7)`."""
    given: tuple[Any, ...] = tuple(node.args[1:])
    dim, start, end, step = given + (0, None, None, 1)[len(given) :]
    dim %= node.args[0].meta["val"].dim()
    last = "" if end is None or end >= END else str(end)
    stride = "" if step == 1 else f":{step}"
    return f"{source}[{':, ' * dim}{start or ''}:{last}{stride}]"
