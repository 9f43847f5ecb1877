"""Texts for people."""

from __future__ import annotations


def shortened(text: str, most: int) -> str:
    """A text of at most `most` characters, cut between words and marked so."""
    if len(text) <= most:
        return text
    end = text.rfind(" ", most // 2, most - 1)
    return f"{text[: end if end > 0 else most - 2]} …"
