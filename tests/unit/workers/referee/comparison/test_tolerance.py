import dataclasses
import math

import pytest
import torch

from workers.referee.comparison.block_errors import worst_band
from workers.referee.comparison.error_scales import within_range, without_faint_lines
from workers.referee.comparison.tolerance import ErrorScale, compare, error_scale, self_attested, step_scale, tolerances

TABLE = tolerances(None)
EXACT = ErrorScale()


def draw(*shape: int, scale: float = 1.0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(3)) * scale


def test_equal_infinities_are_right_and_opposite_ones_wrong() -> None:
    endless = torch.tensor([math.inf, -math.inf, 1.0])
    assert compare(endless.clone(), endless, EXACT, TABLE) is None
    assert compare(-endless, endless, EXACT, TABLE) is not None
    assert compare(torch.tensor([math.inf, -math.inf, 2.0]), endless, EXACT, TABLE) is not None


def test_the_same_values_are_right() -> None:
    assert compare(draw(64, 64), draw(64, 64), EXACT, TABLE) is None


def test_another_order_of_summation_is_right() -> None:
    x = draw(128, 4096)
    expected = x.sum(-1)
    actual = torch.stack([x[:, i::7].sum(-1) for i in range(7)]).sum(0)
    assert compare(actual, expected, error_scale(expected, x.double().sum(-1)), TABLE) is None


def test_an_honest_matrix_product_in_another_order_is_right() -> None:
    a, b = draw(128, 1536), draw(1536, 128)
    expected = a @ b
    actual = sum((a[:, i : i + 64] @ b[i : i + 64] for i in range(0, 1536, 64)), torch.zeros(128, 128))
    assert compare(actual, expected, error_scale(expected, a.double() @ b.double()), TABLE) is None


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_a_silent_downgrade_is_found(kind: torch.dtype) -> None:
    x = draw(256, 256)
    expected = torch.sigmoid(x)
    actual = torch.sigmoid(x.to(kind)).float()
    mismatch = compare(actual, expected, error_scale(expected, torch.sigmoid(x.double())), TABLE)
    assert mismatch is not None


def test_zeros_do_not_pass_where_outputs_are_small() -> None:
    expected = draw(64, 64, scale=1e-6)
    assert compare(torch.zeros_like(expected), expected, EXACT, TABLE) is not None


def test_zeros_pass_where_zeros_are_expected() -> None:
    assert compare(torch.zeros(8), torch.zeros(8), EXACT, TABLE) is None
    assert compare(torch.full((8,), 1e-3), torch.zeros(8), EXACT, TABLE) is not None


def test_one_wrong_element_among_many_is_found_and_named() -> None:
    expected = draw(100, 100)
    actual = expected.clone()
    actual[17, 4] += 0.01
    mismatch = compare(actual, expected, EXACT, TABLE)
    assert mismatch is not None
    assert "[17, 4]" in mismatch.detail


def test_not_finite_values_must_be_where_they_are_expected() -> None:
    expected = torch.tensor([1.0, float("nan"), float("inf"), float("-inf")])
    assert compare(expected.clone(), expected, EXACT, TABLE) is None
    for wrong in ([1.0, 2.0, float("inf"), float("-inf")], [1.0, float("nan"), float("-inf"), float("-inf")]):
        assert compare(torch.tensor(wrong), expected, EXACT, TABLE) is not None
    assert compare(torch.tensor([float("nan"), 2.0]), torch.tensor([1.0, 2.0]), EXACT, TABLE) is not None


def test_shape_dtype_and_integers_are_exact() -> None:
    assert compare(torch.zeros(2, 3), torch.zeros(3, 2), EXACT, TABLE) is not None
    assert compare(torch.zeros(2).double(), torch.zeros(2), EXACT, TABLE) is not None
    assert compare(torch.tensor([1, 2]), torch.tensor([1, 2]), EXACT, TABLE) is None
    assert compare(torch.tensor([1, 3]), torch.tensor([1, 2]), EXACT, TABLE) is not None
    assert compare(torch.tensor([True]), torch.tensor([False]), EXACT, TABLE) is not None


def test_a_problems_own_tolerance_permits_what_it_says() -> None:
    expected = draw(64, 64)
    actual = expected.half().float()
    assert compare(actual, expected, EXACT, TABLE) is not None
    assert compare(actual, expected, EXACT, tolerances({torch.float32: (1e-3, 1e-3)})) is None


