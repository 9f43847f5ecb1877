"""The parts of a problem that an adapter writes: input functions and their lists."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

Shape = Mapping[str, Any]
"""Names to plain values, as a suite gives them for one set of inputs."""


def input_functions(calls: Sequence[str]) -> str:
    """`get_inputs` and `INPUT_SETS`, one function for each expression that draws a list of arguments."""
    first, *others = calls
    parts = [f"def get_inputs():\n    return {first}"]
    parts += [f"def _inputs_{number}():\n    return {call}" for number, call in enumerate(others, start=1)]
    if others:
        names = ", ".join(f"_inputs_{number}" for number in range(1, len(others) + 1))
        parts.append(f"INPUT_SETS = [{names}]")
    return "\n\n\n".join(parts) + "\n"


def init_function(values: str = "[]") -> str:
    """`get_init_inputs`."""
    return f"def get_init_inputs():\n    return {values}\n"


def module(*parts: str) -> str:
    """A module's text of its parts."""
    return "\n\n".join(part.strip("\n") + "\n" for part in parts if part.strip())


def split_by(shapes: Iterable[Shape], names: Iterable[str]) -> list[list[Shape]]:
    """Shapes in groups that agree on some names, in order of first occurrence, each shape once."""
    wanted = sorted(names)
    groups: dict[Hashable, list[Shape]] = {}
    for shape in shapes:
        group = groups.setdefault(repr([shape.get(name) for name in wanted]), [])
        if shape not in group:
            group.append(shape)
    return list(groups.values())


def variant(group: Sequence[Shape], groups: Sequence[Sequence[Shape]]) -> str:
    """What tells one group from the others: `M1-N4096`; empty where there is one only."""
    if len(groups) == 1:
        return ""
    same = [
        name
        for name in group[0]
        if all(shape.get(name) == group[0][name] for shape in group)
        and any(other[0].get(name) != group[0][name] for other in groups)
    ]
    return "-".join(f"{name}{group[0][name]}" for name in same)


def names_used(tree: ast.Module, starts: Sequence[str]) -> set[str]:
    """All names that some top-level definitions use, through other definitions of the module too."""
    bodies = {
        node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    found: set[str] = set()
    waiting = [name for name in starts if name in bodies]
    while waiting:
        names = {one.id for one in ast.walk(bodies[waiting.pop()]) if isinstance(one, ast.Name)}
        waiting += [name for name in names - found if name in bodies]
        found |= names
    return found
