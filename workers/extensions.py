"""`torch.utils.cpp_extension.load_inline` inside a sandbox: asks for a library instead of compiling one.

The source is put together as torch does it, in one file; the worker compiles it at the compile stage, and the runner
only loads what it finds. Both sandboxes use this module, so both come to the same text and hence the same library.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import re
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import kernelwright_rt

CPP_HEADERS = ("#include <torch/extension.h>",)
CUDA_HEADERS = ("#include <torch/types.h>", "#include <cuda.h>", "#include <cuda_runtime.h>")
Texts = str | Sequence[str] | None


def adopt_load_inline() -> None:
    """Put ours in the place of torch's."""
    from torch.utils import cpp_extension

    inline: Callable[..., ModuleType] = load_inline
    cpp_extension.load_inline = inline
    cpp_extension.load = load


def wanted_by(source: str) -> bool:
    """Whether a module asks for torch's extensions; importing them takes a while."""
    return "cpp_extension" in source


def load(*_arguments: object, **_options: object) -> ModuleType:
    """Refuse: a candidate has no files."""
    raise kernelwright_rt.CompileError("load() compiles files, and a candidate has none: use load_inline()")


def load_inline(
    name: str,
    cpp_sources: Texts = None,
    cuda_sources: Texts = None,
    sycl_sources: Texts = None,
    functions: str | Sequence[str] | Mapping[str, str] | None = None,
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_sycl_cflags: Sequence[str] | None = None,  # noqa: ARG001 - torch's signature
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str] | None = None,
    build_directory: str | None = None,  # noqa: ARG001
    verbose: bool = False,  # noqa: ARG001
    with_cuda: bool | None = None,
    with_sycl: bool | None = None,
    is_python_module: bool = True,
    with_pytorch_error_handling: bool = True,
    keep_intermediates: bool = True,  # noqa: ARG001
    use_pch: bool = False,  # noqa: ARG001
    no_implicit_headers: bool = False,
) -> ModuleType:
    """Torch's function of that name. Raises `CompileError` for what the compile stage does not build."""
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise kernelwright_rt.CompileError(f"load_inline: the name {name!r} is no identifier")
    if sycl_sources or with_sycl or extra_include_paths or not is_python_module:
        raise kernelwright_rt.CompileError(
            "load_inline: only C++ and CUDA Python modules are built, without further include paths"
        )
    cuda = bool(cuda_sources) or bool(with_cuda)
    parts = [f"#define TORCH_EXTENSION_NAME {name}", "#define TORCH_API_INCLUDE_EXTENSION_H"]
    if not no_implicit_headers:
        parts += [*CPP_HEADERS, *(CUDA_HEADERS if cuda else ())]
    parts += [*_texts(cuda_sources), *_texts(cpp_sources)]
    if functions is not None:
        parts += _bindings(functions, handled=with_pytorch_error_handling)
    flags = [*_without_targets((extra_cuda_cflags if cuda else extra_cflags) or ()), *(extra_ldflags or ())]
    language = "torch_cuda" if cuda else "torch"
    path = kernelwright_rt.locate("\n".join(parts) + "\n", tuple(flag.strip() for flag in flags), language)
    return _imported(name, path)


def _without_targets(flags: Sequence[str]) -> list[str]:
    """Flags but for those that say what to build for and how many compilers to run: the worker knows both."""
    kept: list[str] = []
    given = iter(flag.strip() for flag in flags)
    for flag in given:
        if re.fullmatch(r"-gencode|--generate-code|-arch|--gpu-architecture|-code|--gpu-code|--threads|-t", flag):
            next(given, None)
        elif not re.fullmatch(
            r"(?:-gencode|--generate-code|-arch|--gpu-architecture|-code|--gpu-code|--threads|-t)=.*|-t\d+", flag
        ):
            kept.append(flag)
    return kept


def _bindings(functions: str | Sequence[str] | Mapping[str, str], *, handled: bool) -> list[str]:
    names = [functions] if isinstance(functions, str) else functions
    described = dict(names) if isinstance(names, Mapping) else {one: one for one in names}
    lines = ["PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {"]
    for function, text in described.items():
        target = f"torch::wrap_pybind_function({function})" if handled else function
        lines.append(f'm.def("{function}", {target}, "{text}");')
    return [*lines, "}"]


def _imported(name: str, path: str) -> ModuleType:
    loader: Any = importlib.machinery.ExtensionFileLoader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    if spec is None:
        raise kernelwright_rt.CompileError(f"cannot import {path}")
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def _texts(sources: Texts) -> list[str]:
    return [sources] if isinstance(sources, str) else list(sources or ())
