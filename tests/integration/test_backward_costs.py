"""What a step with a backward pass is said to cost, from the trace of its forward."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from services.domain.devices import DeviceSheet
from tests.integrity.conftest import SHEET
from tests.unit.workers.referee.problem.test_differentiation import loaded, module
from workers.referee.costs.backward_costs import with_backward
from workers.referee.validation import analysed

pytestmark = pytest.mark.integration


def _costs(source: str, sheet: DeviceSheet = SHEET) -> tuple[int, int, int, int, Sequence[str]]:
    problem = loaded(source)
    found = analysed(problem, sheet, lambda _what, _line: None)
    assert found.backward is not None
    backward = found.backward
    assert with_backward(found, loaded(source.replace("BACKWARD = True", "")), sheet) is found
    return found.bytes_moved, backward.bytes_moved, found.flops, backward.flops, backward.gradients


def test_bytes_and_flops_are_those_of_both_passes() -> None:
    source = module("return x * x", "torch.randn(100, 50)")
    moved, of_backward, flops, more, gradients = _costs(source)
    assert (of_backward, moved) == (2 * 20_000, 4 * 20_000)
    assert (more, flops) == (5_000, 10_000)
    assert gradients == ("`x`",)


def test_a_product_costs_one_more_for_each_factor_with_a_gradient() -> None:
    weight = "        self.weight = nn.Parameter(torch.randn(50, 30))"
    source = module("return x @ self.weight", "torch.randn(100, 50)", parameter=weight)
    *_, flops, more, _ = _costs(source)
    assert flops - more == 2 * 100 * 50 * 30
    assert more == 2 * (flops - more)
