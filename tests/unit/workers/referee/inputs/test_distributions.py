import random
from collections.abc import Callable

import pytest
import torch

from workers.referee.inputs.distributions import (
    ANYWHERE,
    CODES,
    CONSTANTS,
    DISTANT_ROWS,
    DISTRIBUTIONS,
    FAR_BEYOND,
    WHOLE,
    Distribution,
    changes,
    drawn,
    nudged,
    rebuilt,
)
from workers.referee.inputs.resize import cut_along, resized
from workers.referee.inputs.transforms import huge, hugest, ordered, outsized
from workers.referee.inputs.value_kinds import hold_any_whole, is_code, is_constant, is_continuous, is_whole


def test_masks_labels_and_constants_are_not_scaled() -> None:
    mask = (torch.rand(64, 64) > 0.5).float()
    labels = torch.randint(0, 10, (64,))
    assert not is_continuous(mask)
    assert not is_continuous(labels)
    assert not is_continuous(torch.ones(100))
    assert not is_continuous(torch.full((8,), float("-inf")))
    assert is_continuous(torch.randn(64, 64))


def test_every_distribution_changes_continuous_inputs_only() -> None:
    x, labels = torch.randn(50, 50), torch.arange(50)
    for distribution in DISTRIBUTIONS[1:]:
        changed, same = drawn([x, labels], distribution)
        assert not torch.equal(changed, x)
        assert bool(torch.isfinite(changed).all()) is distribution.finite
        assert same is labels


def test_mixed_signs_reach_both_signs_of_positive_inputs() -> None:
    mixed = next(one for one in DISTRIBUTIONS if one.name == "mixed signs")
    (changed,) = drawn([torch.rand(1000)], mixed)
    assert bool((changed < 0).any())
    assert bool((changed > 0).any())


def test_beyond_half_no_part_in_half_precision_is_finite_and_squares_of_sums_are() -> None:
    x, halves = torch.randn(256, 256), torch.randn(256, 256).half()
    changed, same = drawn([x, halves], named("beyond half"))
    assert float(changed.abs().max()) / 64 > torch.finfo(torch.float16).max
    assert bool(torch.isfinite((changed @ changed).square().sum()))
    assert torch.equal(same, halves)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64])
def test_full_range_whole_numbers_reach_both_ends_and_equal_ones_stay_equal(dtype: torch.dtype) -> None:
    x = torch.randint(0, 100, (64, 64), dtype=dtype)
    (changed,) = drawn([x], ANYWHERE)
    info = torch.iinfo(dtype)
    assert [int(end) for end in changed.aminmax()] == [info.min, info.max]
    assert bool((changed < 0).all(dim=1).any()) is (info.min < 0)
    rows = (changed >= 0).any(dim=1)
    number = int(x[rows][0, 0])
    assert int(torch.unique(changed[rows][x[rows] == number]).numel()) == 1


@pytest.mark.parametrize(
    "tensors",
    [
        [torch.randint(0, 2, (64, 64), dtype=torch.uint8)],
        [torch.arange(64)],
        [torch.randperm(64)],
        [torch.randint(0, 64, (64,)), torch.arange(64)],
        [torch.randn(64)],
    ],
)
def test_masks_places_and_what_is_compared_with_them_are_not_any_number(tensors: list[torch.Tensor]) -> None:
    assert not hold_any_whole(tensors)
    assert hold_any_whole([torch.randint(0, 90, (64, 64))])


def test_cutting_takes_every_tensor_that_shares_the_dimension() -> None:
    tensors = [torch.zeros(64, 10), torch.zeros(64, 3), torch.zeros(10)]
    cut = cut_along(tensors, last=False, generator=random.Random(0))
    assert cut is not None
    rows = cut[0].shape[0]
    assert rows < 64
    assert rows % 2 == 1
    assert cut[1].shape == (rows, 3)
    assert cut[2].shape == (10,)


def test_what_cannot_be_cut_is_left() -> None:
    assert cut_along([torch.zeros(3, 5)], last=False, generator=random.Random(0)) is None
    assert cut_along([], last=True, generator=random.Random(0)) is None


def test_rebuilding_puts_tensors_back_in_order() -> None:
    value = [torch.zeros(1), {"k": (torch.ones(1), 3)}]
    new = rebuilt(value, [torch.full((1,), 5.0), torch.full((1,), 6.0)])
    assert float(new[0]) == 5.0
    assert float(new[1]["k"][0]) == 6.0
    assert new[1]["k"][1] == 3


