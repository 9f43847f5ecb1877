"""Totals, computed by hand."""

from __future__ import annotations

import pytest

from kernelwright.bench.categories import Category, category_of
from kernelwright.bench.rows import Author, DeviceSpending
from kernelwright.bench.totals import summarise, total
from tests.unit.kernelwright.bench.builders import a_row, some_terms

ROWS = (
    a_row(1, eager=8.0, strongest=4.0, category=Category.NORM),
    a_row(2, eager=2.0, strongest=1.0, width=0.05),
    a_row(3, eager=0.9, strongest=0.5, author=Author.COMPILER, from_compiler=True),
    a_row(4, eager=None, strongest=None),
)


def test_fast_p_is_of_all_problems_and_faster_means_strictly() -> None:
    against = total(ROWS).against
    assert against["eager"].fast_p == {"0": 0.75, "0.8": 0.75, "1": 0.5, "1.5": 0.5, "2": 0.25}
    assert against["strongest"].fast_p == {"0": 0.75, "0.8": 0.5, "1": 0.25, "1.5": 0.25, "2": 0.25}


def test_surely_faster_needs_the_whole_interval_above_one() -> None:
    against = total(ROWS).against
    assert against["eager"].surely_faster == 2
    assert against["strongest"].surely_faster == 1, "1.0 ± 0.05 is not surely faster"


def test_geometric_means_are_of_accepted_kernels_and_say_of_how_many() -> None:
    against = total(ROWS).against
    assert against["strongest"].geometric_mean == pytest.approx(2.0 ** (1 / 3))  # 4 · 1 · 0.5
    assert against["eager"].geometric_mean == pytest.approx(14.4 ** (1 / 3))  # 8 · 2 · 0.9
    assert (against["eager"].measured, against["strongest"].measured) == (3, 3)
    assert (against["compile_max"].geometric_mean, against["compile_max"].measured) == (None, 0)


def test_a_correct_kernel_whose_baseline_is_unknown_is_correct_and_no_faster() -> None:
    standing = total([a_row(1, eager=3.0, strongest=None)]).against["strongest"]
    assert standing.fast_p == {"0": 1.0, "0.8": 0.0, "1": 0.0, "1.5": 0.0, "2": 0.0}
    assert standing.measured == 0


def test_counts_and_device_seconds_are_of_all_rows() -> None:
    totals = total(ROWS)
    assert (totals.problems, totals.accepted) == (4, 3)
    assert totals.statuses == {"solved": 3, "unsolved": 1}
    assert totals.authors == {"playbook": 2, "compiler": 1}
    assert totals.from_compiler == 1
    assert totals.device_s == DeviceSpending(validation=12.0, candidates=20.0)


def test_categories_have_totals_of_their_own() -> None:
    document = summarise(ROWS, some_terms(), ("5_late",))
    assert set(document.categories) == {"norm", "activation"}
    assert document.categories["norm"].against["eager"].geometric_mean == pytest.approx(8.0)
    assert document.categories["activation"].problems == 3
    assert (document.accepted, document.remaining, document.hardware) == (3, ("5_late",), "Test CPU")


def test_no_rows_have_totals_too() -> None:
    assert total([]).against["eager"].fast_p["1"] == 0.0


@pytest.mark.parametrize(
    ("family", "operators", "category"),
    [
        ("matmul", ["aten.matmul.default"], Category.MATMUL),
        ("convolution", ["aten.conv2d.default"], Category.CONVOLUTION),
        ("pointwise", ["aten.conv_transpose1d.default"], Category.CONVOLUTION),
        ("pointwise", ["aten.relu.default"], Category.ACTIVATION),
        ("softmax", ["aten.softmax.int"], Category.ACTIVATION),
        ("pointwise", ["aten.mul.Tensor"], Category.OTHER),
        ("pointwise", ["aten.adaptive_avg_pool2d.default"], Category.POOLING),
        ("pooling", ["aten.max_pool2d.default"], Category.POOLING),
        ("norm", ["aten.layer_norm.default"], Category.NORM),
        ("reduction", ["aten.sum.dim_IntList"], Category.REDUCTION),
        (
            "reduction",
            ["aten.mul.Tensor", "aten.rsub.Scalar", "aten.clamp.default", "aten.mean.default"],
            Category.LOSS,
        ),
        ("scan", ["aten.flip.default", "aten.cumsum.default"], Category.SCAN),
        ("loss", ["aten.cross_entropy_loss.default"], Category.LOSS),
        ("attention", ["aten.scaled_dot_product_attention.default"], Category.OTHER),
        ("unknown", [], Category.OTHER),
        (None, [], Category.OTHER),
    ],
)
def test_a_category_follows_from_what_was_traced(family: str | None, operators: list[str], category: Category) -> None:
    assert category_of(family, operators) is category
