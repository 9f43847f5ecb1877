"""Values that were only moved are equal, in every dtype."""

from __future__ import annotations

import pytest
import torch

from workers.referee.comparison.tolerance import ErrorScale, examine, tolerances

EXACT = ErrorScale(exact=True)
DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.complex64)


def is_right(actual: torch.Tensor, expected: torch.Tensor, given: dict[str, tuple[float, float]] | None = None) -> bool:
    return examine(actual, expected, EXACT, tolerances(given)).mismatch is None


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_bit_is_wrong(dtype: torch.dtype) -> None:
    x = torch.randn(64).to(dtype)
    kind = {1: torch.uint8, 2: torch.int16}.get(x.element_size(), torch.int32)
    other = x.clone()
    other.view(kind)[3] ^= 1
    assert is_right(x.clone(), x)
    assert not is_right(other, x)


def test_zeros_nan_and_what_is_flushed_are_equal() -> None:
    x = torch.tensor([0.0, -0.0, float("nan"), float("inf"), 1e-40, 1.0])
    assert is_right(torch.tensor([-0.0, 0.0, -float("nan"), float("inf"), 0.0, 1.0]), x)
    assert not is_right(torch.tensor([-0.0, 0.0, 1.0, float("inf"), 0.0, 1.0]), x)
    assert not is_right(torch.tensor([-0.0, 0.0, float("nan"), -float("inf"), 0.0, 1.0]), x)


def test_a_problem_may_permit_more() -> None:
    x = torch.randn(64)
    assert is_right(x * (1 + 1e-6), x, {"float32": (1e-2, 1e-2)})
    assert not is_right(x * (1 + 1e-6), x, {"float32": (1e-6, 1e-6)})
