"""Libraries that g++ builds are read as the loader reads them, and judged by lists of what is permitted."""

import shutil
import subprocess
from pathlib import Path

import pytest

from services.ports.devices import BuiltLibrary
from workers.backends.elf import read_library
from workers.referee.screening.built_rules import examine_built

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ (apt install g++)"),
]


OWN = """
#include <cmath>
#include <cstdint>
#include <thread>
#include <vector>
extern "C" void run(const float* x, float* y, int64_t n) {
  std::vector<float> copy(x, x + n);
  std::thread helper([&] { y[0] = std::tanh(copy[0]); });
  helper.join();
  #pragma omp parallel for
  for (int64_t i = 1; i < n; ++i) y[i] = std::exp(x[i]);
}
"""


def built(directory: Path, source: str, *flags: str) -> tuple[BuiltLibrary, bool]:
    (directory / "kernel.cpp").write_text(source)
    command = ["g++", "-O2", "-fopenmp", "-std=c++20", "-shared", "-fPIC", "kernel.cpp", "-o", "kernel.so", *flags]
    subprocess.run(command, cwd=directory, check=True, capture_output=True)
    return read_library(directory / "kernel.so", "cpp")


def remarks(library: BuiltLibrary, *sources: str, permits: frozenset[str] = frozenset()) -> list[str]:
    return [remark.text for remark in examine_built([library], sources, permits)]


def test_an_ordinary_kernel_imports_nothing_it_may_not(tmp_path: Path) -> None:
    library, doubtful = built(tmp_path, OWN)
    assert {"expf", "tanhf", "GOMP_parallel"} <= set(library.imports)
    assert "libgomp.so.1" in library.needed
    assert not library.starters
    assert remarks(library, OWN) == []
    assert not doubtful


def test_a_static_object_is_no_start_up_code(tmp_path: Path) -> None:
    library, _ = built(tmp_path, "#include <vector>\nstatic std::vector<int> table(7);\nint f() { return table[3]; }")
    assert library.starters == ()


def test_start_up_code_is_seen_under_every_spelling(tmp_path: Path) -> None:
    library, _ = built(tmp_path, "__attribute__((__constructor__)) static void first() { __builtin_trap(); }")
    assert len(library.starters) == 1
    assert "runs when it is loaded" in remarks(library)[0]


def test_a_label_put_together_from_pieces_is_seen(tmp_path: Path) -> None:
    source = 'extern "C" int helper(const char*) __asm__("sys" "tem"); int f() { return helper("true"); }'
    library, _ = built(tmp_path, source)
    assert remarks(library, source) == ["a built library: `system` is on no list of what a kernel needs"]


def test_memory_may_be_mapped_where_the_source_says_so(tmp_path: Path) -> None:
    open_about_it = (
        "#include <sys/mman.h>\nvoid* f() { return mmap(nullptr, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }"
    )
    library, _ = built(tmp_path, open_about_it)
    assert remarks(library, open_about_it) == []
    assert remarks(library, "") == ["a built library: `mmap` is called, and the source does not say so"]


def test_a_product_of_a_library_needs_permission(tmp_path: Path) -> None:
    source = 'extern "C" void sgemm_(int); extern "C" void f() { sgemm_(3); }'
    library, _ = built(tmp_path, source)
    assert remarks(library, source) == ["a built library: `sgemm_` does the work by a library call"]
    assert remarks(library, source, permits=frozenset({"matmul"})) == []


def test_bytes_of_a_system_call_ask_for_a_disassembly(tmp_path: Path) -> None:
    _, doubtful = built(tmp_path, 'void f() { __asm__ volatile(".byte 0x0f, 0x05"); }')
    assert doubtful
