"""The Coder: the candidate that a plan asks for.

A reply is one JSON document by the schema. Models that cannot write JSON are understood too: edit blocks, or a whole
module in a code fence, with prose around. What comes out is a module that defines `ModelNew`, or an error.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from agents.edits import apply_edits, edit_blocks
from agents.replies import CoderReply, parse_reply, spoken, unknown_keys
from services.domain.chat import Facts
from services.domain.errors import ReplyError
from services.domain.python_source import parsed
from services.domain.texts import shortened

MOST_BYTES = 1 << 20
"""A larger module is a mistake."""
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*([\w+-]*)[^\n]*\n(.*?)^[ \t]*\1[ \t]*$", re.DOTALL | re.MULTILINE)
_LANGUAGES = ("", "python", "py", "python3")
_MOST_SUMMARY = 200


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A candidate's source as the Coder wants it."""

    source: str
    summary: str


def read_draft(text: str, facts: Facts) -> Draft:
    """The source in a reply, its edits applied. Raises `ReplyError` where no module defining `ModelNew` results."""
    return draft_of(text, facts.start_point.source if facts.start_point is not None else None)


def draft_of(text: str, start: str | None) -> Draft:
    """The same, where only the start point's source is known."""
    text = spoken(text)
    try:
        reply = parse_reply(CoderReply, text)
    except ReplyError as error:
        draft = _from_prose(text, start)
        if draft is None:
            raise ReplyError(f"expected JSON, a fenced Python module or an edit block ({error})") from None
    else:
        draft = Draft(source=_source(reply, start, unknown_keys(CoderReply, text)), summary=reply.summary)
    check_source(draft.source)
    return draft


def check_source(source: str) -> None:
    """Raise `ReplyError` unless the text is a Python module that defines `ModelNew`."""
    if len(source.encode(errors="replace")) > MOST_BYTES:
        raise ReplyError(f"source: longer than {MOST_BYTES} bytes")
    try:
        module = parsed(source)
    except SyntaxError as error:
        raise ReplyError(f"source: line {error.lineno}: {error.msg}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise ReplyError(f"source: not a Python module: {error}") from None
    if not any(_defines_model(node) for node in ast.walk(module)):
        raise ReplyError("source: it does not define ModelNew")


def _source(reply: CoderReply, start: str | None, unknown: tuple[str, ...]) -> str:
    if (reply.source is None) == (not reply.edits):
        known = f" (there is no field {', '.join(unknown)})" if unknown else ""
        raise ReplyError(f"give either source or edits{known}")
    if reply.source is not None:
        return _unwrapped(reply.source, start)
    return apply_edits(_editable(start), reply.edits)


def _unwrapped(source: str, start: str | None) -> str:
    """A `source` field that holds edit blocks, or a module in a fence, where it should hold the module alone."""
    if _is_module(source):
        return source
    draft = _from_prose(source, start)
    return source if draft is None else draft.source


def _from_prose(text: str, start: str | None) -> Draft | None:
    """What a reply outside of JSON says; None where it holds neither edits nor a module."""
    edits = edit_blocks(text)
    if edits:
        return Draft(source=apply_edits(_editable(start), edits), summary=_summary(text))
    modules = [body for _, language, body in _FENCE.findall(text) if language.lower() in _LANGUAGES]
    complete = [body for body in modules if "ModelNew" in body]
    written = not text.lstrip().startswith("{")  # a JSON document is a Python expression too: its own error says more
    if not complete and written and "class ModelNew" in text and _is_module(text):
        return Draft(source=text, summary=_summary(""))
    # A model that corrects itself does so at the end.
    return Draft(source=complete[-1], summary=_summary(text)) if complete else None


def _editable(start: str | None) -> str:
    if start is None:
        raise ReplyError("edits: there is no start point to edit; give the whole module in source")
    return start


def _summary(text: str) -> str:
    """The first sentence of the prose before any code."""
    before = re.split(r"^[ \t]*(?:`{3,}|~{3,}|<{5,9})", text, maxsplit=1, flags=re.MULTILINE)[0]
    words = " ".join(before.split())
    return shortened(words, _MOST_SUMMARY) or "(no summary)"


def _is_module(text: str) -> bool:
    try:
        parsed(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _defines_model(node: ast.AST) -> bool:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return node.name == "ModelNew"
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == "ModelNew"


__all__ = ["MOST_BYTES", "Draft", "check_source", "draft_of", "read_draft"]
