"""Python source as a syntax tree, from any thread, and as lines."""

from __future__ import annotations

import ast
from threading import Lock

_PARSER = Lock()


def parsed(source: str, filename: str = "<unknown>") -> ast.Module:
    """`ast.parse`, one thread at a time, with the errors that it raises.

    CPython before 3.12.2 counts the depth of all threads' trees in one number, and fails with `SystemError: AST
    constructor recursion depth mismatch` where another thread runs between (python/cpython, issue 106905)."""
    with _PARSER:
        return ast.parse(source, filename)


def split_lines(source: str) -> list[str]:
    """Lines as Python counts them: only \\n, \\r\\n and \\r end one (`str.splitlines` ends lines at form feeds too)."""
    parts = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
