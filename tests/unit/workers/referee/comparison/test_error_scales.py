"""What is learned of a reference's error from its results of arguments that are rounded otherwise."""

import pytest
import torch

from workers.referee.comparison.error_scales import with_steps
from workers.referee.comparison.tolerance import ErrorScale


def test_results_between_two_numbers_may_be_either_and_few_others() -> None:
    own = (torch.arange(1000) % 100).to(torch.int8)
    exact = own.double()
    coarse = torch.where(torch.arange(1000) < 256, exact + 1, exact)
    between = torch.where(torch.arange(1000) < 500, exact + 1, exact)
    assert with_steps(ErrorScale(), coarse, exact, exact, own).steps == pytest.approx(0.256 / 128)
    assert with_steps(ErrorScale(), coarse, between, exact, own).steps == pytest.approx(0.5)
