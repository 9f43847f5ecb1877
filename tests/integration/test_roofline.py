"""The report's roofline and the analysis give one floor."""

from dataclasses import replace

import pytest
import torch

from services.domain.devices import DeviceSheet
from services.domain.problems import ProblemAnalysis
from workers.referee.costs.analysis import analyse
from workers.referee.costs.roofline import cheating_floor_s, floor_s, roofline

pytestmark = pytest.mark.integration

SHEET = DeviceSheet(
    name="cpu",
    model="",
    units=2,
    copy_bandwidth_gb_s=10.0,
    cache_bandwidth_gb_s=200.0,
    cache_bytes=8 << 20,
    peak_gflop_s=100.0,
    launch_us=1.0,
    instruction_set=(),
    toolchain="",
)


class Scale(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2.0


@pytest.mark.parametrize(("elements", "gb_s"), [(1 << 16, 200.0), (1 << 19, 10.0), (1 << 22, 10.0)])
def test_the_report_has_the_analysis_floor_and_only_small_sets_are_cached(elements: int, gb_s: float) -> None:
    found = analyse(
        Scale(),
        [torch.ones(elements)],
        [],
        copy_bandwidth_gb_s=SHEET.copy_bandwidth_gb_s,
        peak_gflop_s=SHEET.peak_gflop_s,
        cache_bandwidth_gb_s=SHEET.cache_bandwidth_gb_s,
        cache_bytes=SHEET.cache_bytes,
        size_numbers=False,
    )
    report = roofline(found, SHEET, median_us=1e6)
    assert report.floor_us == pytest.approx(found.floor_us)
    assert found.floor_us == pytest.approx(8 * elements / (gb_s * 1e3))
    assert 1e6 * cheating_floor_s(found, SHEET) < found.floor_us


class Product(torch.nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


def test_a_product_of_floats_may_use_matrix_units_and_nothing_else_may() -> None:
    card = replace(SHEET, peak_half_gflop_s=1200.0)
    square = torch.ones(512, 512)

    def traced(module: torch.nn.Module, *inputs: torch.Tensor) -> ProblemAnalysis:
        return analyse(module, inputs, [], copy_bandwidth_gb_s=10.0, peak_gflop_s=100.0, size_numbers=False)

    products = [traced(Product(), one, one) for one in (square, square.half())]
    seconds = [floor_s(found, card)[1] for found in products]
    assert seconds == pytest.approx([2 * 512**3 / (200.0 * 1e9), 2 * 512**3 / (1200.0 * 1e9)])
    assert floor_s(products[0], SHEET)[1] == pytest.approx(2 * 512**3 / (100.0 * 1e9))
    assert floor_s(traced(Scale(), square), card)[1] == pytest.approx(512**2 / (100.0 * 1e9))
