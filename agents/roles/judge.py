"""The Judge: what is wrong with a candidate that failed, what limits one that passed."""

from __future__ import annotations

from agents.roles.replies import DraftCritique, RefineCritique, parse_reply
from services.domain.chat import Facts

_MOST_CHARACTERS = 1500
"""A critique travels in the state and in every later prompt."""

Critique = DraftCritique | RefineCritique


def critique_schema(facts: Facts) -> type[DraftCritique] | type[RefineCritique]:
    """Which of the two critiques is asked for."""
    return RefineCritique if facts.report is not None and facts.report.accepted else DraftCritique


def read_critique(text: str, facts: Facts) -> Critique:
    """The critique in a reply. Raises `ReplyError`."""
    return parse_reply(critique_schema(facts), text)


def critique_in_full(critique: Critique | None) -> str | None:
    """All of a critique as one line, bounded, for later prompts and the record."""
    if critique is None:
        return None
    return _joined(*(str(value) for value in critique.model_dump().values()))[:_MOST_CHARACTERS]


def critique_in_brief(critique: Critique) -> str:
    """What people who watch are told: the issue and its repair, or what to change next (the Profiler has said what
    the bottleneck is)."""
    if isinstance(critique, DraftCritique):
        return _joined(critique.critical_issue, critique.minimal_fix)
    return _joined(critique.method, critique.modification_plan)


def _joined(*parts: str) -> str:
    """Parts as one line; one that the next repeats at its start is left out."""
    texts = [" ".join(part.split()).rstrip(".;") for part in parts]
    following = [*texts[1:], ""]
    kept = [text for text, after in zip(texts, following, strict=True) if text and not after.startswith(text)]
    return "; ".join(kept)