def test_larger_inputs_repeat_what_is_there_and_single_and_empty_ones_can_be_made() -> None:
    tensors = [torch.arange(1.0, 13).view(6, 2), torch.arange(1, 7), torch.ones(5)]
    larger = resized(tensors, 8, last=False)
    assert larger is not None
    assert [tuple(tensor.shape) for tensor in larger] == [(8, 2), (8,), (5,)]
    assert set(larger[1].tolist()) == set(range(1, 7))
    for size in (0, 1):
        assert [tensor.shape[0] for tensor in resized(tensors, size, last=False) or ()] == [size, size, 5]


@pytest.mark.parametrize("name", ["one spike in", "block-wise"])
def test_a_telling_draw_looks_like_the_problems_own_nearly_everywhere(name: str) -> None:
    x = torch.rand(64, 256)
    (changed,) = drawn([x], named(name))
    same = (changed == x).float().mean()
    assert 0.5 < same < 1.0
    if name == "block-wise":
        assert bool(((changed >= 0) & (changed <= 1)).all())
    else:
        assert int((changed != x).sum()) == 2
        assert bool((changed < 0).any())


def test_a_triangle_stays_one_and_symmetry_stays() -> None:
    triangle = torch.rand(32, 32).tril()
    symmetric = triangle + triangle.mT
    for distribution in DISTRIBUTIONS[1:]:
        if not distribution.finite:
            continue
        changed, same = drawn([triangle, symmetric], distribution)
        assert not torch.any(changed.triu(1)), distribution.name
        assert torch.equal(same, same.mT), distribution.name


def test_only_one_slice_holds_a_nan_and_one_an_infinity() -> None:
    x = torch.rand(16, 8)
    changed, other = drawn([x, x.clone()], named("partly not finite"))
    assert int((~torch.isfinite(changed)).any(dim=1).sum()) == 2
    assert torch.equal(other, x)


def test_ties_come_with_constant_rows_whose_mean_is_exact() -> None:
    (changed,) = drawn([torch.randn(64, 1000)], named("tied"))
    constant = changed[(changed == changed[:, :1]).all(dim=1)]
    assert 4 <= len(constant) <= 8  # the last rows may end columns
    assert torch.equal(constant.mean(dim=1), constant[:, 0])
    assert len(set(changed.flatten().tolist())) < 200


def test_ties_are_the_largest_of_some_rows_and_columns_at_their_ends() -> None:
    of_rows, of_columns = list[int](), list[int]()
    for _ in range(16):
        (changed,) = drawn([torch.randn(640, 251)], named("tied"))
        for rows, counts in ((changed, of_rows), (changed.t(), of_columns)):
            is_largest = rows == rows.amax(dim=1, keepdim=True)
            at_end = (is_largest[:, -8:].sum(dim=1) > 1) & ~is_largest[:, :-8].any(dim=1)
            counts.append(int(at_end.sum()))
    assert min(of_rows) > 640 // 32
    assert max(of_columns) > 251 // 32
    (changed,) = drawn([torch.rand(64, 64)], named("tied"))
    assert float(changed.min()) >= 0.0


def named(name: str) -> Distribution:
    return next(one for one in DISTRIBUTIONS if one.name == name)


def test_general_whole_numbers_change_and_structures_do_not() -> None:
    codes = torch.randint(0, 200, (64, 512), dtype=torch.int32)
    mask = torch.randint(0, 2, (64, 512))
    offsets = torch.arange(0, 4096, 7)
    chosen = torch.randperm(4096)
    short = torch.randint(0, 9, (4,))
    for distribution in WHOLE:
        changed, *same = drawn([codes, mask, offsets, chosen, short], distribution)
        assert not torch.equal(changed, codes), distribution.name
        assert changed.dtype is codes.dtype
        assert all(map(torch.equal, same, [mask, offsets, chosen, short])), distribution.name


def test_larger_whole_numbers_fit_their_dtype_and_their_products_do() -> None:
    (changed,) = drawn([torch.randint(0, 200, (64, 512), dtype=torch.int32)], WHOLE[0])
    assert 256 < int(changed.max()) < 1 << 15


def test_other_whole_draws_hold_values_that_occurred() -> None:
    indices = torch.randint(0, 5000, (4096,))
    for distribution in WHOLE[1:]:
        (changed,) = drawn([indices], distribution)
        assert bool(torch.isin(changed, indices).all())


