"""What any `KernelBackend` must do; sources are given per backend."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import kernelwright_rt
from services.domain.errors import ConfigurationError
from services.ports.devices import BuildResult, KernelBackend
from services.ports.sandboxes import Mount, Sandbox, SandboxLimits
from tests.contracts.sandboxes import Bench, bench_of
from workers.backends.cpp import CppBackend, runtime_view
from workers.backends.cuda import CudaBackend
from workers.backends.registry import make_backend
from workers.sandboxes.process import ProcessSandbox

pytestmark = pytest.mark.contracts

IMPORT_S = 20.0
"""A fork bomb has this long to stand at its limit for two seconds."""

CPP = '''
import torch
import kernelwright_rt

SOURCE = """
#include <cstdint>
extern "C" void fill(float* y, int64_t n, double value) {{
    #pragma omp parallel for
    for (int64_t i = 0; i < n; ++i) y[i] = (float)value;
}}
// {comment}
"""
library = kernelwright_rt.compile_cpp(SOURCE{flags})
'''

CUDA = '''
import kernelwright_rt

SOURCE = """
#include <cstdint>
__global__ void fill_kernel(float* y, int64_t n, float value) {{
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < n) y[i] = value;
}}
extern "C" void fill(float* y, int64_t n, double value, cudaStream_t stream) {{
    fill_kernel<<<(n + 255) / 256, 256, 0, stream>>>(y, n, (float)value);
}}
// {comment}
"""
library = kernelwright_rt.compile_cuda(SOURCE{flags})
'''


def cuda_source(comment: str = "", flags: str = "") -> str:
    return CUDA.format(comment=comment, flags=f", {flags}" if flags else "")


def has_nvcc() -> bool:
    try:
        return bool(kernelwright_rt.cuda_compiler())
    except kernelwright_rt.CompileError:
        return False


def cpp_source(comment: str = "", flags: str = "", after: str = "") -> str:
    return CPP.format(comment=comment, flags=f", {flags}" if flags else "") + after


@dataclass(frozen=True, kw_only=True)
class Language:
    """A backend with sources in its language."""

    make: Callable[[Sandbox, Path, float], CppBackend]
    """With a folder for what was built, and the seconds that importing a module may take."""
    view: Callable[[KernelBackend, BuildResult], tuple[tuple[Mount, ...], dict[str, str]]]
    """With what a runner finds a build."""
    call: str
    """A statement that calls the built function on a thousand floats `y` with 2.5; needs the language's device."""
    good: Callable[[str], str]
    """A source that builds one artefact; the argument makes it unlike others."""
    broken: str
    """A source the compiler refuses."""
    broken_says: str
    """Words of the compiler about it."""
    forbidden: tuple[str, ...]
    """Sources that ask the compiler for what a candidate may not have."""