@pytest.mark.parametrize(
    ("given", "looser"),
    [
        ({}, False),
        ({"float32": (1e-4, 1e-4)}, False),
        ({"float32": (0.0, 1e-5)}, False),
        ({"float32": (1e-4, 2e-4)}, True),
        ({"torch.bfloat16": (2e-2, 1e-3)}, True),
        ({"float8_e4m3fn": (0.0, 0.0)}, True),
    ],
)
def test_a_result_is_self_attested_where_the_problem_permits_more_than_the_default(
    given: dict[str, tuple[float, float]], looser: bool
) -> None:
    assert (self_attested(tolerances(given)) is not None) is looser


def test_a_stricter_tolerance_loosens_no_bound_on_the_whole() -> None:
    table = tolerances({"float32": (1e-4, 1e-4)})
    expected = draw(64, 64)
    noisy = expected * (1 + 5e-5 * torch.sign(draw(64, 64)))
    faint = expected.clone() * 1e-6
    for actual, wanted in ((noisy, expected), (torch.zeros_like(faint), faint)):
        assert compare(actual, wanted, EXACT, TABLE) is not None
        assert compare(actual, wanted, EXACT, table) is not None
    assert compare(expected + 1e-6, expected, EXACT, TABLE) is None
    assert compare(expected + 1e-6, expected, EXACT, tolerances({"float32": (0.0, 0.0)})) is not None


def test_a_tolerance_of_what_is_compared_exactly_is_refused() -> None:
    with pytest.raises(ValueError, match="int64 is compared exactly; only these have a tolerance: float64"):
        tolerances({torch.int64: (1.0, 0.0)})


@pytest.mark.parametrize("given", [{"float32": (-1.0, 0.1)}, {"float32": (1.0, 2.0)}, {"float32": 3}])
def test_a_tolerance_that_makes_no_sense_is_refused(given: dict[str, object]) -> None:
    with pytest.raises((TypeError, ValueError)):
        tolerances(given)


def test_empty_outputs_are_right() -> None:
    assert compare(torch.zeros(0, 3), torch.zeros(0, 3), EXACT, TABLE) is None


def test_a_faint_row_is_judged_for_itself() -> None:
    expected = draw(64, 64)
    expected[5] *= 1e-3
    actual = expected.clone()
    actual[5] *= 0.98
    mismatch = compare(actual, expected, error_scale(expected, expected.double()), TABLE)
    assert mismatch is not None
    assert "row 5" in mismatch.detail
    assert compare(actual.mT.contiguous(), expected.mT.contiguous(), EXACT, TABLE) is not None


@pytest.mark.parametrize(("kind", "share"), [(torch.bfloat16, 8e-3), (torch.float16, 1e-3)])
def test_16_bit_results_are_held_to_a_few_roundings(kind: torch.dtype, share: float) -> None:
    exact = draw(256, 256).double()
    expected = exact.to(kind)
    scale = error_scale(expected, exact)
    once_more = (expected.float() * 3).to(kind).div(3).to(kind)
    assert compare(once_more, expected, scale, TABLE) is None
    guessed = (exact * (1 + share)).to(kind)
    assert compare(guessed, expected, scale, TABLE) is not None
    assert compare(guessed, expected, EXACT, TABLE) is None or kind is torch.bfloat16


def test_rounded_figures_may_be_a_step_off_where_a_rounding_of_the_inputs_changes_them() -> None:
    expected = torch.arange(10_000)
    actual = expected.clone()
    actual[:2] += 1
    assert compare(actual, expected, EXACT, TABLE) is not None
    assert compare(actual, expected, ErrorScale(steps=1e-6), TABLE) is None
    actual[:50] += 1
    assert compare(actual, expected, ErrorScale(steps=1e-6), TABLE) is not None
    assert compare(expected.roll(1), expected, ErrorScale(steps=0.5), TABLE) is not None


def test_places_that_were_chosen_are_not_rounded_figures() -> None:
    chosen = torch.tensor([3, 70, 12])
    assert step_scale(torch.tensor([3, 71, 12]), chosen) == pytest.approx(1 / 3)
    assert step_scale(torch.tensor([4, 12, 70]), chosen) == 0.0


def test_faint_elements_of_a_pointwise_result_are_judged_by_their_magnitude() -> None:
    expected = torch.sin(draw(256, 256))
    faint = torch.rand(256, 256) < 0.3
    expected[faint] *= 8e-6
    scale = dataclasses.replace(error_scale(expected, expected.double()), faint=1.5e-6)
    actual = torch.where(faint, 0.0, expected)
    mismatch = compare(actual, expected, scale, TABLE)
    assert mismatch is not None
    assert "where it is about" in mismatch.detail
    assert compare(expected + 1e-7 * torch.randn(256, 256), expected, scale, TABLE) is None


