"""Shares as people read them."""

from __future__ import annotations

import pytest

from services.domain.texts import percent


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
