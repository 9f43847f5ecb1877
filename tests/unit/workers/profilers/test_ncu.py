"""Reading Nsight Compute's output, and the diagnosis from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from workers.profilers import ncu
from workers.runner.answers import ProfilerOutput
from workers.runner.counted import counted

BUSY = {
    "compute_pct": 20.0,
    "memory_pct": 88.0,
    "instructions": 1e6,
    "total_us": 130.0,
    "waves": 8.0,
    "kernels": 1.0,
    "occupancy_pct": 80.0,
    "occupancy_limit_pct": 100.0,
}


def printed(*kernels: tuple[str, str, str]) -> str:
    """ncu's CSV with its remarks around it."""
    lines = ["==PROF== Connected to process 7", '"ID","Kernel Name","gpu__time_duration.sum","dram__bytes.sum"']
    lines.append('"","","ns","byte"')
    lines += [f'"{index}","{name}","{time}","{size}"' for index, (name, time, size) in enumerate(kernels)]
    return "\n".join([*lines, "==PROF== Disconnected from process 7"])


def test_names_durations_and_sizes_are_read() -> None:
    first, second = ncu.parse(printed(("mine(float*)", "54,976", "1,000"), ("void at::native::add", "1000", "n/a")))
    assert first.name == "mine(float*)"
    assert first.values == {"duration_us": pytest.approx(54.976), "dram_bytes": 1000.0}
    assert second.values == {"duration_us": 1.0}
    assert (first.is_library, second.is_library) == (False, True)


@pytest.mark.parametrize("text", ["", "==ERROR== no kernels", '"ID"\n"1"', '"a","b"\n"",""\n"only one"'])
def test_what_is_no_table_gives_no_kernel(text: str) -> None:
    assert ncu.parse(text) == []


def test_the_summary_is_the_longest_kernels_with_the_share_of_own_time() -> None:
    kernels = ncu.parse(printed(("mine", "3000", "5"), ("void at::native::add", "1000", "6")))
    summary = ncu.summary(kernels)
    assert summary["dram_bytes"] == 5.0
    assert (summary["kernels"], summary["total_us"], summary["custom_share"]) == (2.0, 4.0, 0.75)


def test_no_kernels_have_no_summary() -> None:
    assert ncu.summary([]) == {}


@pytest.mark.parametrize(
    ("changes", "bottleneck", "evidence"),
    [
        ({}, "memory", "memory runs at 88 % of its peak, arithmetic at 20 %"),
        ({"compute_pct": 91.0}, "compute", "arithmetic runs at 91 % of its peak, memory at 88 %"),
        ({"local_loads": 2e5, "local_stores": 1e5}, "spills", "registers are spilled"),
        ({"memory_pct": 2.0, "total_us": 2.5, "waves": 0.01}, "latency", "2.5 µs in 1 launches, 0.01 waves"),
        (
            {"memory_pct": 40.0, "occupancy_pct": 20.0, "occupancy_limit_pct": 25.0, "limit_registers": 1.0},
            "occupancy",
            "registers permit 25 % of the warps",
        ),
        ({"memory_pct": 40.0, "stall_barrier": 3.0}, "memory", "most warps are waiting at a barrier"),
    ],
)
def test_the_limit_is_named_with_its_evidence(changes: dict[str, float], bottleneck: str, evidence: str) -> None:
    found, reason = ncu.diagnose({**BUSY, **changes})
    assert found == bottleneck
    assert evidence in reason


def test_forbidden_counters_are_explained() -> None:
    text = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission"
    assert "administrators only" in ncu.explain(text)
    assert ncu.explain("==ERROR== The application returned an error code (11).") == (
        "The application returned an error code (11)."
    )


def test_clocks_are_left_alone() -> None:
    line = ncu.command("ncu", "/tmp/log", "/tmp/kernel.ncu-rep", ["python3", "x.py"])
    assert line[line.index("--clock-control") + 1] == "none"
    assert line[-2:] == ["python3", "x.py"]


def test_samples_by_line_become_shares_hottest_first() -> None:
    found = ncu.line_shares('{"4": 25, "7": 75, "0": 9}')
    assert [(one.line, round(one.share, 3)) for one in found] == [(7, 0.688), (4, 0.229)]


@pytest.mark.parametrize("text", ["", "Traceback", "[1]", '{"a": 1}', '{"3": "x"}', '{"3": -1}'])
def test_what_tells_no_lines_gives_none(text: str) -> None:
    assert ncu.line_shares(text) == ()


def a_program(path: Path, *commands: str) -> str:
    path.write_text("\n".join(["#!/bin/sh", *commands]), encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_a_run_without_a_record_keeps_what_ncu_said(tmp_path: Path) -> None:
    assert counted("ncu", "==ERROR== no kernels", tmp_path / "none") == ProfilerOutput(counters="==ERROR== no kernels")


def test_the_modules_folder_is_found_from_the_program_wherever_it_leads(tmp_path: Path) -> None:
    home = tmp_path / "nsight-compute-2026.1"
    (home / "extras/python").mkdir(parents=True)
    a_program(home / "ncu", "exit 0")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/ncu").symlink_to(home / "ncu")
    assert str(home / "extras/python") in ncu.modules_of(str(tmp_path / "bin/ncu"))
