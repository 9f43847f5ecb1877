"""The run-time module with a compiler, as it lies beside an exported kernel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import kernelwright_rt
from kernelwright_rt import CompileError, Library, compile_cpp

pytestmark = pytest.mark.integration


SOURCE = r"""
#include <cstdint>
extern "C" void scale(const float* x, float* y, int64_t n, double factor, int32_t negate) {
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] * (float)(negate ? -factor : factor);
}
extern "C" void store(int64_t* out, int64_t value) { out[0] = value; }
extern "C" void is_null(int64_t* out, const float* bias) { out[0] = bias == nullptr; }
extern "C" void nothing(const float*, float*, int64_t) {}
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rt-cache")


@pytest.fixture(autouse=True)
def own_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(kernelwright_rt.CACHE_VARIABLE, str(cache))
    monkeypatch.delenv(kernelwright_rt.ARTEFACTS_VARIABLE, raising=False)
    yield
    kernelwright_rt.set_builder(None)


@pytest.fixture
def library(own_cache: None) -> Library:
    return compile_cpp(SOURCE)


def integer(value: int = -1) -> torch.Tensor:
    return torch.tensor([value], dtype=torch.int64)


def test_tensors_ints_floats_and_bools_reach_c(library: Library) -> None:
    x = torch.randn(100)
    for negate, sign in ((True, -1.0), (False, 1.0)):
        y = torch.empty_like(x)
        library.scale(x, y, x.numel(), 0.5, negate)
        assert torch.equal(y, x * 0.5 * sign)


@pytest.mark.parametrize("value", [0, -1, 2**63 - 1, -(2**63), True])
def test_integers_keep_all_their_bits(library: Library, value: int) -> None:
    out = integer()
    library.store(out, int(value))
    assert out.item() == int(value)


def test_none_is_a_null_pointer(library: Library) -> None:
    out = integer()
    library.is_null(out, None)
    assert out.item() == 1
    library.is_null(out, torch.zeros(1))
    assert out.item() == 0


def test_the_same_function_takes_other_kinds_of_arguments_later(library: Library) -> None:
    x, y = torch.ones(4), torch.zeros(4)
    library.scale(x, y, 4, 2, False)
    assert y.tolist() == [2.0] * 4
    library.scale(x, y, 4, 1.5, False)
    assert y.tolist() == [1.5] * 4
    library.scale(torch.nn.Parameter(x, requires_grad=False), y, 4, 3.0, False)
    assert y.tolist() == [3.0] * 4


NARROW = r"""
#include <cstdint>
extern "C" void scale(const float* x, float* y, int64_t n, float factor) {
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] * factor;
}
extern "C" void store(double* y, float a, double b, int32_t c, uint8_t d, int8_t e, bool f, unsigned g, int16_t h) {
    const double all[] = {a, b, double(c), double(d), double(e), double(f), double(g), double(h)};
    for (int i = 0; i < 8; ++i) y[i] = all[i];
}
extern "C" void shift(float* y, const float& by) { y[0] += by; }
"""


def test_numbers_are_passed_as_the_source_declares_them() -> None:
    library = compile_cpp(NARROW)
    x, y = torch.randn(100), torch.empty(100)
    for factor in (0.25, 3, True):
        library.scale(x, y, x.numel(), factor)
        assert torch.equal(y, x * factor)
    out = torch.empty(8, dtype=torch.float64)
    library.store(out, 0.5, 0.1, -7, 200, -3, 2, 2**32 - 1, -5)
    assert out.tolist() == [0.5, 0.1, -7, 200, -3, 1, 2**32 - 1, -5]
    library.store(out, 2, 3, True, False, 1, False, True, 0)
    assert out.tolist() == [2, 3, 1, 0, 1, 0, 1, 0]


