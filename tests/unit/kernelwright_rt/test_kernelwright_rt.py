"""The run-time module on its own, as it lies beside an exported kernel."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import kernelwright_rt
from kernelwright_rt import compile_cpp


def test_flags_are_a_list() -> None:
    with pytest.raises(TypeError, match="sequence"):
        compile_cpp("a source", "-O2")


def test_source_and_flags_name_the_library() -> None:
    names = {
        kernelwright_rt.artefact_name(source, flags)
        for source, flags in [("a", ()), ("b", ()), ("a", ("-O2",)), ("a", ("-O2", "-w")), ("a", ("-w", "-O2"))]
    }
    assert len(names) == 5
    assert kernelwright_rt.artefact_name("a", []) == kernelwright_rt.artefact_name("a", ())


def test_it_imports_only_the_standard_library_and_torch() -> None:
    tree = ast.parse(Path(str(kernelwright_rt.__file__)).read_text())
    names = {
        alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    }
    names |= {str(node.module).split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert names - set(sys.stdlib_module_names) == {"torch"}


@pytest.mark.parametrize("path", ["libc.so.6", "libm.so.6"])
def test_a_library_is_not_loaded_by_its_path(path: str) -> None:
    with pytest.raises(ValueError, match="compile_cpp"):
        kernelwright_rt.Library(path)


@pytest.mark.parametrize("language", ["cpp", "cpp_torch"])
@pytest.mark.parametrize("flag", ["-ffast-math", "-Ofast", "-funsafe-math-optimizations"])
def test_flags_for_fast_mathematics_reach_the_compiler_alone(flag: str, language: str) -> None:
    line = kernelwright_rt.command("kernel.cpp", "kernel.so", (flag, "-DA=1"), language)
    assert flag not in line
    assert {"-DA=1", f"-Wp,{flag}".replace("-Ofast", "-ffast-math")} <= set(line)


def test_a_later_flag_takes_fast_mathematics_back() -> None:
    given = kernelwright_rt.compiler_flags(("-ffast-math", "-fno-fast-math", "-fno-finite-math-only"))
    assert given == ["-Wp,-ffast-math", "-Wp,-fno-fast-math", "-fno-finite-math-only"]
