"""Data files and constants of a checkout, read without executing anything."""

from __future__ import annotations

import ast
import json
import operator
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from kernelwright.problem_files import read_source
from services.domain.errors import ProblemError

_OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_OTHER_VERSION = "Check out the version that the suite's page names."
MOST_POWER = 64


class NotConstantError(ValueError):
    """An expression that only execution could evaluate."""


def module_tree(path: Path, what: str) -> tuple[str, ast.Module]:
    """A Python file's text and tree. Raises `ProblemError`, and `UserError` where it cannot be opened."""
    text = read_source(path, what)
    try:
        return text, ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        reason = f"syntax error: {getattr(error, 'msg', error)}"
        raise ProblemError(reason, remedy="Fix the syntax.", path=str(path), line=line) from None


def json_file(path: Path) -> Any:
    """A JSON file's value. Raises `ProblemError`."""
    return _parsed_json(read_source(path, "definition"), path, None)


def json_lines(path: Path) -> list[Any]:
    """The values of a file with one JSON value a line. Raises `ProblemError`."""
    lines = read_source(path, "list of workloads").splitlines()
    return [_parsed_json(line, path, number) for number, line in enumerate(lines, start=1) if line.strip()]


def yaml_file(path: Path) -> Any:
    """A YAML file's value; tags that would make objects are refused. Raises `ProblemError`."""
    try:
        return yaml.safe_load(read_source(path, "task"))
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise ProblemError(f"not readable YAML: {reason}", remedy=_OTHER_VERSION, path=str(path)) from None


def constants(tree: ast.Module) -> dict[str, Any]:
    """Top-level names bound to plain values: numbers, strings, lists, dicts, and arithmetic on such names."""
    known: dict[str, Any] = {}
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None)
        if isinstance(target, ast.Name) and isinstance(value, ast.expr):
            try:
                known[target.id] = evaluated(value, known)
            except NotConstantError:
                known.pop(target.id, None)
    return known


def evaluated(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """The value of a constant expression over known names. Raises `NotConstantError`."""
    try:
        return _value(node, names)
    except (TypeError, ArithmeticError, RecursionError) as error:
        raise NotConstantError(str(error)) from None


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name) and node.id in names:
        return names[node.id]
    if isinstance(node, ast.List | ast.Tuple):
        items = [_value(item, names) for item in node.elts]
        return items if isinstance(node, ast.List) else tuple(items)
    if isinstance(node, ast.Dict) and None not in node.keys:
        return {
            _value(key, names): _value(item, names) for key, item in zip(node.keys, node.values, strict=True) if key
        }
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        inner = _value(node.operand, names)
        return -inner if isinstance(node.op, ast.USub) else +inner
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left, names), _value(node.right, names)
        if isinstance(node.op, ast.Pow) and abs(right) <= MOST_POWER:
            return left**right
        if type(node.op) in _OPERATIONS and all(isinstance(side, int | float) for side in (left, right)):
            return _OPERATIONS[type(node.op)](left, right)
    raise NotConstantError(f"`{ast.unparse(node)}` is no constant")


def _parsed_json(text: str, path: Path, line: int | None) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ProblemError(f"not readable JSON: {error}", remedy=_OTHER_VERSION, path=str(path), line=line) from None
