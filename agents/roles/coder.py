"""The Coder: the candidate that a plan asks for.

A reply is one JSON document by the schema. Models that cannot write JSON are understood too: edit blocks, or a whole
module in a code fence, with prose around. What comes out is a module that defines `ModelNew`, or an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agents.roles.edits import apply_edits, edit_blocks
from agents.roles.replies import CoderReply, parse_reply, spoken, unknown_keys
from services.domain.candidate_text import candidate_source, fault_of, fenced_blocks, is_module
from services.domain.chat import Facts
from services.domain.errors import ConfigurationError, ReplyError
from services.domain.texts import shortened

MOST_BYTES = 1 << 20
"""A larger module is a mistake."""
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
            raise ReplyError(f"expected JSON, a fenced Python module or an edit block ({_why(text, error)})") from None
    else:
        draft = Draft(source=_source(reply, start, unknown_keys(CoderReply, text)), summary=reply.summary)
    check_source(draft.source)
    return draft


def check_source(source: str) -> None:
    """Raise `ReplyError` unless the text is a Python module that defines `ModelNew`."""
    if len(source.encode(errors="replace")) > MOST_BYTES:
        raise ReplyError(f"source: longer than {MOST_BYTES} bytes")
    fault = fault_of(source)
    if fault is not None:
        raise ReplyError(f"source: {fault}")


def _source(reply: CoderReply, start: str | None, unknown: tuple[str, ...]) -> str:
    if (reply.source is None) == (not reply.edits):
        known = f" (there is no field {', '.join(unknown)})" if unknown else ""
        raise ReplyError(f"give either source or edits{known}")
    if reply.source is not None:
        return _unwrapped(reply.source, start)
    return apply_edits(_editable(start), reply.edits)


def _unwrapped(source: str, start: str | None) -> str:
    """A `source` field that holds edit blocks, or a module in a fence, where it should hold the module alone."""
    if is_module(source):
        return source
    draft = _from_prose(source, start)
    return source if draft is None else draft.source


def _from_prose(text: str, start: str | None) -> Draft | None:
    """What a reply outside of JSON says; None where it holds neither edits nor a module."""
    edits = edit_blocks(text)
    if edits:
        return Draft(source=apply_edits(_editable(start), edits), summary=_summary(text))
    naming = [block.source for block in fenced_blocks(text) if "ModelNew" in block.source]
    complete = [source for source in naming if fault_of(source) is None] or naming  # others show how it is called
    if not complete and fault_of(text) is None:
        return Draft(source=text, summary=_summary(""))
    # A model that corrects itself does so at the end.
    return Draft(source=complete[-1], summary=_summary(text)) if complete else None


def _why(text: str, error: ReplyError) -> str:
    """What is wrong with a reply that holds no draft: with its module where it was to hold one, else as JSON."""
    if "ModelNew" not in text or text.lstrip().startswith("{"):
        return str(error)
    try:
        candidate_source(text)
    except ConfigurationError as fault:
        return str(fault)
    return str(error)


def _editable(start: str | None) -> str:
    if start is None:
        raise ReplyError("edits: there is no start point to edit; give the whole module in source")
    return start


def _summary(text: str) -> str:
    """The first sentence of the prose before any code."""
    before = re.split(r"^[ \t]*(?:`{3,}|~{3,}|<{5,9})", text, maxsplit=1, flags=re.MULTILINE)[0]
    words = " ".join(before.split())
    return shortened(words, _MOST_SUMMARY) or "(no summary)"
