"""Numbers that follow sizes: found by tracing again with other sizes."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from services.domain.problems import ProblemAnalysis, SizeNumber
from workers.referee.costs.analysis import analyse

pytestmark = pytest.mark.integration


class Function(nn.Module):
    def __init__(self, function: Callable[..., Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Tensor) -> Tensor:
        return self.function(*inputs)


def traced(function: Callable[..., Tensor], *shapes: tuple[int, ...]) -> ProblemAnalysis:
    inputs = [torch.randn(shape) for shape in shapes]
    return analyse(Function(function), inputs, [], copy_bandwidth_gb_s=10.0, peak_gflop_s=100.0)


def test_a_division_by_the_number_of_rows_follows_the_rows() -> None:
    found = traced(lambda x: x / x.shape[0], (6, 10))
    assert found.size_numbers == (SizeNumber(operator=0, argument=1, factor=1.0, sizes=((0, 0, 1.0),)),)
    assert found.fixed_sizes == ()


def test_a_root_of_the_width_is_found_with_its_exponent() -> None:
    (number,) = traced(lambda x: x * (2.0 * x.shape[-1] ** -0.5), (6, 64)).size_numbers
    assert number.factor == pytest.approx(2.0)
    assert number.sizes == ((0, 1, -0.5),)


def test_a_count_of_elements_follows_every_size() -> None:
    (number,) = traced(lambda a, b: (a - b).sum() / a.numel(), (6, 10), (6, 10)).size_numbers
    assert number.factor == pytest.approx(1.0)
    assert number.sizes == ((0, 0, 1.0), (0, 1, 1.0))


def test_the_batch_mean_of_a_divergence_follows_the_batch() -> None:
    (number,) = traced(lambda a, b: F.kl_div(a, b, reduction="batchmean"), (6, 10), (6, 10)).size_numbers
    assert number.sizes == ((0, 0, 1.0),)


def test_numbers_of_the_problem_itself_follow_nothing() -> None:
    found = traced(lambda x: torch.clamp(x * 6.0 + 10, -1.0, 64.0), (6, 10))
    assert (found.size_numbers, found.fixed_sizes) == ((), ())


def test_another_function_of_a_size_makes_that_size_fixed() -> None:
    found = traced(lambda x: x * math.log2(x.shape[0]), (6, 10))
    assert found.size_numbers == ()
    assert found.fixed_sizes == ((0, 0),)


def test_a_branch_on_a_size_makes_it_fixed() -> None:
    found = traced(lambda x: (x * 2.0).relu() if x.shape[0] > 4 else x * 2.0, (6, 10))
    assert found.fixed_sizes == ((0, 0),)


def test_a_size_that_the_module_does_not_let_vary_is_left_alone() -> None:
    weight = torch.ones(10)
    found = traced(lambda x: x * weight / x.shape[1], (6, 10))
    assert (found.size_numbers, found.fixed_sizes) == ((), ())
