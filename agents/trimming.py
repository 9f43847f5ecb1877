"""Prompts of bounded length: every section has a budget of tokens, and what matters least is cut first.

Tokens are estimated from bytes, because each provider counts its own: source text takes 3 to 4 bytes a token in the
usual vocabularies, so that three is on the safe side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")
_BYTES_PER_TOKEN = 3
_TAIL = 0.25
"""Share of a long text's budget that its end keeps."""


@dataclass(frozen=True, kw_only=True)
class SectionTokens:
    """Most tokens of each section. Together with the schema they stay near 12,000."""

    problem: int = 2000
    analysis: int = 1000
    experiences: int = 1500
    brief: int = 600
    inspirations: int = 1500
    trajectory: int = 900
    contrast: int = 500
    start_point: int = 3000
    evaluation: int = 600
    critique: int = 300
    plan: int = 400


def tokens(text: str) -> int:
    """About how many tokens a text takes, rather too many than too few."""
    return -(-len(text.encode(errors="replace")) // _BYTES_PER_TOKEN)


def cut(text: str, limit: int) -> str:
    """A text of at most about `limit` tokens: its beginning and its end, with a note of what is left out between."""
    if tokens(text) <= limit:
        return text
    room = limit * _BYTES_PER_TOKEN
    raw = text.encode(errors="replace")
    head, tail = raw[: int(room * (1 - _TAIL))], raw[len(raw) - int(room * _TAIL) :]
    left_out = len(raw) - len(head) - len(tail)
    return f"{head.decode(errors='ignore')}\n[… {left_out} bytes left out …]\n{tail.decode(errors='ignore')}"


def keep(items: Sequence[T], limit: int, size: Callable[[T], str], worth: Callable[[T], object]) -> list[T]:
    """The items that fit in `limit` tokens, in their order; those worth least are left out first.

    The one worth most stays, however long it is."""
    kept: set[int] = set()
    used = 0
    for index in sorted(range(len(items)), key=lambda index: worth(items[index]), reverse=True):  # type: ignore[arg-type,return-value]
        need = tokens(size(items[index]))
        if kept and used + need > limit:
            break
        kept.add(index)
        used += need
    return [item for index, item in enumerate(items) if index in kept]


__all__ = ["SectionTokens", "cut", "keep", "tokens"]
