"""The text of a problem's file: whether it defines what it has to, and where things are in it."""

from __future__ import annotations

import ast
import traceback

from services.domain.problems import Problem
from workers.referee.errors import Refused


def parsed(problem: Problem) -> ast.Module:
    """Its syntax tree. Raises `Refused` where there is none, or where the model or its inputs are missing."""
    try:
        tree = ast.parse(problem.source, problem.path)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        raise Refused(f"syntax error: {getattr(error, 'msg', error)}", "Correct the file.", line) from None
    defined = {name for node in tree.body for name in _defined(node)}
    for name, remedy in (
        ("Model", "Define `class Model(torch.nn.Module)` with a `forward` method."),
        ("get_inputs", "Define `get_inputs()` returning the list of arguments of `forward`."),
    ):
        if name not in defined:
            raise Refused(f"the module defines no {name}", remedy, None)
    return tree


def line_of(tree: ast.Module, name: str) -> int | None:
    """The line that defines a function, class, method (`Model.forward`) or variable."""
    body: list[ast.stmt] = tree.body
    line: int | None = None
    for part in name.split("."):
        node = next((item for item in body if part in _defined(item)), None)
        if node is None:
            return line
        line, body = node.lineno, getattr(node, "body", [])
    return line


def line_in(error: BaseException, path: str) -> int | None:
    """The last line of a file that an exception has come through."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return frames[-1].lineno if frames else None


def _defined(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name for alias in node.names}
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return {target.id for target in targets if isinstance(target, ast.Name)}
