"""Texts are cut between words."""

from __future__ import annotations

from services.domain.texts import shortened


def test_a_long_text_is_cut_between_words_and_marked() -> None:
    assert shortened("fuse the loops of both reductions", 20) == "fuse the loops of …"
    assert shortened("short", 20) == "short"


def test_a_single_long_word_is_cut_where_it_must_be() -> None:
    assert shortened("x" * 50, 20) == "x" * 18 + " …"
