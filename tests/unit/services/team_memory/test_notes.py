"""A team's own notes as practices."""

from __future__ import annotations

import pytest

from services.domain.errors import UserError
from services.domain.experiences import ExperienceKind
from services.team_memory.notes import MOST_CHARACTERS, Note, practice_of
from tests.doubles.builders import MOMENT


def test_a_note_becomes_a_practice_of_its_family_and_backend() -> None:
    note = Note(text="# Rows of 50k\n\nSplit them over four blocks.\n", family="softmax", backend="triton")

    made = practice_of("ours", note, MOMENT)

    assert (made.kind, made.team_id, made.family, made.backend) == (
        ExperienceKind.BEST_PRACTICE, "ours", "softmax", "triton",
    )  # fmt: skip
    assert (made.title, made.text, made.code) == ("Rows of 50k", "Split them over four blocks.", None)
    assert practice_of("ours", note, MOMENT).id == made.id, "the same note is kept once"
    assert practice_of("theirs", note, MOMENT).id != made.id


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "needs a first line"),
        ("only a title", "needs a first line"),
        ("t\n" + "x" * MOST_CHARACTERS, "make it two"),
    ],
)
def test_a_note_that_says_nothing_or_too_much_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        practice_of("ours", Note(text=text), MOMENT)
