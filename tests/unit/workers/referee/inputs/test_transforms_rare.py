"""Values that no other draw has: smooth rows, all magnitudes, ends of a range, tails, whole numbers of a structure."""

from __future__ import annotations

import pytest
import torch

from workers.referee.inputs.distributions import ANY_WHOLE, drawn
from workers.referee.inputs.transforms import (
    SPREAD,
    STRUCTURED,
    alike,
    all_magnitudes,
    in_runs,
    large_and_close,
    lower_tail,
    multiples,
    smooth,
    to_its_ends,
    upper_tail,
    whole_and_wide,
    with_outsized,
)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_neighbours_in_a_quarter_of_the_rows_are_alike_and_different(dtype: torch.dtype) -> None:
    rows = torch.rand(64, 512).to(dtype) + 1
    changed = smooth(rows)
    is_changed = (changed != rows).any(dim=1)
    assert int(is_changed.sum()) == 16
    assert changed.dtype is dtype
    steps = changed[is_changed].double().diff(dim=1).abs()
    assert float(steps.max()) < 0.2
    assert float(steps.mean()) < float(rows.double().diff(dim=1).abs().mean()) / 3
    assert torch.equal(smooth(rows[:, :8]), rows[:, :8])
    assert float(changed.min()) >= float(rows.min())
    assert float(changed.max()) <= float(rows.max())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_all_magnitudes_are_finite_and_keep_signs_and_zeros(dtype: torch.dtype) -> None:
    x = torch.randn(64, 64).to(dtype)
    x[0, :4] = 0
    changed = all_magnitudes(x)
    assert changed.dtype is dtype
    assert bool(torch.isfinite(changed).all())
    assert torch.equal(changed.sign(), x.sign())
    assert float(changed.double().abs().max()) > torch.finfo(dtype).max ** 0.4
    assert float(changed[changed != 0].double().abs().min()) < torch.finfo(dtype).max ** -0.4


def test_ends_are_planted_where_they_are_near_whole_numbers() -> None:
    x = torch.rand(64, 64)
    changed = to_its_ends(x)
    assert int((changed == 0).sum()) > 64
    assert int((changed == 1).sum()) > 64
    assert bool(((changed == x) | (changed == 0) | (changed == 1)).all())
    inside = torch.rand(64, 64) * 0.2 + 0.4
    assert torch.equal(to_its_ends(inside), inside)


def test_tails_lie_beyond_what_is_drawn() -> None:
    x = torch.randn(4096)
    assert float(upper_tail(x).min()) > 3
    assert float(lower_tail(x).max()) < -3
    assert abs(float(upper_tail(x).std()) - SPREAD) < 0.02


def test_whole_and_wide_numbers_are_whole() -> None:
    changed = whole_and_wide(torch.randn(4096))
    assert torch.equal(changed, changed.round())
    assert float(changed.abs().max()) > 9000


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32, torch.int64])
def test_whole_numbers_keep_their_differences_or_have_low_bits_of_zero(dtype: torch.dtype) -> None:
    x = torch.randint(0, 100, (64, 64), dtype=dtype)
    close, other = large_and_close(x), multiples(x)
    assert close.dtype is other.dtype is dtype
    assert torch.equal(close - close.min(), x - x.min())
    if dtype not in STRUCTURED:
        assert torch.equal(other, x)
        return
    assert int(close.min()) >= torch.iinfo(dtype).max // 2
    assert not bool((other & ((1 << STRUCTURED[dtype]) - 1)).any())


def test_equal_whole_numbers_of_two_tensors_stay_equal() -> None:
    one, other = torch.randint(0, 1000, (4096,)), torch.randint(0, 1000, (4096,))
    for distribution in ANY_WHOLE[1:]:
        changed, again = drawn([one, other], distribution)
        assert torch.equal(changed == again, one == other)
        assert not torch.equal(changed, one)


@pytest.mark.parametrize("shape", [(64, 512), (1, 100_000), (5, 3), (4, 1)])
def test_codes_lie_in_long_runs_of_two_kinds(shape: tuple[int, int]) -> None:
    changed = in_runs(torch.randint(0, 4, shape))
    assert changed.shape == shape
    assert int(torch.unique(changed).numel()) <= 2
    changes = (changed[:, 1:] != changed[:, :-1]).sum(dim=1)
    assert int(changes.max()) <= shape[1].bit_length()
    if shape == (64, 512):
        assert changes[::4].tolist() == [2] * 16, "nearly all is one run"


def test_slices_are_alike_along_what_16_bits_do_not_count() -> None:
    x = torch.randn(70_000, 3)
    changed = alike(x)
    assert torch.equal(changed[:4000], x[:4000])
    assert torch.equal(changed[5000:], changed[5000:5001].expand(65_000, 3))
    assert torch.equal(alike(x.t())[:, 5000:], alike(x.t())[:, 5000:5001].expand(3, 65_000))
    assert alike(x[:500]) is not None
    assert torch.equal(alike(x[:500]), x[:500])


def test_a_few_single_elements_are_a_million_times_as_large() -> None:
    x = torch.randn(64, 32)
    changed = with_outsized(x)
    assert int((changed != x).sum()) == 8
    assert float(changed[changed != x].abs().min()) > 1e5
    assert torch.equal(changed.sign(), x.sign())
