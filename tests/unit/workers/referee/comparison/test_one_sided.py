"""Who truncates is told so; who rounds otherwise than the reference is not."""

from __future__ import annotations

import torch

from workers.referee.comparison.one_sided import one_sided


def truncated(x: torch.Tensor) -> torch.Tensor:
    return (x.view(torch.int32) & -65536).view(torch.float32).bfloat16()


def test_truncation_is_told() -> None:
    x = torch.randn(4096)
    assert "off towards zero" in str(one_sided(truncated(x), x.bfloat16()))
    assert "off downwards" in str(one_sided(x.bfloat16() - 0.5, x.bfloat16()))


def test_other_roundings_are_not() -> None:
    x = torch.randn(4096)
    again = ((x * 3.0).bfloat16() / 3.0).bfloat16()
    assert one_sided(again, x.bfloat16()) is None
    assert one_sided(x.bfloat16(), x.bfloat16()) is None
    assert one_sided(x + 1e-7, x) is None


def test_few_elements_say_nothing() -> None:
    x = torch.randn(100)
    assert one_sided(truncated(x), x.bfloat16()) is None
