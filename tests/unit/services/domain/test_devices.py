"""Two measurements of one device."""

from dataclasses import replace

from tests.integrity.conftest import SHEET


def test_of_two_measurements_each_ceiling_is_the_higher_one() -> None:
    again = replace(SHEET, copy_bandwidth_gb_s=12.0, cache_bandwidth_gb_s=260.0, peak_gflop_s=151.0, launch_us=9.0)
    both = SHEET.with_higher_ceilings(again)
    assert (both.copy_bandwidth_gb_s, both.cache_bandwidth_gb_s, both.peak_gflop_s) == (15.0, 260.0, 151.0)
    assert both.launch_us == SHEET.launch_us