def test_arguments_that_the_source_does_not_take_are_refused_with_the_way_out() -> None:
    library = compile_cpp(NARROW)
    x, y = torch.ones(4), torch.zeros(4)
    with pytest.raises(TypeError, match=r"scale\(\) takes 4 arguments \(const float\* x, .*, float factor\), not 3"):
        library.scale(x, y, 4)
    with pytest.raises(TypeError, match=r"argument 2 is a float, and the source takes `int64_t n`: pass int"):
        library.scale(x, y, 4.0, 2.0)
    with pytest.raises(TypeError, match=r"argument 3 is a tensor, and the source takes `float factor`: .*\.item\(\)"):
        library.scale(x, y, 4, torch.tensor(2.0))
    with pytest.raises(
        TypeError, match=r"argument 0 is a float, and the source takes `const float\* x`: pass a tensor"
    ):
        library.scale(1.0, y, 4, 2.0)
    with pytest.raises(TypeError, match=r"argument 2 is None, and the source takes `int64_t n`: pass a number"):
        library.scale(x, y, None, 2.0)
    with pytest.raises(TypeError, match=r"argument 1 is a float, and the source takes `const float& by`: .*by value"):
        library.shift(y, 2.0)
    with pytest.raises(ValueError, match=r"argument 8 is 65536, which is no int16_t"):
        library.store(y.double(), 0.0, 0.0, 0, 0, 0, 0, 0, 65536)
    library.scale(x.data_ptr(), y, 4, 2.0)
    assert y.tolist() == [2.0] * 4


def test_a_tensor_of_elements_of_another_size_is_refused_with_its_name() -> None:
    library = compile_cpp(r"""
#include <cstdint>
extern "C" void first(const float* x, float* y, const uint16_t* bits, const void* raw, const char* bytes) {
    y[0] = x[0];
}
""")
    x, y, bits = torch.full((2,), 3.0), torch.zeros(1), torch.ones(1, dtype=torch.bfloat16)
    library.first(x, y, bits, bits, x.double())
    assert y.item() == 3.0
    with pytest.raises(
        TypeError, match=r"first\(\): argument 0 is a tensor of bfloat16, and the source takes `const float\* x`, of 4"
    ):
        library.first(bits, y, bits, x, x)
    with pytest.raises(TypeError, match=r"argument 1 is a tensor of float64, and the source takes `float\* y`"):
        library.first(x, y.double(), bits, None, None)
    with pytest.raises(TypeError, match="argument 2 is a tensor of float32"):
        library.first(x, y, x, x, x)
    library.first(torch.full((1,), 5 + 2j), y, bits, x, None)  # its parts
    assert y.item() == 5.0
    with pytest.raises(TypeError, match="argument 0 is a tensor of complex128"):
        library.first(torch.full((1,), 5 + 2j, dtype=torch.complex128), y, bits, x, None)
    library.first(x, y, None, None, None)
    assert y.item() == 3.0


@pytest.mark.parametrize("flag", ["-ffast-math", "-Ofast", "-funsafe-math-optimizations"])
def test_fast_mathematics_leaves_the_process_alone(flag: str) -> None:
    source = """#include <cstdint>
        extern "C" void add(const float* x, float* y, int64_t n) {
            for (int64_t i = 0; i < n; ++i) y[0] += x[i];
            FAST
        }"""
    fast = "" if flag == "-funsafe-math-optimizations" else "static_assert(__FAST_MATH__ == 1);"
    library = compile_cpp(source.replace("FAST", fast), (flag,))
    x, y = torch.ones(100), torch.zeros(1)
    library.add(x, y, 100)
    assert y.item() == 100.0
    assert torch.full((1,), 1e-39).mul(0.5).item() > 0  # a denormal number


def test_a_strided_tensor_is_refused_with_the_way_out(library: Library) -> None:
    x, y = torch.ones(8)[::2], torch.zeros(4)
    with pytest.raises(ValueError, match=r"scale\(\): argument 0 is not contiguous .* \.data_ptr\(\)"):
        library.scale(x, y, 4, 1.0, False)
    library.scale(x.data_ptr(), y, 4, 1.0, False)
    assert y.tolist() == [1.0] * 4


def test_a_tensor_on_another_device_is_refused(library: Library) -> None:
    with pytest.raises(ValueError, match="argument 1 is on meta"):
        library.nothing(torch.ones(1), torch.ones(1, device="meta"), 1)


def test_what_c_cannot_take_is_refused(library: Library) -> None:
    with pytest.raises(TypeError, match="argument 1 is a list"):
        library.store(integer(), [1])


def test_a_function_that_is_not_there_is_named(library: Library) -> None:
    with pytest.raises(AttributeError, match="no_such"):
        library.no_such(1)


def test_the_compilers_words_are_in_the_error() -> None:
    with pytest.raises(CompileError, match="expected"):
        compile_cpp("int f( {")


def test_a_source_is_compiled_once(monkeypatch: pytest.MonkeyPatch, library: Library) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    out = integer()
    compile_cpp(SOURCE).store(out, 5)
    assert out.item() == 5
    with pytest.raises(CompileError, match=r"cannot run g\+\+"):
        compile_cpp(SOURCE + "// other")


