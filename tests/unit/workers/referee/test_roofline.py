"""The report's roofline and the analysis give one floor."""

import pytest
import torch

from services.domain.devices import DeviceSheet
from workers.referee.analysis import analyse
from workers.referee.roofline import cheating_floor_s, roofline

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
    )
    report = roofline(found, SHEET, median_us=1e6)
    assert report.floor_us == pytest.approx(found.floor_us)
    assert found.floor_us == pytest.approx(8 * elements / (gb_s * 1e3))
    assert 1e6 * cheating_floor_s(found, SHEET) < found.floor_us
