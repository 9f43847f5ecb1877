"""Texts are cut between words, nothing in them acts on whoever shows them, and shares are as people read them."""

from __future__ import annotations

import pytest

from services.domain.errors import ProblemError
from services.domain.gates import GateName, GateResult, GateStatus
from services.domain.texts import interval, percent, shortened, visible, with_visible_texts
from services.domain.validations import CompilerDraft


def test_a_long_text_is_cut_between_words_and_marked() -> None:
    assert shortened("fuse the loops of both reductions", 20) == "fuse the loops of …"
    assert shortened("short", 20) == "short"


def test_a_single_long_word_is_cut_where_it_must_be() -> None:
    assert shortened("x" * 50, 20) == "x" * 18 + " …"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a line\n\tand the next: 2.3×, “ß”, 你\u00a0好", "a line\n\tand the next: 2.3×, “ß”, 你\u00a0好"),
        ("\x1b[2J\x1b]0;title\x07", r"\x1b[2J\x1b]0;title\x07"),
        ("first\r\nsecond\rover it", "first\nsecond" + r"\rover it"),
        ("accepted\u202e\u2066", r"accepted\u202e\u2066"),
        ("null\0 bell\a csi\x9b zero\u200bwidth\ufeff", r"null\x00 bell\x07 csi\x9b zero\u200bwidth\ufeff"),
        ("line\u2028next\x85", r"line\u2028next\x85"),
        ("half \ud800", r"half \ud800"),
    ],
)
def test_characters_that_act_on_who_shows_them_are_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_all_texts_of_a_value_become_visible_but_its_code() -> None:
    gate = GateResult(name=GateName.LOAD, status=GateStatus.FAILED, detail="ValueError: \x1b[32mok", seconds=0.0)
    code = CompilerDraft(source="x = 1\n\x0c\ny = 2\n")

    assert with_visible_texts((gate,))[0].detail == r"ValueError: \x1b[32mok"
    assert with_visible_texts({"\x1b": [gate.name]}) == {r"\x1b": [GateName.LOAD]}
    assert with_visible_texts(code) is code


def test_a_refusal_quotes_a_problem_visibly() -> None:
    error = ProblemError("syntax error (`\x1b[2J`)", remedy="Fix it.", path="a\u202eb.py", line=3)

    assert str(error) == r"a\u202eb.py:3: syntax error (`\x1b[2J`). Fix it."
    assert error.reason == r"syntax error (`\x1b[2J`)"


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0 %"),
        (0.0047, "0.47 %"),
        (0.00002, "0.002 %"),
        (0.05, "5 %"),
        (0.0838, "8.4 %"),
        (0.0996, "10 %"),
        (0.836, "84 %"),
        (1.0, "100 %"),
        (1.6, "160 %"),
    ],
)
def test_a_small_share_is_not_shown_as_nothing(share: float, text: str) -> None:
    assert percent(share) == text


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        ((1.52, 1.9), "[1.52, 1.90]"),
        ((1.0037, 4.52), "[1.004, 4.52]"),
        ((0.997, 1.00004), "[0.997, 1.00]"),
        ((1.0, 1.0), "[1.00, 1.00]"),
        (None, ""),
    ],
)
def test_an_interval_shows_on_which_side_of_one_it_lies(bounds: tuple[float, float] | None, text: str) -> None:
    assert interval(bounds) == text
