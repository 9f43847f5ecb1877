"""Which parts of other modules a candidate's module names, resolved against the modules that are really installed.

`torch.os.system` reads as torch's and is the operating system's. This runs in the compile sandbox before the
candidate's own code does, so nothing of it can have changed what is found.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from services.ports.devices import ReachedName

MAX_NAMES = 2000
_UNKNOWN = object()


def reached(source: str) -> list[ReachedName]:
    """Every chain of attributes that begins at an imported name, once. Empty for what does not parse."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    names = _imported(tree)
    found: dict[str, ReachedName] = {}
    for node, chain in _chains(tree, names):
        if chain not in found and len(found) < MAX_NAMES:
            one = _resolved(node, chain)
            if one is not None:
                found[chain] = one
    return list(found.values())


def _imported(tree: ast.Module) -> dict[str, set[str]]:
    """By name in the module: what it may stand for. Assignments of chains count as imports do."""
    names: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                target = alias.name if alias.asname else alias.name.split(".")[0]
                names.setdefault(alias.asname or target, set()).add(target)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                names.setdefault(alias.asname or alias.name, set()).add(f"{node.module}.{alias.name}")
    for _ in range(4):
        before = sum(map(len, names.values()))
        for target, value in _assigned(tree):
            for chain in _of(value, names):
                names.setdefault(target, set()).add(chain)
        if sum(map(len, names.values())) == before:
            break
    return names


def _assigned(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _pairs(target, node.value)
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            yield from _pairs(node.target, node.value)
        elif isinstance(node, ast.FunctionDef):
            arguments = [*node.args.posonlyargs, *node.args.args]
            for argument, default in zip(reversed(arguments), reversed(node.args.defaults), strict=False):
                yield argument.arg, default


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List):
        for one, other in zip(target.elts, value.elts, strict=False):
            yield from _pairs(one, other)


def _chains(tree: ast.Module, names: dict[str, set[str]]) -> Iterator[tuple[ast.AST, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node, alias.name
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                yield node, f"{node.module}.{alias.name}" if alias.name != "*" else str(node.module)
        elif isinstance(node, ast.Attribute | ast.Call):
            for chain in _of(node, names):
                yield node, chain


def _of(node: ast.expr, names: dict[str, set[str]]) -> list[str]:
    """The chains that an expression may stand for: attributes, and `getattr` with a name that is written out."""
    parts: list[str] = []
    while True:
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "getattr"
            and len(node.args) > 1
            and isinstance(node.args[1], ast.Constant)
            and isinstance(node.args[1].value, str)
        ):
            parts.append(node.args[1].value)
            node = node.args[0]
        else:
            break
    if not isinstance(node, ast.Name):
        return []
    return [".".join([start, *reversed(parts)]) for start in sorted(names.get(node.id, ()))[:8]]


def _resolved(node: ast.AST, chain: str) -> ReachedName | None:
    """What a chain leads to; None where its first module is not installed (importing it will say so)."""
    root, *rest = chain.split(".")
    thing: Any = _import(root)
    if not isinstance(thing, ModuleType):
        return None
    path, modules, last = thing.__name__, [thing.__name__], thing.__name__
    for part in rest:
        inside = thing
        thing = _attribute(inside, part)
        if thing is _UNKNOWN and isinstance(inside, ModuleType):
            thing = _import(f"{inside.__name__}.{part}")
        if isinstance(thing, ModuleType):
            last = _own_name(thing)
            modules.append(last)
            path = last
        else:
            path = f"{path}.{part}"
        if thing is None or thing is _UNKNOWN:
            thing = _UNKNOWN
    return ReachedName(line=getattr(node, "lineno", 1), written=chain, modules=tuple(modules), name=path)


def _own_name(module: ModuleType) -> str:
    spec = getattr(module, "__spec__", None)
    name = getattr(spec, "name", None) or getattr(module, "__name__", None)
    return str(name or "?")


def _attribute(thing: Any, name: str) -> Any:
    try:
        return getattr(thing, name)
    except Exception:  # noqa: BLE001 - some modules raise anything for what they lack
        return _UNKNOWN


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except BaseException:  # noqa: BLE001 - what cannot be imported is no part of an installed module
        return None