LANGUAGES = {
    "cpp": Language(
        make=lambda sandbox, cache, import_s: CppBackend(sandbox, cache, import_s=import_s),
        view=lambda _backend, built: runtime_view(built),
        call="y = torch.zeros(1000); library.fill(y, 1000, 2.5)",
        good=cpp_source,
        broken=cpp_source().replace("(float)value;", "(float)value"),
        broken_says="expected ‘;’ before",
        forbidden=tuple(
            cpp_source(flags=f"[{flag!r}]")
            for flag in (
                "-fplugin=/tmp/x.so",
                "-B/tmp",
                "-specs=/tmp/x",
                "@/etc/passwd",
                "-I/root",
                "-Wl,-rpath,/tmp",
                "-include/etc/passwd",
                "-o/tmp/elsewhere",
                "-wrapper",
                "kernel2.cpp",
                "-O2 -fplugin=x",
                "-O2\n-B/tmp",
            )
        ),
    ),
    "cuda": Language(
        make=lambda sandbox, cache, import_s: CudaBackend(sandbox, cache, architecture="90a", import_s=import_s),
        view=lambda backend, built: backend.view(built) if isinstance(backend, CudaBackend) else ((), {}),
        call="y = torch.full((1000,), 2.5)",  # calling it needs a GPU: tests/gpu does
        good=cuda_source,
        broken=cuda_source().replace("y[i] = value;", "y[i] = value"),
        broken_says='expected a ";"',
        forbidden=tuple(
            cuda_source(flags=f"[{flag!r}]")
            for flag in (
                "-ccbin=/tmp/g++",
                "-Xcompiler=-fplugin=/tmp/x.so",
                "-I/root",
                "-include=/etc/passwd",
                "-optf=/etc/passwd",
                "-o=/tmp/elsewhere",
                "--run",
                "-arch=sm_80",
                "kernel2.cu",
                "--ptxas-options=-v -o x",
            )
        ),
    ),
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    made = ProcessSandbox(preload=["workers.backends.collect"])
    yield made
    made.close()


@pytest.fixture(params=sorted(LANGUAGES))
def language(request: pytest.FixtureRequest) -> Language:
    if request.param == "cuda" and not has_nvcc():
        pytest.skip("nvcc is not installed on this machine: pip install nvidia-cuda-nvcc, and see docs")
    return LANGUAGES[request.param]


@pytest.fixture
def backend(language: Language, sandbox: Sandbox, tmp_path: Path) -> KernelBackend:
    return language.make(sandbox, tmp_path / "cache", IMPORT_S)


@pytest.fixture
def bench(sandbox: Sandbox) -> Iterator[Bench]:
    yield from bench_of(sandbox)


def test_the_toolchain_names_compiler_and_version(backend: KernelBackend) -> None:
    assert any(character.isdigit() for character in backend.toolchain())
    assert backend.toolchain() == backend.toolchain()


def test_the_machine_code_of_what_was_built_is_shown_or_it_is_said_what_is_missing(
    backend: KernelBackend, language: Language
) -> None:
    found = backend.listing(backend.build(language.good("machine code")))
    if found.form == "none":
        assert re.search("is not installed: install", found.note), found.note
        return
    assert any("fill" in name for name in found.functions)
    assert found.note == ""
    assert len(found.text.splitlines()) > len(found.functions)
    assert not any("tm_clones" in name for name in found.functions)
    line = next(at for at, text in enumerate(language.good("").split('"""')[1].splitlines()) if "y[i] =" in text)
    assert f"; line {line + 1}\n" in found.text  # of the compiled source, which begins after the quotes


def test_a_module_that_compiles_nothing_has_no_machine_code(backend: KernelBackend) -> None:
    found = backend.listing(backend.build("x = 1\n"))
    assert (found.form, found.functions, found.text) == ("none", (), "")
    assert "nothing compiled" in found.note


def test_a_good_source_gives_an_artefact(backend: KernelBackend, language: Language) -> None:
    result = backend.build(language.good("one"))
    assert result.ok, result.messages
    assert len(result.artefacts) == 1
    assert result.artefacts[0].stat().st_mode & 0o222 == 0


def test_a_second_build_is_answered_from_the_cache(backend: KernelBackend, language: Language) -> None:
    first = backend.build(language.good("two"))
    built_at = [path.stat().st_mtime_ns for path in first.artefacts]
    second = backend.build(language.good("two"))
    assert second.artefacts == first.artefacts
    assert [path.stat().st_mtime_ns for path in second.artefacts] == built_at


def test_the_cache_outlives_the_backend(language: Language, sandbox: Sandbox, tmp_path: Path) -> None:
    first = language.make(sandbox, tmp_path, IMPORT_S).build(language.good("three"))
    built_at = [path.stat().st_mtime_ns for path in first.artefacts]
    second = language.make(sandbox, tmp_path, IMPORT_S).build(language.good("three"))
    assert second.artefacts == first.artefacts
    assert [path.stat().st_mtime_ns for path in second.artefacts] == built_at


def test_different_sources_have_different_artefacts(backend: KernelBackend, language: Language) -> None:
    assert backend.build(language.good("a")).artefacts != backend.build(language.good("b")).artefacts


def test_a_source_that_was_lost_from_the_cache_is_built_again(backend: KernelBackend, language: Language) -> None:
    first = backend.build(language.good("lost"))
    first.artefacts[0].unlink()
    second = backend.build(language.good("lost"))
    assert second.ok
    assert second.artefacts[0].is_file()


def test_the_compilers_words_come_back(backend: KernelBackend, language: Language) -> None:
    result = backend.build(language.broken)
    assert not result.ok
    assert language.broken_says in result.messages
    assert result.messages.count(language.broken_says) == 1


def test_forbidden_flags_are_refused_by_name(backend: KernelBackend, language: Language) -> None:
    for source in language.forbidden:
        result = backend.build(source)
        assert not result.ok
        assert "may not use" in result.messages


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("raise ValueError('the reason')", "ValueError: the reason"),
        ("def broken(:", "SyntaxError"),
        ("import no_such_module", "No module named 'no_such_module'"),
        ("import os; os._exit(0)", "ended its process with code 0"),
        ("import sys; sys.exit()", "SystemExit"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "signal 11"),
        (
            "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass",
            "killed because it held all the processes and threads that it may have",
        ),
        ("import os\nprint('last words'); os.closerange(3, 100)\nos._exit(7)", "last words"),
        ("import socket, os\nsocket.socket(fileno=3)", None),
    ],
)
def test_a_module_that_misbehaves_is_told_so(backend: KernelBackend, source: str, says: str | None) -> None:
    result = backend.build(source)
    if says is not None:
        assert not result.ok
        assert says in result.messages


