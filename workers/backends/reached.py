"""Which parts of other modules a candidate's module names, resolved against the modules that are really installed.

`torch.os.system` reads as torch's and is the operating system's. This runs in the compile sandbox before the
candidate's own code does, so nothing of it can have changed what is found.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from services.ports.devices import ReachedName
from workers.runner.model import NAMES

MAX_NAMES = 2000
MAX_MEANINGS = 64
"""Things that one name may stand for."""
MAX_ROUNDS = 32
"""Assignments of assignments are followed so deep, unless nothing new comes before."""
TOO_MANY = ReachedName(line=1, written="more names than can be followed", modules=("?",), name="?")
STREAMS = ("sys.stdout", "sys.stderr")
"""Objects off which files can be read: for `print(…, file=sys.stderr)`."""
OWN_NAMES = ("candidate", *NAMES)
"""What a candidate's module may be called where it runs, beside names that nobody can guess: through itself it could
reach all that it imports, by other names."""
RELATIVE = "the package that it says it belongs to"
_UNKNOWN = object()


def reached(source: str) -> list[ReachedName]:
    """Every chain of attributes that begins at an imported name, once. Empty for what does not parse."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    names = _imported(tree)
    if any(len(meanings) > MAX_MEANINGS for meanings in names.values()):
        return [TOO_MANY]
    found: dict[str, ReachedName] = {}
    values = {id(node) for node in _used_as_values(tree)}
    for node, chain in _chains(tree, names):
        if chain not in found:
            one = _resolved(node, chain)
            if one is None:
                continue
            if len(found) == MAX_NAMES:
                return [TOO_MANY, *found.values()]
            found[chain] = one
        is_read_off = found[chain].name in (found[chain].modules[-1], *STREAMS)
        if id(node) in values and is_read_off:
            found[chain] = dataclasses.replace(found[chain], handed_on=True, line=getattr(node, "lineno", 1))
    return list(found.values())


def _used_as_values(tree: ast.Module) -> Iterator[ast.AST]:
    """Names and chains that are neither read from, nor given another name that this reader follows, nor only asked
    about: arguments, parts of containers, subjects of `match`, what is returned or kept in an attribute. An import in
    a class's body makes an attribute, too."""
    known = {*_followed(tree), *_printed_to(tree)}
    yield from _of_classes(tree, ast.Import | ast.ImportFrom)
    for node in ast.walk(tree):
        for name, child in ast.iter_fields(node):
            for one in child if isinstance(child, list) else [child]:
                is_chain = isinstance(one, ast.Name | ast.Attribute | ast.Call)
                if is_chain and not (id(one) in known or _only_asks(node, name, one)):
                    yield one


def _followed(tree: ast.Module) -> Iterator[int]:
    """Values that every target of their assignment gives a name which is followed, and defaults of arguments."""
    of_classes = set(map(id, _of_classes(tree, ast.Assign | ast.AnnAssign)))
    for node in ast.walk(tree):
        if id(node) in of_classes:
            continue
        if isinstance(node, ast.Assign):
            named = [{id(value) for _, value in _pairs(target, node.value)} for target in node.targets]
            yield from set.intersection(*named)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            yield from (id(value) for _, value in _pairs(node.target, node.value))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from (id(value) for _, value in _defaults(node.args))


def _printed_to(tree: ast.Module) -> Iterator[int]:
    """What Python's own `print` is given as `file`."""
    nodes = list(ast.walk(tree))
    if any("print" in (getattr(node, "name", ""), getattr(node, "arg", "")) for node in nodes):
        return
    if any(isinstance(node, ast.Name) and node.id == "print" and isinstance(node.ctx, ast.Store) for node in nodes):
        return
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            yield from (id(one.value) for one in node.keywords if one.arg == "file")


def _of_classes(tree: ast.AST, kinds: Any) -> Iterator[ast.AST]:
    """Statements that run in a class's body, which make attributes of its objects."""
    queue: list[ast.AST] = [part for one in ast.walk(tree) if isinstance(one, ast.ClassDef) for part in one.body]
    while queue:
        node = queue.pop()
        if isinstance(node, kinds):
            yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            queue.extend(ast.iter_child_nodes(node))


def _only_asks(parent: ast.AST, field: str, child: ast.expr) -> bool:
    """Whether an expression's place says nothing of what it is: `torch.x`, `hasattr(torch, "x")`, `triton is None`."""
    if isinstance(parent, ast.Attribute):
        return True
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id in ("hasattr", "getattr"):
        names_it = parent.func.id == "hasattr" or (len(parent.args) > 1 and isinstance(parent.args[1], ast.Constant))
        return field == "func" or (names_it and parent.args[0] is child)
    if isinstance(parent, ast.Compare):
        return all(isinstance(one, ast.Is | ast.IsNot) for one in parent.ops)
    if isinstance(parent, ast.UnaryOp | ast.BoolOp | ast.Expr):
        return not isinstance(parent, ast.BoolOp)
    return field == "test" or isinstance(getattr(child, "ctx", None), ast.Store | ast.Del)


def _imported(tree: ast.Module) -> dict[str, set[str]]:
    """By name in the module: what it may stand for. Assignments of chains count as imports do."""
    names: dict[str, set[str]] = {}
    for name, chain in _bound_by_imports(tree):
        names.setdefault(name, set()).add(chain)
    for _ in range(MAX_ROUNDS):
        before = sum(map(len, names.values()))
        for target, value in _assigned(tree):
            for chain in _of(value, names):
                names.setdefault(target, set()).add(chain)
        if sum(map(len, names.values())) == before:
            break
    return names


def _bound_by_imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                target = alias.name if alias.asname else alias.name.split(".")[0]
                yield alias.asname or target, target
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                names = _public(str(node.module)) if alias.name == "*" else [alias.name]
                yield from ((alias.asname or name, f"{node.module}.{name}") for name in names)


def _public(module: str) -> list[str]:
    """The names that `from module import *` binds."""
    found = _import(module)
    names = getattr(found, "__all__", None) or [name for name in dir(found) if not name.startswith("_")]
    return [str(name) for name in names]


def _assigned(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _pairs(target, node.value)
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            yield from _pairs(node.target, node.value)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _defaults(node.args)


def _defaults(given: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    arguments = [*given.posonlyargs, *given.args]
    for argument, default in zip(reversed(arguments), reversed(given.defaults), strict=False):
        yield argument.arg, default
    for argument, value in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        if value is not None:
            yield argument.arg, value


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
        elif isinstance(node, ast.ImportFrom) and node.level:
            yield node, RELATIVE
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield node, f"{node.module}.{alias.name}" if alias.name != "*" else str(node.module)
        elif isinstance(node, ast.Attribute | ast.Call | ast.Name):
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
    return [".".join([start, *reversed(parts)]) for start in sorted(names.get(node.id, ()))]


def _resolved(node: ast.AST, chain: str) -> ReachedName | None:
    """What a chain leads to; None where its first module is not installed (importing it will say so)."""
    if chain == RELATIVE or chain.split(".")[0] in OWN_NAMES:
        return ReachedName(line=getattr(node, "lineno", 1), written=chain, modules=(chain,), name=chain)
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
