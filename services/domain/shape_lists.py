"""Lists of shapes: `SHAPES = [{"rows": 16, "cols": 256}, …]` in a problem, each entry the arguments of `get_inputs`.

Long lists are sampled: every candidate is timed on every input set, and a thousand of them would take an hour each.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from services.domain.errors import UserError
from services.domain.python_source import parsed

Plain = int | float | str | bool
Argument = Plain | tuple[int, ...]

MOST_LISTED = 1000
MOST_MEASURED = 40
"""Entries that are announced and timed; the rest is what held-out ones are drawn from."""
MOST_DRAWN = 8
"""Entries that are drawn from the rest."""
REMEDY = (
    'Write SHAPES = [{"rows": 16, "cols": 256}, …], the arguments of get_inputs by name or in order, and give '
    "get_inputs defaults: def get_inputs(rows=64, cols=4096)."
)


class ShapeListError(ValueError):
    """A value is no list of shapes. The message says what is wrong."""


@dataclass(frozen=True, kw_only=True)
class ShapeEntry:
    """One entry of a list."""

    arguments: tuple[Argument, ...] = ()
    """Arguments of `get_inputs` in order."""
    keywords: tuple[tuple[str, Argument], ...] = ()
    """Those by name."""

    @property
    def name(self) -> str:
        """What objectives and reports call it: `rows=16 cols=256`."""
        return " ".join([*map(_shown, self.arguments), *(f"{name}={_shown(value)}" for name, value in self.keywords)])


def entries(value: object) -> list[ShapeEntry]:
    """The entries of a list of shapes. Raises `ShapeListError`."""
    if isinstance(value, str):
        raise ShapeListError(f"SHAPES names the file {value[:100]!r}, which only the command line reads")
    if not isinstance(value, list | tuple) or not value:
        raise ShapeListError("SHAPES is not a list with entries")
    if len(value) > MOST_LISTED:
        raise ShapeListError(f"SHAPES lists {len(value)} shapes; {MOST_LISTED} are allowed")
    return [_entry(number, one) for number, one in enumerate(value)]


def sampled(sizes: Sequence[int], kept: Sequence[int] = (), most: int = MOST_MEASURED) -> list[int]:
    """Positions of at most `most` entries to announce, in the list's order: all where they are few enough; else those
    `kept`, the smallest, the largest, and others evenly by rank of size. The same sizes give the same positions."""
    if len(sizes) <= most:
        return list(range(len(sizes)))
    chosen = list(dict.fromkeys(kept))[:most]
    ranked = [
        position for position in sorted(range(len(sizes)), key=lambda at: (sizes[at], at)) if position not in chosen
    ]
    left = most - len(chosen)
    if left == 1:
        chosen.append(ranked[-1])
    elif left > 1:
        chosen += [ranked[round(step * (len(ranked) - 1) / (left - 1))] for step in range(left)]
    return sorted(chosen)


def with_shapes(source: str, read: Callable[[str], str]) -> str:
    """A problem's text with the list of a JSON file, which `read` returns by name, in the place of `SHAPES = "NAME"`.
    Lines keep their numbers. Raises `UserError` where the file has no such list."""
    try:
        named = [node for node in parsed(source).body if _names_file(node)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source  # the lint says where
    if not named:
        return source
    value = named[-1].value  # type: ignore[attr-defined]
    name = str(value.value)
    try:
        found = json.loads(read(name))
        found = found.get("shapes") if isinstance(found, dict) else found
        if isinstance(found, str):
            raise ShapeListError("it holds a text")
        entries(found)
    except ValueError as error:
        raise UserError(f"{name}: it is no JSON list of shapes: {error}. {REMEDY}") from None
    lines = source.splitlines(keepends=True)
    line = lines[value.lineno - 1].encode()
    lines[value.lineno - 1] = line[: value.col_offset].decode() + repr(found) + line[value.end_col_offset :].decode()
    return "".join(lines)


def _names_file(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == "SHAPES" for target in node.targets)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _entry(number: int, value: object) -> ShapeEntry:
    if isinstance(value, dict) and value:
        named = tuple((str(name), _argument(number, one)) for name, one in value.items())
        if not all(isinstance(name, str) and name.isidentifier() for name in value):
            raise ShapeListError(f"entry {number} of SHAPES has a name that is no argument's")
        return ShapeEntry(keywords=named)
    if isinstance(value, list | tuple) and value:
        return ShapeEntry(arguments=tuple(_argument(number, one) for one in value))
    if isinstance(value, int) and not isinstance(value, bool):
        return ShapeEntry(arguments=(value,))
    raise ShapeListError(f"entry {number} of SHAPES is neither sizes by name nor a list of sizes")


def _argument(number: int, value: object) -> Argument:
    if isinstance(value, bool | float) or (isinstance(value, str) and 0 < len(value) <= 100):
        return value
    if isinstance(value, int) and value >= 0:
        return value
    if isinstance(value, list | tuple) and all(type(one) is int and one >= 0 for one in value):
        return tuple(value)
    raise ShapeListError(f"entry {number} of SHAPES has {str(value)[:60]!r}, which is no size")


def _shown(value: Argument) -> str:
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)
