"""Rows with nothing in them, masked scores, and values that are hardly anything."""

import torch

from workers.referee.inputs.distributions import (
    DEGENERATE,
    HUGE,
    MINUTE,
    NAN_AMONG_NAN,
    all_but,
    alone,
    changes,
    drawn,
    only_mark,
)
from workers.referee.inputs.transforms import (
    any_code,
    degenerate,
    hugest,
    is_one_signed,
    minus_infinity,
    minute,
    minutest,
    padded,
    row_of_nan,
    tiny,
)
from workers.referee.inputs.value_structure import structured


def test_some_rows_are_nothing_some_one_value_and_some_of_one_sign() -> None:
    x = torch.randn(64, 40)
    changed = degenerate(x)
    assert not changed[::8].any()
    zeros = (changed[1::8] == 0).sum(dim=1)
    assert bool((zeros > 0).all())
    assert bool((changed[1::8, 0] == 0).all())
    assert torch.equal(changed[2::8], x[2::8, :1].expand(8, 40))
    assert bool((changed[3::8] >= 0).all())
    assert bool((changed[5::8] <= 0).all())
    runs = changed[6::8]
    low, high = x[6::8].aminmax(dim=1, keepdim=True)
    assert bool(((runs == low) | (runs == high)).all())
    assert int((runs[:, 1:] != runs[:, :-1]).sum(dim=1).max()) <= 2
    assert bool(((runs == low).sum(dim=1) == 20).all())
    for row in (4, 7):
        assert torch.equal(changed[row::8], x[row::8])


def test_positive_values_stay_positive_or_become_nothing() -> None:
    assert bool((degenerate(torch.rand(64, 40) + 0.1) >= 0).all())


def test_slices_of_several_dimensions_are_nothing_too() -> None:
    changed = degenerate(torch.randn(4, 6, 8, 8))
    assert not changed[0].any()
    assert not changed[1, 0].any()
    assert int(torch.unique(changed[1, 1]).numel()) == 1


def test_a_single_row_begins_with_zeros_and_a_draw_is_left_as_it_was() -> None:
    x = torch.randn(1000)
    before = x.clone()
    changed = padded(x)
    assert changed[0] == 0
    assert int((changed == 0).sum()) <= 251
    degenerate(x)
    assert torch.equal(x, before)


def test_rows_of_a_sum_or_length_keep_it() -> None:
    shares, directions = torch.randn(64, 40).softmax(dim=1), torch.nn.functional.normalize(torch.randn(64, 40), dim=1)
    of_shares, of_directions = drawn([shares, directions], DEGENERATE)
    assert torch.allclose(of_shares.sum(dim=1), torch.ones(64))
    assert torch.allclose(of_directions.norm(dim=1), torch.ones(64))
    assert torch.equal(of_shares[0], shares[0])
    assert not torch.equal(of_shares[1], shares[1])
    assert torch.equal(structured(directions, torch.zeros(64, 40)), directions)


def test_scores_are_masked_to_a_place_or_to_the_end() -> None:
    masked = torch.isinf(minus_infinity(torch.randn(64, 40)))
    assert bool(masked[::8].all())
    assert not masked[4::8].any()
    assert bool((masked[1:, 1:] <= masked[1:, :-1]).all())


def test_a_row_of_nan_stands_beside_single_ones() -> None:
    x = torch.where(torch.rand(64, 40) < 0.1, torch.nan, torch.randn(64, 40))
    assert changes([x], NAN_AMONG_NAN)
    assert not changes([torch.randn(64, 40)], NAN_AMONG_NAN)
    (changed,) = drawn([x], NAN_AMONG_NAN)
    assert bool(torch.isnan(changed).all(dim=1).any())
    assert int(torch.isnan(row_of_nan(torch.randn(64, 40))).all(dim=1).sum()) == 1


def test_minute_values_are_those_that_the_dtype_holds() -> None:
    x = torch.randn(64, 40)
    assert 1e-15 < float(minute(x).abs().max()) < 1e-11
    assert bool((minute(x) <= 0).all())
    assert 1e-26 < float(minutest(x).abs().max()) < 1e-22
    assert not is_one_signed(minutest(x))
    assert 1e-170 < float(minutest(x.double()).abs().max()) < 1e-166
    assert 1e165 < float(hugest(x.double()).abs().max()) < 1e170
    assert torch.equal(minute(x.half()), -x.half().abs())
    assert torch.equal(minutest(x.half()), x.half())
    assert bool((minute(x.abs()) >= 0).all())


def test_tiny_values_are_of_one_sign() -> None:
    x = torch.randn(64, 40)
    assert torch.equal(tiny(x), x.abs() * 1e-3)
    assert torch.equal(tiny(-x.abs()), -x.abs() * 1e-3)


def test_all_labels_are_a_named_one() -> None:
    (changed,) = drawn([torch.tensor([3, 1, 31_999, 8, 15_000, 22])], only_mark(-100))
    assert changed.tolist() == [-100] * 6


def test_all_tensors_but_one_are_minute() -> None:
    x, labels, y = torch.randn(64, 40), torch.arange(64), torch.rand(64, 40)
    found = drawn([x, labels, y, x + 1], all_but(MINUTE[0], 1))
    assert found[1] is labels
    assert found[2] is y
    assert [float(found[place].abs().max()) < 1e-11 for place in (0, 3)] == [True, True]
    assert all_but(MINUTE[0], 1).piles_up


def test_one_tensor_alone_is_minute_or_huge_and_no_line_is_judged_by_itself() -> None:
    x, labels, y = torch.randn(64, 40), torch.arange(64), torch.rand(64, 40)
    for distribution, low, high in ((MINUTE[0], 1e-15, 1e-11), (MINUTE[1], 1e-26, 1e-22), (HUGE, 1e10, 1e13)):
        found = drawn([x, labels, y], alone(distribution, 1))
        assert found[0] is x
        assert found[1] is labels
        assert low < float(found[2].max()) < high
        assert alone(distribution, 2).piles_up
        assert alone(distribution, 2) != alone(distribution, 0)


def test_equal_codes_are_often_the_least_or_the_largest() -> None:
    codes = torch.randint(0, 256, (64, 40), dtype=torch.uint8)
    found = [any_code(codes) for _ in range(60)]
    assert all(bool((one == one[0, 0]).all()) for one in found)
    ends = [int(one[0, 0]) for one in found]
    assert ends.count(int(codes.min())) > 5
    assert ends.count(int(codes.max())) > 5
