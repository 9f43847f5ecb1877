"""Figures as they stand in a terminal."""

import pytest

from services.domain.texts import interval


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
