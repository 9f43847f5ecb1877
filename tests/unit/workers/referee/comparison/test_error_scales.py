"""What is learned of a reference's error from its results of arguments that are rounded otherwise."""

import pytest
import torch

from workers.referee.comparison.error_scales import with_steps
from workers.referee.comparison.tolerance import ErrorScale


def test_results_between_two_numbers_may_be_either_and_few_others() -> None:
    own = (torch.arange(1000) % 100).to(torch.int8)
    coarse = torch.where(torch.arange(1000) < 256, own + 1, own)
    between = torch.where(torch.arange(1000) < 500, own + 1, own)
    assert with_steps(ErrorScale(), coarse, own, own, own).steps == pytest.approx(0.256 / 128)
    assert with_steps(ErrorScale(), coarse, between, own, own).steps == pytest.approx(0.5)
