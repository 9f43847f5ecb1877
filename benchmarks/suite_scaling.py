"""A suite's problem on sizes that a CPU computes in seconds.

Whole numbers of the file's inputs (its constants, and what the functions say that make inputs and arguments of the
model) are halved, equal ones together and the largest first, while the model can still be called and costs less. Of
many input sets the first ones count.
"""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

LEAST = 8
"""Smaller numbers stay: they are counts of layers, kernel sizes, dimensions."""
MOST_SETS = 3
UNTRACED_PART = 1 / 16
"""Of what a call may cost, where only its beginning could be followed without values."""
TRIES_S = 90.0
_INPUTS = re.compile(r"get_inputs|get_init_inputs|_inputs_\d+|_test_\d+|_held_out_\d+")
_CUT = "\nINPUT_SETS = INPUT_SETS[:{sets}]\n"


@dataclass(frozen=True)
class Cost:
    """What a call costs, 1.0 being the most that is wanted, and what stood in the way of following it further."""

    cost: float
    reason: str = ""

    @property
    def is_enough(self) -> bool:
        """Whether it is small."""
        return self.cost <= (UNTRACED_PART if self.reason else 1.0)

    def better_than(self, other: Cost) -> bool:
        """Whether it can be followed as far as the other, and is cheaper."""
        return self.reason in (other.reason, "") and (self.cost < other.cost or "too many" in self.reason)


@dataclass(frozen=True)
class Scaled:
    """A text on smaller sizes."""

    source: str
    changes: str
    """What was done, `4096 is 256`; empty for a text as it was."""


def scaled(source: str, cost_of: Callable[[str], Cost]) -> Scaled:
    """The text with smaller sizes where its own are too large."""
    cut = _with_fewer_sets(source)
    text, known = cut.source, cost_of(cut.source)
    sizes = {number: number for number in _numbers(text)}
    stuck: set[int] = set()
    started = time.monotonic()
    while not known.is_enough and time.monotonic() - started < TRIES_S:
        value = max((one for one in set(_numbers(text)) - stuck if one >= LEAST), default=None)
        if value is None:
            break
        other = _replaced(text, value, value // 2)
        found = cost_of(other)
        if found.better_than(known):
            text, known = other, found
            sizes = {old: now // 2 if now == value else now for old, now in sizes.items()}
        else:
            stuck.add(value)
    changes = [cut.changes, *(f"{old} is {now}" for old, now in sorted(sizes.items()) if now != old)]
    return Scaled(text, "; ".join(filter(None, changes)))


def _with_fewer_sets(source: str) -> Scaled:
    tree = ast.parse(source)
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "INPUT_SETS":
            count = len(node.value.elts) + 1 if isinstance(node.value, ast.List) else 0
            if count > MOST_SETS:
                cut = source + _CUT.format(sets=MOST_SETS - 1)
                return Scaled(cut, f"{MOST_SETS} of {count} input sets")
    return Scaled(source, "")


def _nodes(source: str) -> Iterator[ast.Constant]:
    for node in ast.parse(source).body:
        is_constant = isinstance(node, ast.Assign) and not any(isinstance(one, ast.Call) for one in ast.walk(node))
        if is_constant or (isinstance(node, ast.FunctionDef) and _INPUTS.fullmatch(node.name)):
            for one in ast.walk(node):
                if isinstance(one, ast.Constant) and type(one.value) is int:
                    yield one


def _numbers(source: str) -> Iterator[int]:
    return (int(str(one.value)) for one in _nodes(source))


def _replaced(source: str, old: int, new: int) -> str:
    lines = [line.encode() for line in source.splitlines(keepends=True)]
    places = [(one.lineno - 1, one.col_offset, one.end_col_offset or 0) for one in _nodes(source) if one.value == old]
    for line, start, end in sorted(places, reverse=True):
        lines[line] = lines[line][:start] + str(new).encode() + lines[line][end:]
    return b"".join(lines).decode()