def test_the_toolchain_names_compiler_version_and_instruction_set() -> None:
    assert kernelwright_rt.toolchain().startswith("g++ ")
    assert "-march=native (" in kernelwright_rt.toolchain()


def test_a_missing_compiler_comes_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    kernelwright_rt.toolchain.cache_clear()
    try:
        with pytest.raises(CompileError, match=r"apt install g\+\+"):
            compile_cpp(SOURCE)
    finally:
        kernelwright_rt.toolchain.cache_clear()


def test_the_cache_is_private(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "made"
    monkeypatch.setenv(kernelwright_rt.CACHE_VARIABLE, str(own))
    compile_cpp(SOURCE)
    assert own.stat().st_mode & 0o777 == 0o700


def test_a_cache_that_others_may_write_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setenv(kernelwright_rt.CACHE_VARIABLE, str(shared))
    with pytest.raises(CompileError, match="not a directory of our own"):
        compile_cpp(SOURCE)


def test_a_cache_behind_a_link_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setenv(kernelwright_rt.CACHE_VARIABLE, str(tmp_path / "link"))
    with pytest.raises(CompileError, match="not a directory of our own"):
        compile_cpp(SOURCE)


def test_compiling_the_same_source_at_once_is_safe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kernelwright_rt.CACHE_VARIABLE, str(tmp_path / "fresh"))
    libraries: list[Library] = []
    threads = [threading.Thread(target=lambda: libraries.append(compile_cpp(SOURCE))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for library in libraries:
        out = integer()
        library.store(out, 9)
        assert out.item() == 9
    assert len(libraries) == 3


def test_a_runner_only_loads(tmp_path: Path, library: Library, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    name = kernelwright_rt.artefact_name(SOURCE, ())
    (built,) = cache.glob(f"*/{name}")
    shutil.copy(built, tmp_path / name)
    monkeypatch.setenv(kernelwright_rt.ARTEFACTS_VARIABLE, str(tmp_path))
    out = integer()
    compile_cpp(SOURCE).store(out, 3)
    assert out.item() == 3
    with pytest.raises(CompileError, match="not built at the compile stage"):
        compile_cpp(SOURCE + "// other")


def test_a_builder_is_asked_instead(library: Library, cache: Path) -> None:
    asked: list[tuple[str, tuple[str, ...], str]] = []
    (built,) = cache.glob(f"*/{kernelwright_rt.artefact_name(SOURCE, ())}")

    def build(source: str, flags: tuple[str, ...], language: str) -> str:
        asked.append((source, flags, language))
        return str(built)

    kernelwright_rt.set_builder(build)
    compile_cpp("anything", ["-O2"])
    assert asked == [("anything", ("-O2",), "cpp")]


def test_it_needs_nothing_but_python_torch_and_a_compiler(tmp_path: Path) -> None:
    """As exported: the file alone beside a kernel, in a fresh interpreter that knows nothing of Kernelwright."""
    shutil.copy(str(kernelwright_rt.__file__), tmp_path)
    (tmp_path / "kernel.py").write_text(
        textwrap.dedent("""
            import kernelwright_rt, torch
            lib = kernelwright_rt.compile_cpp('extern "C" void one(float* y) { y[0] = 1; }')
            y = torch.zeros(1)
            lib.one(y)
            print(y.item(), kernelwright_rt.__file__)
        """)
    )
    done = subprocess.run(
        [sys.executable, "kernel.py"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"1.0 {tmp_path / 'kernelwright_rt.py'}\n"
    assert (tmp_path / ".cache" / "kernelwright_rt").is_dir()


def test_a_call_costs_microseconds(library: Library) -> None:
    import timeit

    x, y = torch.ones(1), torch.ones(1)
    best = min(timeit.repeat(lambda: library.nothing(x, y, 1), number=2000, repeat=5)) / 2000
    assert best < 20e-6


def test_a_library_offers_what_its_source_defines_and_nothing_else() -> None:
    library = kernelwright_rt.compile_cpp(
        '#include <cmath>\nextern "C" void run(float* y, long n) { y[0] = std::exp(y[0]); }'
    )
    assert callable(library.run)
    for name in ("getppid", "exp", "expf", "dlopen", "_library"):
        with pytest.raises(AttributeError):
            getattr(library, name)


def test_a_library_can_be_compiled_twice() -> None:
    source = 'extern "C" void run(float* y, long n) { y[0] = 3; }'
    for library in [kernelwright_rt.compile_cpp(source) for _ in range(2)]:
        assert callable(library.run)
