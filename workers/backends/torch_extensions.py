"""How sources with torch's headers are compiled: what `load_inline` would do, as one command in the compile sandbox."""

from __future__ import annotations

import functools
import importlib.util
import sysconfig
from pathlib import Path

import kernelwright_rt
from services.domain.errors import ToolchainError
from services.ports.sandboxes import Mount

LANGUAGES = ("torch", "torch_cuda")
NO_HALF = ("HALF_OPERATORS", "HALF_CONVERSIONS", "BFLOAT16_CONVERSIONS", "HALF2_OPERATORS")
"""What torch's own builds switch off, so that its types do not collide with CUDA's."""


def is_extension(language: str) -> bool:
    """Whether a source needs torch's headers."""
    return language in LANGUAGES


def file_name(language: str) -> str:
    """What the source's file is called when it is compiled."""
    return "kernel.cu" if language == "torch_cuda" else "kernel.cpp"


def command(source: str, output: str, flags: tuple[str, ...], language: str, architecture: str | None) -> list[str]:
    """The compiler's command line. Raises `ToolchainError` without torch, `CompileError` without nvcc."""
    torch = torch_directory()
    headers = [
        f"-I{path}"
        for path in (torch / "include", torch / "include/torch/csrc/api/include", sysconfig.get_path("include"))
    ]
    names = ("c10", "torch_cpu", "torch", "torch_python")
    if language == "torch":
        libraries = [f"-L{torch / 'lib'}", *(f"-l{name}" for name in names)]
        given = [*headers, *kernelwright_rt.compiler_flags(flags)]
        return ["g++", "-std=c++20", "-shared", "-fPIC", "-w", *given, source, "-o", output, *libraries]
    there = [name for name in ("c10_cuda", "torch_cuda") if (torch / "lib" / f"lib{name}.so").exists()]
    libraries = [f"-L{torch / 'lib'}", *(f"-l{name}" for name in (*names, *there))]
    halves = [f"-D__CUDA_NO_{name}__" for name in NO_HALF]
    base = ["-std=c++20", "-shared", "-Xcompiler", "-fPIC", "-w", "--expt-relaxed-constexpr", *halves]
    target = f"-gencode=arch=compute_{architecture},code=sm_{architecture}"
    return [kernelwright_rt.cuda_compiler(), *base, target, *headers, *flags, source, "-o", output, *libraries]


def mounts() -> tuple[Mount, ...]:
    """What the compiler has to see: torch and Python's headers."""
    found = (torch_directory(), Path(sysconfig.get_path("include")))
    return tuple(Mount(path=path) for path in found if path.is_dir())


@functools.cache
def torch_directory() -> Path:
    """Where torch is installed. Raises `ToolchainError`."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise ToolchainError("torch is not installed: its headers are needed for load_inline")
    return Path(spec.origin).parent
