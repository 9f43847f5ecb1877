"""The texts that a problem's model compares an argument with, and the keys that it asks a dict for."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def named_texts(source: str, name: str) -> tuple[str, ...]:
    """The texts that a module compares a value of this name with, or looks up by it in a dict; `name` may be an
    argument's, a field's or a key's."""
    return tuple(dict.fromkeys(_texts(ast.parse(source), name)))


def asked_keys(source: str) -> tuple[str, ...]:
    """The texts that a module looks for in something, which need not be there: `batch.get("weight")`, `"weight" in
    batch`."""
    return tuple(dict.fromkeys(_keys(ast.parse(source))))


def _keys(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        key: ast.AST | None = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            key = node.args[0] if node.func.attr in ("get", "pop", "setdefault") else None
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            key = node.left
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            yield key.value


def _texts(tree: ast.Module, name: str) -> Iterator[str]:
    dicts = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(_is_named(side, name) for side in sides):
                yield from (text for side in sides if not _is_named(side, name) for text in _constants(side))
        elif isinstance(node, ast.Match) and _is_named(node.subject, name):
            yield from (text for case in node.cases for text in _constants(case.pattern))
        elif isinstance(node, ast.Subscript) and _is_named(node.slice, name):
            table = dicts.get(node.value.id) if isinstance(node.value, ast.Name) else node.value
            if isinstance(table, ast.Dict):
                yield from (text for key in table.keys if key is not None for text in _constants(key))


def _is_named(node: ast.expr, name: str) -> bool:
    """Whether an expression is a variable, an attribute or an item of this name."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value == name
    return name == (node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None)


def _constants(node: ast.AST) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield one.value