@pytest.mark.parametrize(
    "draw",
    [
        lambda: torch.rand(64, 64) < 0.5,
        lambda: (torch.rand(64, 64) < 0.5).float(),
        lambda: torch.randint(0, 10, (1000,)),
        lambda: torch.randint(0, 256, (64, 256), dtype=torch.uint8),
    ],
)
def test_masks_labels_and_bytes_that_are_drawn_for_each_place_are_codes(draw: Callable[[], torch.Tensor]) -> None:
    """Nothing is seeded: rows, columns and neighbours of independent elements are beyond the bounds with a chance below
    1e-8 (neighbours: six standard deviations; the variance of 64 rows' sums: chi-squared below 14 or above 275)."""
    assert all(is_code(draw()) for _ in range(100))


def test_a_mask_of_which_exactly_half_is_set_is_a_code() -> None:
    """One fair mask of 4096 in eighty is; it was held for a structure."""
    half = torch.arange(4096)[torch.randperm(4096)].view(64, 64) < 2048
    assert is_code(half)
    assert is_code(half.float())


def test_structures_are_no_codes() -> None:
    lengths = torch.randint(10, 60, (64, 1))
    assert not is_code(torch.ones(64, 64, dtype=torch.bool).tril())
    assert not is_code(torch.arange(64) < lengths)
    assert not is_code(torch.nn.functional.one_hot(torch.randint(0, 10, (512,)), 10))
    assert not is_code(torch.eye(4).repeat_interleave(16, 0).repeat_interleave(16, 1))
    assert not is_code(torch.randperm(256).to(torch.uint8))
    assert not is_code(torch.randint(0, 4, (1000,)).sort().values)
    assert not is_code(torch.randn(64, 64))
    assert not is_code(torch.ones(64, 64))


def test_a_rare_code_stands_alone_in_half_of_the_rows() -> None:
    (changed,) = drawn([torch.rand(64, 256) < 0.5], CODES[0])
    counts = changed.sum(dim=1)
    assert torch.minimum(counts, 256 - counts).tolist().count(1) == 32
    assert {0, 1, 255, 256} == set(counts.tolist())


def test_equal_codes_are_one_that_occurs() -> None:
    (changed,) = drawn([torch.randint(3, 7, (200,))], CODES[2])
    assert changed.unique().numel() == 1
    assert 3 <= int(changed[0]) < 7


def test_tensors_of_one_value_get_others() -> None:
    ones, zeros, x = torch.ones(100), torch.zeros(100), torch.randn(100)
    assert is_constant(ones)
    assert not is_constant(x)
    assert not is_constant(torch.full((8,), float("-inf")))
    scaled, same, also = drawn([ones, zeros, x], CONSTANTS[0])
    assert bool((scaled >= 0.6).all())
    assert scaled.unique().numel() > 50
    assert torch.equal(same, zeros)
    assert also is x
    same, shifted, _ = drawn([ones, zeros, x], CONSTANTS[1])
    assert torch.equal(same, ones)
    assert 0.0 < float(shifted.abs().max()) <= 0.5


def test_rows_in_order_stay_in_order() -> None:
    rises, falls = torch.randn(20, 50).sort().values, torch.randn(50).sort(descending=True).values
    for distribution in DISTRIBUTIONS[1:]:
        if distribution.finite:
            up, down = drawn([rises, falls], distribution)
            assert bool((up[:, 1:] >= up[:, :-1]).all())
            assert bool((down[1:] <= down[:-1]).all())


def test_probabilities_and_rows_of_length_one_stay_so() -> None:
    shares = torch.softmax(torch.randn(20, 50), dim=-1)
    ways = torch.nn.functional.normalize(torch.randn(20, 50), dim=-1)
    for distribution in DISTRIBUTIONS[1:]:
        if distribution.finite:
            other, turned = drawn([shares, ways], distribution)
            assert not torch.equal(other, shares) or distribution.name in ("wide", "large", "tiny")
            assert torch.allclose(other.sum(-1), torch.ones(20), atol=1e-4)
            assert torch.allclose(turned.norm(dim=-1), torch.ones(20), atol=1e-4)


def test_other_sizes_leave_rows_in_order_and_sums_at_one() -> None:
    shares, borders = torch.softmax(torch.randn(20, 50), dim=-1), torch.randn(50).sort().values
    for new in (31, 70):
        resized_ones = resized([shares, borders], new, last=True)
        assert resized_ones is not None
        other, ordered = resized_ones
        assert torch.allclose(other.sum(-1), torch.ones(20), atol=1e-4)
        assert bool((ordered[1:] >= ordered[:-1]).all())


