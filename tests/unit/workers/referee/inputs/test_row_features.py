"""Rows with features of their own, values at an end, and factors whose products go up and come back."""

from __future__ import annotations

import pytest
import torch

from workers.referee.inputs.row_features import (
    CLOSE_TO_END,
    LANES,
    PERIOD,
    flatter,
    is_of_unit,
    lower_end,
    of_many_features,
    up_and_down,
    upper_end,
)


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)


def test_every_other_row_likes_the_same_columns() -> None:
    changed = of_many_features(torch.randn(64, 32))
    best = changed.argmax(dim=1)
    counts = torch.bincount(best, minlength=32)
    assert int(counts.topk(2).values.sum()) >= 24


def test_some_rows_are_flatter_and_some_steeper_and_some_have_one_high_value() -> None:
    rows = torch.randn(PERIOD * 8, 512)
    changed = of_many_features(rows)
    spread = changed.median(dim=1, keepdim=True).values.sub(changed).abs().median(dim=1).values
    assert int((spread > 1.2).sum()) == 8
    assert int((spread < 0.1).sum()) >= 16
    first, second = changed.topk(2, dim=1).values.T
    assert int(((first - second > 3) & (spread < 0.1)).sum()) >= 7


def test_stripes_are_as_far_apart_as_lanes_are() -> None:
    rows = of_many_features(torch.ones(PERIOD * 4, 1024) + 0.01 * torch.rand(PERIOD * 4, 1024))
    is_large = rows > 0.5
    apart = [row.nonzero().flatten().diff() for row in is_large if 4 <= int(row.sum()) <= 1024 // LANES]
    assert len(apart) >= 4
    assert all(bool((one == one[0]).all()) and int(one[0]) % LANES == 0 for one in apart)


def test_a_quarter_of_the_matrices_are_ridges() -> None:
    x = torch.randn(16, 64, 48)
    changed = of_many_features(x)
    alike = [float(torch.corrcoef(one)[:-1, 1:].diagonal().mean()) for one in changed]
    assert sum(one > 0.9 for one in alike) == 4


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_what_had_one_sign_keeps_it_and_numbers_up_to_one_stay_there(dtype: torch.dtype) -> None:
    x = torch.rand(64, 64).to(dtype)
    for change in (of_many_features, flatter, upper_end, lower_end):
        assert change(x).dtype is dtype
        assert 0 <= float(change(x).min()) <= float(change(x).max()) <= 1
    assert float(of_many_features(-1 - x).max()) <= 0
    assert float(of_many_features(1 + x).min()) >= 0


def test_values_at_an_end_are_close_to_it_or_far_from_their_mean() -> None:
    unit = torch.rand(64, 64)
    assert is_of_unit(unit)
    assert not is_of_unit(unit + 0.5)
    assert float(upper_end(unit).min()) >= 1 - CLOSE_TO_END
    assert float(lower_end(unit).max()) <= CLOSE_TO_END
    normal = torch.randn(64, 64)
    assert float(upper_end(normal).min()) > 3
    assert float(lower_end(normal).max()) < -3
    assert float(lower_end(normal.abs()).min()) >= 0


def test_flatter_rows_are_an_eighth_to_a_half() -> None:
    x = torch.randn(64, 64)
    share = flatter(x) / x
    assert 0.124 < float(share.min()) <= float(share.max()) < 0.501


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_products_along_a_row_go_up_and_come_back(dtype: torch.dtype) -> None:
    running = up_and_down(torch.ones(4, 256, dtype=dtype)).double().cumprod(dim=1)
    assert float(running.max()) < torch.finfo(dtype).max ** 2
    assert torch.equal(running[:, -1], torch.ones(4).double())
    assert float(running.max()) > 2.0**10
    assert float(running.min()) < 2.0**-10
    short = torch.rand(4, 16)
    assert torch.equal(up_and_down(short), short)
