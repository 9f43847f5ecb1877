"""A profile's counters in words."""

from __future__ import annotations

from agents.prompts import counters
from services.domain.profiles import Profile

NCU = {
    "total_us": 812.4,
    "duration_us": 790.1,
    "kernels": 2.0,
    "dram_pct": 41.23456,
    "compute_pct": 12.0,
    "dram_bytes": 3.4e9,
    "occupancy_pct": 23.7,
    "registers": 168.0,
    "waves": 0.4321,
    "blocks": 57.0,
    "instructions": 5.1e7,
    "stall_barrier": 0.4,
    "stall_long_scoreboard": 11.2,
    "stall_wait": 1.1,
    "stall_gmma": 0.0,
    **{f"zzz_{number}": float(number) for number in range(60)},
}


def test_the_counters_that_decide_come_first_in_groups_with_units_and_short_numbers() -> None:
    lines = counters.describe(Profile(source="ncu", metrics=NCU, bottleneck="latency", reason=""))

    assert lines[0] == "time: total_us 812 µs, kernels 2, duration_us 790 µs"
    assert lines[1] == "throughput, % of peak: dram_pct 41.2 %, compute_pct 12 %, dram_bytes 3.4G bytes"
    assert lines[2].startswith("launch and occupancy: waves 0.432, occupancy_pct 23.7 %, registers 168 a thread")
    assert "stalls, warps an issue, largest first: long_scoreboard 11.2, wait 1.1, barrier 0.4" in lines
    assert lines.index("zzz_0 = 0") > 4
    assert len(lines) <= counters.MOST


def test_the_main_stall_and_the_waves_are_shown_whatever_was_selected() -> None:
    profile = Profile(source="ncu", metrics=NCU, bottleneck="latency", reason="")

    text = "\n".join(counters.describe(profile, ("dram_pct",)))

    assert text == (
        "throughput, % of peak: dram_pct 41.2 %\nlaunch and occupancy: waves 0.432\n"
        "stalls, warps an issue, largest first: long_scoreboard 11.2"
    )
