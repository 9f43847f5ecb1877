"""Libraries that g++ builds are read as the loader reads them, and judged by lists of what is permitted."""

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from services.ports.devices import BuiltLibrary
from workers.backends.disassembly import choosing
from workers.backends.elf import compilers_resolvers, read_library
from workers.referee.screen.binary_rules import examine_built

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


CLONED = """
#include <cstdint>
__attribute__((target_clones("default", "avx2"))) static void part(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * 2;
}
__attribute__((target_clones("default", "sse4.2", "avx2", "arch=haswell", "bmi2"))) int bits(int n) {
  return __builtin_popcount(n);
}
extern "C" __attribute__((target_clones("default", "avx512f"))) void run(const float* x, float* y, int64_t n) {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) part(x, y, n);
  y[0] += bits(n);
}
"""


def chosen_at_load(directory: Path, source: str, *flags: str) -> tuple[BuiltLibrary, int]:
    """What a library says of itself where its resolvers were looked into, and how many of those g++ wrote."""
    built(directory, source, *flags)
    path = directory / "kernel.so"
    command = ["objdump", "--disassemble", "--no-show-raw-insn", "--wide", "--section=.text", str(path)]
    listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    plain = choosing(listing, compilers_resolvers(path))
    return read_library(path, "cpp", plain)[0], len(plain)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="needs a processor that g++ clones functions for (x86-64)")
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O3"])
def test_functions_for_several_processors_are_chosen_by_g_s_own_resolvers(tmp_path: Path, level: str) -> None:
    library, number = chosen_at_load(tmp_path, CLONED, level)
    assert number == 3
    assert library.starters == ("__cpu_indicator_init",)
    assert remarks(library, CLONED) == []
    assert remarks(library, CLONED + "#define A(a, b) a##b") != []


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names x86-64's instructions")
@pytest.mark.parametrize("label", ["", '__asm__("run.resolver")'])
def test_a_resolver_of_the_source_s_own_runs_when_it_is_loaded(tmp_path: Path, label: str) -> None:
    source = (
        'extern "C" { int count; void real() {}\n'
        "void (*choose())() LABEL; void (*choose())() { ++count; return real; }\n"
        'void run() __attribute__((__ifunc__("CHOOSE"))); }'
    )
    source = source.replace("LABEL", label).replace("CHOOSE", "run.resolver" if label else "choose")
    library, number = chosen_at_load(tmp_path, source)
    assert number == 0
    assert "runs when it is loaded" in remarks(library, source)[0]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names x86-64's instructions")
def test_a_hidden_resolver_is_seen_too(tmp_path: Path) -> None:
    source = (
        "static void real() {} static void (*choose())() { return real; }\n"
        'static void chosen() __attribute__((__ifunc__("_ZL6choosev")));\nextern "C" void run() { chosen(); }'
    )
    library, _ = chosen_at_load(tmp_path, source)
    assert "runs when it is loaded" in remarks(library, source)[0]