def test_complex_numbers_change_by_their_parts() -> None:
    x = torch.randn(32, 64, dtype=torch.complex64)
    assert is_continuous(x)
    for distribution in DISTRIBUTIONS[1:]:
        if distribution.finite:
            (changed,) = drawn([x], distribution)
            assert changed.dtype is torch.complex64
            assert changed.shape == x.shape
            assert not torch.equal(changed, x)
    (spiked,) = drawn([x], DISTRIBUTIONS[1])
    assert 1 <= int((spiked != x).sum()) <= 2


def test_no_two_spikes_are_equal() -> None:
    for distribution in DISTRIBUTIONS:
        if "spike" in distribution.name:
            (spiked,) = drawn([torch.zeros(64, 4096) + torch.rand(64, 4096)], distribution)
            high = spiked[spiked.abs() > 16]
            assert 1 <= high.numel() <= 32
            assert high.unique().numel() == high.numel()


def test_few_of_many_indices_are_never_general_whole_numbers() -> None:
    for _ in range(40):  # two of 256 are the same in one draw of seven
        assert not is_whole(torch.randint(0, 200_000, (256,)))
    assert is_whole(torch.randint(0, 200_000, (8192,)))
    assert not is_whole(torch.randperm(8192))


def test_a_kind_of_values_that_finds_nothing_to_change_is_told() -> None:
    labels, x = torch.randint(0, 4, (64,)), torch.randn(64)
    assert changes([x, labels], CODES[0])
    assert not changes([x, torch.arange(64)], CODES[0])
    assert not changes([x], CONSTANTS[0])
    assert changes([x], DISTRIBUTIONS[1])


def test_a_nudge_leaves_what_is_not_finite() -> None:
    given = torch.tensor([1.0, float("inf"), float("-inf"), float("nan")])
    for _ in range(8):
        (moved,) = nudged([given])
        assert moved[1:3].tolist() == [float("inf"), float("-inf")]
        assert bool(moved[3].isnan())
        assert abs(float(moved[0]) - 1.0) < 1e-6


def test_rows_in_order_rise_and_fall() -> None:
    x = torch.randn(6, 64)
    found = ordered(x)
    assert torch.equal(found.sort(dim=-1).values, x.sort(dim=-1).values)
    rises, falls = (
        (one >= other).all(dim=1) for one, other in ((found[:, 1:], found[:, :-1]), (found[:, :-1], found[:, 1:]))
    )
    assert int(rises.sum()) == int(falls.sum()) == 3


def test_huge_values_are_beyond_32_bits_and_the_hugest_have_infinite_squares() -> None:
    x = torch.randn(100)
    assert 2**31 < float(huge(x).abs().max()) <= 1.01e12
    assert bool(torch.isfinite(huge(x) ** 3).all())
    assert 0.9e22 < float(hugest(x).abs().max()) <= 1.01e25
    assert bool(torch.isinf(hugest(x).abs().max() ** 2))
    assert torch.equal(torch.sign(huge(x)), torch.sign(x))
    half = x.half()
    assert huge(half) is half  # which has no such numbers
    assert bool((hugest(torch.zeros(4)) == 0).all())


def test_each_row_has_a_mean_of_its_own() -> None:
    (changed,) = drawn([torch.randn(64, 40)], DISTANT_ROWS)
    means = changed.mean(dim=1)
    assert float(means.std()) > 100
    assert bool(((changed - means[:, None]).std(dim=1) < 2).all())
    (positive,) = drawn([torch.rand(64, 40)], DISTANT_ROWS)
    assert bool((positive >= 0).all())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_beside_a_huge_slice_all_others_are_nothing(dtype: torch.dtype) -> None:
    x = torch.randn(8, 40, 3).to(dtype)
    changed = outsized(x, 2)
    assert torch.equal(changed[[0, 1, 3, 4, 5, 6, 7]], x[[0, 1, 3, 4, 5, 6, 7]])
    assert bool(torch.isfinite(changed).all())
    assert float(changed[2].abs().max()) > 500 * float(x.abs().max())


def test_far_beyond_a_period_the_first_is_huge_and_a_remainder_is_exact() -> None:
    x, period = torch.randn(64, 40), torch.rand(64, 40) + 0.5
    changed, same = drawn([x, period], FAR_BEYOND)
    assert same is period
    assert bool((changed > 1e6).float().mean() > 0.9)
    assert torch.equal(changed.remainder(period).double(), changed.double().remainder(period.double()))
