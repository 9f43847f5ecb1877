"""A candidate's source as people send it: a module, or a chat's Markdown answer with the module in a fence."""

from __future__ import annotations

import ast
import re
import textwrap
from dataclasses import dataclass

from services.domain.errors import ConfigurationError
from services.domain.python_source import parsed

_FENCE = re.compile(
    r"^[ \t]*(?P<marks>`{3,}|~{3,})[ \t]*(?P<language>[\w+-]*)[^\n]*\n(?P<body>.*?)^[ \t]*(?P=marks)[ \t\r]*$",
    re.DOTALL | re.MULTILINE,
)
_OPENING = re.compile(r"^[ \t]*(?:`{3,}|~{3,})", re.MULTILINE)
_LANGUAGES = ("", "python", "py", "python3")
_MOST_NAMES = 3
_NO_MODULE = (ValueError, RecursionError, MemoryError)


@dataclass(frozen=True, kw_only=True)
class FencedBlock:
    """A fenced block of a Markdown text."""

    line: int
    """Of the fence that opens it, from 1."""
    source: str


def candidate_source(text: str) -> str:
    """The module in what was sent as a candidate: the text, or the one fenced block in it that defines `ModelNew`.

    Raises `ConfigurationError` naming the line, and the fence, where there is none."""
    fault = fault_of(text)
    if fault is None:
        return text
    fences = [] if is_module(text) else fenced_blocks(text)
    complete = {block.source: block for block in fences if fault_of(block.source) is None}
    if len(complete) == 1:
        return next(iter(complete))
    told = None if is_module(text) else _markdown_fault(text, fences, list(complete.values()))
    raise ConfigurationError(f"the candidate {told or f'cannot be judged: {fault}'}")


def fenced_blocks(text: str) -> list[FencedBlock]:
    """The fenced blocks of a Markdown text that may hold Python, in order."""
    return [
        FencedBlock(line=_line_at(text, found.start("marks")), source=textwrap.dedent(found["body"]))
        for found in _FENCE.finditer(text)
        if found["language"].lower() in _LANGUAGES
    ]


def is_module(text: str) -> bool:
    """Whether a text is Python."""
    try:
        parsed(text)
    except (SyntaxError, *_NO_MODULE):
        return False
    return True


def fault_of(source: str) -> str | None:
    """Why a text is no module that defines `ModelNew`; None where it is one."""
    try:
        module = parsed(source)
    except SyntaxError as error:
        return f"line {error.lineno}: syntax error: {error.msg}" if error.lineno else f"syntax error: {error.msg}"
    except _NO_MODULE as error:
        return f"not a Python module: {error}"
    if any(_defines_model(node) for node in ast.walk(module)):
        return None
    others = [node.name for node in module.body if isinstance(node, ast.ClassDef | ast.FunctionDef)][:_MOST_NAMES]
    known = f"; it defines {', '.join(others)}" if others else ""
    return f"it does not define ModelNew, the torch.nn.Module whose forward is called{known}"


def _markdown_fault(text: str, fences: list[FencedBlock], complete: list[FencedBlock]) -> str | None:
    """Why no block of a Markdown text can be used; None where the text has no fence."""
    if complete:
        return f"is a Markdown text in which several fences define ModelNew ({_lines(complete)}): send one of them"
    if fences:
        told = [block for block in fences if "ModelNew" in block.source] or fences
        block = told[-1]
        return (
            f"is a Markdown text, and the fenced block at line {block.line} of it cannot be judged: "
            f"{fault_of(block.source)}"
        )
    opening = _OPENING.search(text)
    if opening is None:
        return None
    line = _line_at(text, opening.end())
    return (
        f"is a Markdown text without a closed fence of Python (the first fence is at line {line}): send the module, or "
        "put it into one ```python block"
    )


def _lines(blocks: list[FencedBlock]) -> str:
    return f"lines {', '.join(str(block.line) for block in blocks)}"


def _line_at(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _defines_model(node: ast.AST) -> bool:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return node.name == "ModelNew"
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == "ModelNew"
