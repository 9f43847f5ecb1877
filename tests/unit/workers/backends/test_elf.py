"""A built library is read as the loader reads it, and judged by lists of what is permitted."""

import shutil
import subprocess
from pathlib import Path

import pytest

from services.ports.devices import BuiltLibrary
from workers.backends.elf import read_library
from workers.referee.screening.built_rules import examine_built

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ (apt install g++)")
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


def test_a_library_of_kernels_needs_permission() -> None:
    library = BuiltLibrary(name="k.so", language="torch_cuda", needed=("libcublas.so.13", "libc10.so"))
    assert "LIBRARY permits none" in remarks(library)[0]
    assert remarks(library, permits=frozenset({"matmul"})) == []


def test_an_unknown_library_is_refused() -> None:
    assert "did not build it" in remarks(BuiltLibrary(name="k.so", language="cpp", needed=("libz.so.1",)))[0]


@pytest.mark.parametrize(
    "name",
    [
        "_ZN2at3cpu4siluERKNS_6TensorE",
        "_ZN2at6native7softmaxERKNS_6TensorElSt8optionalIN3c1010ScalarTypeEE",
        "_ZN3c1010Dispatcher9singletonEv",
        "_ZN3c104impl24ExcludeDispatchKeyGuardC1ENS_14DispatchKeySetE",
        "PyRun_SimpleStringFlags",
        "sgemm_",
        "dlsym",
    ],
)
def test_an_extension_may_not_go_past_the_dispatcher(name: str) -> None:
    assert remarks(BuiltLibrary(name="k.so", language="torch", imports=(name,)))


@pytest.mark.parametrize(
    "name", ["_ZN2at4_ops10empty_like4callERKNS_6TensorE", "_ZN2at6native10empty_likeE", "PyErr_Occurred", "expf"]
)
def test_an_extension_may_allocate(name: str) -> None:
    assert remarks(BuiltLibrary(name="k.so", language="torch", imports=(name,))) == []


@pytest.mark.parametrize("content", [b"", b"\x7fELF\x02\x01", b"\x7fELF\x02\x01" + bytes(58), b"MZ" * 300])
def test_what_is_no_library_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "kernel.so").write_bytes(content)
    library, _ = read_library(tmp_path / "kernel.so", "cpp")
    assert library.broken
    assert "cannot be read" in remarks(library)[0]
