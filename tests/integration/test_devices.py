"""The CPU's sheet, measured for real."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.domain.errors import InfrastructureError
from services.ports.devices import BuildResult
from workers.backends.cpp import CppBackend
from workers.devices.sheets import last_level_cache_bytes, measure_cpu
from workers.sandboxes.process import ProcessSandbox

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def sandbox() -> Iterator[ProcessSandbox]:
    made = ProcessSandbox(preload=["workers.backends.collect"])
    yield made
    made.close()


def always() -> bool:
    return True


def test_the_sheet_is_plausible(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    sheet = measure_cpu(sandbox, CppBackend(sandbox, tmp_path), tmp_path)
    assert sheet.name == "cpu"
    assert sheet.units == len(os.sched_getaffinity(0))
    assert 1.0 < sheet.copy_bandwidth_gb_s < 2000.0
    assert sheet.copy_bandwidth_gb_s < sheet.cache_bandwidth_gb_s < 20_000.0
    assert 5.0 * sheet.units < sheet.peak_gflop_s < 1000.0 * sheet.units
    assert 0.1 < sheet.launch_us < 100.0
    assert sheet.cache_bytes == last_level_cache_bytes() > 1 << 18
    assert sheet.instruction_set
    assert "g++" in sheet.toolchain
    assert "torch" in sheet.toolchain


def test_the_sheet_is_kept_on_disk_until_it_is_too_old(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    backend = CppBackend(sandbox, tmp_path)
    first = measure_cpu(sandbox, backend, tmp_path, is_quiet=always)
    assert measure_cpu(sandbox, backend, tmp_path, is_quiet=always) == first
    assert measure_cpu(sandbox, backend, tmp_path, max_age_s=0.0, is_quiet=always) != first


def test_a_damaged_sheet_is_measured_again(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    backend = CppBackend(sandbox, tmp_path)
    measure_cpu(sandbox, backend, tmp_path, is_quiet=always)
    (kept,) = (tmp_path / "devices").iterdir()
    kept.write_text('{"name": 3}')
    assert measure_cpu(sandbox, backend, tmp_path, is_quiet=always).name == "cpu"


def test_a_measurement_that_does_not_compile_is_the_machines_fault(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    class Broken(CppBackend):
        def build(self, source: str) -> BuildResult:
            return super().build("import kernelwright_rt\nkernelwright_rt.compile_cpp('int f( {')")

    with pytest.raises(InfrastructureError, match="does not compile"):
        measure_cpu(sandbox, Broken(sandbox, tmp_path), tmp_path)


def test_what_a_busy_machine_measured_is_not_kept(sandbox: ProcessSandbox, tmp_path: Path) -> None:
    measure_cpu(sandbox, CppBackend(sandbox, tmp_path), tmp_path, is_quiet=lambda: False)
    assert not (tmp_path / "devices").exists()
