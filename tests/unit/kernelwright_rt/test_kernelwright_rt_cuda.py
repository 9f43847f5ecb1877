"""What is said before a CUDA source is built; building needs nvcc and calling a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

import kernelwright_rt
from kernelwright_rt import CompileError, compile_cuda


def has_nvcc() -> bool:
    try:
        return bool(kernelwright_rt.cuda_compiler())
    except CompileError:
        return False


@pytest.fixture(autouse=True)
def hopper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(kernelwright_rt.ARCHITECTURE_VARIABLE, "90a")
    monkeypatch.setenv(kernelwright_rt.CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.delenv(kernelwright_rt.ARTEFACTS_VARIABLE, raising=False)


def test_language_flags_and_architecture_name_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [
        kernelwright_rt.artefact_name("a", (), "cpp"),
        kernelwright_rt.artefact_name("a", (), "cuda"),
        kernelwright_rt.artefact_name("a", ("--use_fast_math",), "cuda"),
    ]
    monkeypatch.setenv(kernelwright_rt.ARCHITECTURE_VARIABLE, "80")
    names.append(kernelwright_rt.artefact_name("a", (), "cuda"))
    assert len(set(names)) == 4


def test_without_nvcc_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("CUDA_HOME", "/nowhere")
    if has_nvcc():
        pytest.skip("nvcc lies in /usr/local/cuda, where it is found without PATH")
    with pytest.raises(CompileError, match="no CUDA compiler"):
        compile_cuda("a source")


def test_code_is_built_for_exactly_the_newer_gpus() -> None:
    assert kernelwright_rt.architecture_of(8, 0) == "80"
    assert kernelwright_rt.architecture_of(9, 0) == "90a"
