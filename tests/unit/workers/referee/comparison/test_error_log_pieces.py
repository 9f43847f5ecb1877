"""Large tensors piece by piece."""

from __future__ import annotations

import pytest
import torch

from workers.referee.comparison import tolerance as comparison
from workers.referee.comparison.error_log import pieces


def test_pieces_are_the_same_slices_of_all_tensors() -> None:
    left, right = torch.arange(10.0).reshape(2, 5), torch.arange(10.0, 20.0)
    found = list(pieces(left, right, elements=4))
    assert [len(a) for a, _ in found] == [4, 4, 2]
    assert all(torch.equal(b - a, torch.full_like(a, 10.0)) for a, b in found)


def test_an_empty_tensor_is_one_empty_piece() -> None:
    assert [piece.numel() for (piece,) in pieces(torch.empty(0))] == [0]


def test_how_exact_a_reference_is_does_not_depend_on_the_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = torch.randn(1000, dtype=torch.float64)
    output = exact.float()
    output[3], exact[3] = float("nan"), float("nan")
    whole = comparison.error_scale(output, exact)
    monkeypatch.setattr(comparison, "pieces", lambda *tensors: pieces(*tensors, elements=64))
    parts = comparison.error_scale(output, exact)
    assert parts.relative == pytest.approx(whole.relative, rel=1e-9)
    assert parts.rms == pytest.approx(whole.rms, rel=1e-9)
    assert parts.peak == whole.peak > 0.0


def test_infinities_in_the_same_places_are_right_and_elsewhere_wrong() -> None:
    expected = torch.tensor([1.0, float("inf"), float("nan"), 2.0])
    table = comparison.tolerances(None)
    scale = comparison.ErrorScale()
    assert comparison.compare(expected.clone(), expected, scale, table) is None
    for wrong in ([1.0, 7.0, float("nan"), 2.0], [1.0, float("inf"), 0.0, 2.0], [1.0, float("inf"), float("nan"), 3.0]):
        assert comparison.compare(torch.tensor(wrong), expected, scale, table) is not None
