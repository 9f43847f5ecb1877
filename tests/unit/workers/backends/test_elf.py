"""A built library is read as the loader reads it, and judged by lists of what is permitted."""

from pathlib import Path

import pytest

from services.ports.devices import BuiltLibrary
from workers.backends.elf import read_library
from workers.referee.screen.binary_rules import examine_built


def remarks(library: BuiltLibrary, *sources: str, permits: frozenset[str] = frozenset()) -> list[str]:
    return [remark.text for remark in examine_built([library], sources, permits)]


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
