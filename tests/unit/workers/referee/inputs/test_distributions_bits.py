"""Floats that differ in their last digits, NaN of other bits, and numbers below the smallest normal one."""

import pytest
import torch

from workers.referee.inputs.distributions import (
    ADJACENT,
    NAN_AMONG_NAN,
    NOT_FINITE,
    OTHER_NAN,
    SUBNORMAL,
    changes,
    drawn,
    flushed,
    not_finite_in,
)
from workers.referee.inputs.transforms import BITS, adjacent, of_other_bits

FLOATS = pytest.mark.parametrize("dtype", list(BITS))


def bits_of_nan(tensor: torch.Tensor) -> set[int]:
    return {int(one) & 0xFFFFFFFF for one in tensor[tensor.isnan()].view(torch.int32)}


@FLOATS
def test_neighbours_keep_the_order_and_the_ties_of_their_row(dtype: torch.dtype) -> None:
    x = (torch.randn(32, 24).round(decimals=1) + 8).to(dtype)  # many zeros would stay in their places
    (changed,) = drawn([x], ADJACENT)
    assert changed.dtype is dtype
    for one, other in zip(x, changed, strict=True):
        assert torch.equal(one.unsqueeze(0) < one.unsqueeze(1), other.unsqueeze(0) < other.unsqueeze(1))
        assert torch.equal(one.unsqueeze(0) == one.unsqueeze(1), other.unsqueeze(0) == other.unsqueeze(1))
    ends = changed.aminmax(dim=1)
    assert bool((ends.min >= 1).all())
    if dtype.itemsize > 2:
        assert bool(((ends.max - ends.min) <= 24 * torch.finfo(dtype).eps).all())


def test_doubles_are_neighbours_that_a_float_does_not_tell_apart_and_others_are_a_few_roundings_apart() -> None:
    (times,) = drawn([torch.rand(512, 64, dtype=torch.float64) * 1000], ADJACENT)
    assert bool((times.float() == 1).all())
    assert not bool((times.argmax(dim=1) == 0).all())
    (x,) = drawn([torch.randn(256, 129)], ADJACENT)
    assert bool(((x[:, 1:] - x[:, :-1]).abs() <= 1e-6).any())
    assert bool((x[:, 1:] != x[:, :-1]).all())


def test_where_the_dtype_has_too_few_numbers_nothing_changes() -> None:
    x = torch.randn(200, 200).half()
    assert adjacent(x) is x
    y = torch.randn(4, 5, dtype=torch.complex64)
    assert drawn([y], ADJACENT)[0].shape == (4, 5)


def test_one_tensor_alone_is_not_finite_in_a_quarter_of_its_slices() -> None:
    given = [torch.randn(64, 40) for _ in range(3)]
    changed = drawn(given, not_finite_in(1))
    assert torch.equal(changed[0], given[0])
    assert torch.equal(changed[2], given[2])
    assert int((~torch.isfinite(changed[1])).any(dim=1).sum()) == 16
    assert int(changed[1].isinf().sum()) == 8
    assert all(map(torch.equal, drawn(given, not_finite_in(3)), given))


def test_what_is_not_chosen_times_zero_is_seen_in_slices_that_the_reference_keeps_finite() -> None:
    gate, x, y = drawn([torch.randn(64, 40) for _ in range(3)], not_finite_in(1))
    right = torch.where(gate > 0, x, y)
    chosen = (gate > 0).float()
    kept = torch.isfinite(right).all(dim=1)
    assert not bool(torch.isfinite(chosen * x + (1 - chosen) * y)[kept].all())


@FLOATS
def test_nan_have_the_bits_of_several_processors(dtype: torch.dtype) -> None:
    x = torch.randn(64, 40).to(dtype)
    x[::2] = torch.nan
    other = of_other_bits(x)
    assert torch.equal(other.isnan(), x.isnan())
    assert torch.equal(other[1::2], x[1::2])
    assert torch.unique(other[::2].view(BITS[dtype])).numel() == 3
    assert of_other_bits(x[1]).equal(x[1])


def test_nan_of_other_bits_come_wherever_nan_do() -> None:
    all_kinds = {0x7FC00000, 0xFFC00000, 0x7FFFFFFF}
    x = torch.randn(64, 400)
    found = set[int]()
    for _ in range(8):  # two of three may fall on one place
        (changed,) = drawn([x], NOT_FINITE)
        assert bool(changed.isnan().any())
        found |= bits_of_nan(changed)
    assert found == all_kinds
    missing = torch.where(torch.rand(64, 400) < 0.1, torch.nan, x)
    for kind in (NAN_AMONG_NAN, OTHER_NAN):
        assert changes([missing], kind)
        (changed,) = drawn([missing], kind)
        assert bits_of_nan(changed) == all_kinds
    assert torch.equal(changed.isnan(), missing.isnan())
    assert not changes([x], OTHER_NAN)


@FLOATS
def test_half_of_the_numbers_are_subnormal_and_become_zeros_where_they_are_flushed(dtype: torch.dtype) -> None:
    x = torch.randn(64, 40).abs().to(dtype) + 1
    (changed,) = drawn([-x], SUBNORMAL)
    are_small = changed.abs() < torch.finfo(dtype).tiny
    assert 0.3 < float(are_small.float().mean()) < 0.7
    assert float((changed[are_small] < 0).float().mean()) > 0.9
    (zeros,) = flushed([changed])
    assert bool((zeros[are_small] == 0).all())
    assert bool(zeros.signbit().all())
    assert torch.equal(zeros[~are_small], changed[~are_small])