def test_a_module_that_does_not_end_is_stopped(language: Language, sandbox: Sandbox, tmp_path: Path) -> None:
    result = language.make(sandbox, tmp_path, 1.0).build("while True: pass")
    assert (result.ok, result.messages) == (False, "importing the module did not finish within 1 s")


def test_a_flood_of_output_does_not_stop_a_build(backend: KernelBackend, language: Language) -> None:
    flood = "import os\nfor _ in range(64): os.write(1, b'x' * (1 << 20))\n"
    assert backend.build(flood + language.good("flood")).ok


def test_building_goes_on_after_a_bad_source(backend: KernelBackend, language: Language) -> None:
    backend.build("import os; os._exit(0)")
    assert backend.build(language.good("after")).ok


def test_a_failure_that_the_module_hides_still_fails(backend: KernelBackend, language: Language) -> None:
    hidden = "try:\n" + "\n".join(f"    {line}" for line in language.broken.splitlines()) + "\nexcept Exception: pass"
    assert not backend.build(hidden).ok


def test_functions_can_be_called_when_the_module_is_imported(backend: KernelBackend) -> None:
    after = "y = torch.zeros(5)\nlibrary.fill(y, 5, 3.0)\nassert y.tolist() == [3.0] * 5"
    result = backend.build(cpp_source(after=after))
    assert result.ok, result.messages


def test_files_of_the_machine_cannot_be_included(backend: KernelBackend, tmp_path: Path) -> None:
    secret = tmp_path / "secret.h"
    secret.write_text("#define SECRET planted")
    secret.chmod(0o644)
    result = backend.build(cpp_source().replace("#include <cstdint>", f'#include "{secret}"'))
    assert not result.ok
    assert "No such file or directory" in result.messages


def test_a_runner_finds_what_was_built_and_only_that(backend: KernelBackend, language: Language, bench: Bench) -> None:
    other = backend.build(language.good("other team's"))
    source = language.good("mine")
    mounts, environment = language.view(backend, backend.build(source))
    code = f"""
import os, pathlib, torch
scope = {{}}
exec({source!r}, scope)
library = scope["library"]
{language.call}
result = [y.sum().item(), pathlib.Path({str(other.artefacts[0])!r}).exists()]
"""
    assert bench.run(code, mounts=mounts, environment=environment).answer() == [2500.0, False]


def test_a_runner_does_not_compile(backend: KernelBackend, language: Language, bench: Bench) -> None:
    mounts, environment = language.view(backend, backend.build(language.good("known")))
    unknown = language.good("unknown")
    code = f"try:\n    exec({unknown!r}, {{}})\nexcept Exception as error:\n    result = str(error)"
    answer = bench.run(code, mounts=mounts, environment=environment).answer()
    assert "not built at the compile stage" in str(answer)


def test_what_is_built_for_another_gpu_is_another_artefact(sandbox: Sandbox, tmp_path: Path) -> None:
    if not has_nvcc():
        pytest.skip("nvcc is not installed on this machine")
    names = {
        CudaBackend(sandbox, tmp_path, architecture=target).build(cuda_source("one")).artefacts[0].name
        for target in ("80", "90a")
    }
    assert len(names) == 2


def test_the_same_source_can_be_built_twice_at_once(backend: KernelBackend, language: Language) -> None:
    results: list[BuildResult] = []
    threads = [threading.Thread(target=lambda: results.append(backend.build(language.good("twice")))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result.ok for result in results] == [True] * 3
    assert len({result.artefacts for result in results}) == 1


def test_a_compiler_that_does_not_end_is_stopped(sandbox: Sandbox, tmp_path: Path) -> None:
    backend = CppBackend(sandbox, tmp_path, compile_limits=SandboxLimits(wall_s=1.0, memory_bytes=1 << 30))
    doubling = """
#if __INCLUDE_LEVEL__ < 150
#include "kernel.cpp"
#include "kernel.cpp"
#endif
"""
    result = backend.build(f"import kernelwright_rt\nkernelwright_rt.compile_cpp({doubling!r})")
    assert not result.ok
    assert "did not finish within 1 s" in result.messages


def test_unknown_backends_are_refused_with_the_known_ones(sandbox: Sandbox, tmp_path: Path) -> None:
    assert make_backend("cpp", sandbox, tmp_path).name == "cpp"
    with pytest.raises(ConfigurationError, match=r"unknown backend `cobol`; known: .*cpp"):
        make_backend("cobol", sandbox, tmp_path)