def test_a_block_of_neighbours_has_a_bound_of_its_own() -> None:
    scale = torch.ones(8, 8)
    scale[::2, ::2] = scale[1::2, 1::2] = 8e-6
    expected = torch.sin(draw(512, 1024)) * scale.repeat_interleave(64, 0).repeat_interleave(128, 1)
    actual = torch.where(expected.abs() < 1e-5, 0.0, expected)
    assert compare(actual, expected, error_scale(expected, expected.double()), TABLE) is not None


def statistics(rows: int, faint: float) -> torch.Tensor:
    x = draw(rows, 512).double()
    return torch.stack([x.square().sum(-1), faint * x.mean(-1)], dim=-1)


@pytest.mark.parametrize("faint", [1e-3, 1e-7, 1e-12])
def test_a_column_far_fainter_than_its_neighbour_has_a_bound_of_its_own(faint: float) -> None:
    exact = statistics(256, faint)
    expected = exact.float()
    scale = error_scale(expected, exact)
    assert compare(expected * (1 + 1e-6), expected, scale, TABLE) is None
    missing, halved = expected.clone(), expected.clone()
    missing[:, 1], halved[:, 1] = 0.0, halved[:, 1] * 0.999
    for wrong in (missing, halved):
        assert compare(wrong, expected, scale, TABLE) is not None
    missing, expected, exact = missing.T.contiguous(), expected.T.contiguous(), exact.T.contiguous()
    assert compare(missing, expected, error_scale(expected, exact), TABLE) is not None


def test_a_faint_column_that_is_left_of_rounding_may_be_another() -> None:
    exact = statistics(256, 0.0)
    expected, actual = exact.float(), exact.float()
    expected[:, 1], actual[:, 1] = draw(256, scale=1e-6), -draw(256, scale=1e-6)
    assert compare(actual, expected, error_scale(expected, exact), TABLE) is None


def test_a_row_that_roundings_leave_of_cancelling_terms_may_be_another() -> None:
    expected = draw(64, 64)
    expected[5] = 0.0
    actual = expected.clone()
    actual[5] = draw(64, scale=1e-7)
    scale = error_scale(expected, expected.double())
    assert compare(actual, expected, scale, TABLE) is None
    actual[5] = draw(64, scale=1e-3)
    assert compare(actual, expected, scale, TABLE) is not None


def test_faint_lines_say_nothing_where_the_reference_s_own_are_inexact() -> None:
    expected = draw(64, 64)
    expected[5] *= 1e-12
    actual, scale = expected.clone(), error_scale(expected, expected.double())
    actual[5] *= 3.0
    assert compare(actual, expected, scale, TABLE) is not None
    assert compare(actual, expected, without_faint_lines(scale), TABLE) is None


def test_each_of_few_elements_has_a_bound_by_what_it_usually_is() -> None:
    expected = torch.tensor([1000.0, 1e-9])
    scale = ErrorScale(known=True, usual=(1000.0, 1e-9))
    assert compare(expected * (1 + 1e-6), expected, scale, TABLE) is None
    assert compare(torch.tensor([1000.0, 0.0]), expected, scale, TABLE) is not None
    assert compare(torch.tensor([1000.0, 0.0]), expected, dataclasses.replace(scale, slot=0.5), TABLE) is None


@pytest.mark.parametrize("shape", [(), (0,), (31,)])
def test_outputs_with_too_few_elements_for_a_band_have_none(shape: tuple[int, ...]) -> None:
    assert worst_band(torch.ones(shape), torch.zeros(shape), 1e-6, 1e-6) == (0.0, 0.0)
    wrong = torch.ones(64)
    assert worst_band(wrong + 1e-3, wrong, 1e-6, 1e-6)[0] > 1.0


def test_within_a_range_any_number_is_right_and_what_is_far_outside_or_not_finite_is_wrong() -> None:
    wanted = torch.rand(64, 64) * 2 - 1
    scale = within_range(error_scale(wanted, wanted.double()), 1.0)
    table = tolerances(None)
    assert compare(torch.rand(64, 64) * 2 - 1, wanted, scale, table) is None
    for outside in (7.0, math.inf, math.nan):
        other = wanted.clone()
        other[3, 3] = outside
        assert compare(other, wanted, scale, table) is not None
