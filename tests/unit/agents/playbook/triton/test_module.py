"""Texts with places to fill in."""

from __future__ import annotations

import pytest

from agents.playbook.triton.module import filled


def test_a_place_that_nobody_fills_is_an_error() -> None:
    assert filled("f(<<a>>)\n    <<b>>\n", a="x, ", b=["one", "two"]) == "f(x, )\n    one\n    two"
    with pytest.raises(KeyError, match="b"):
        filled("<<b>>")
