"""The `cuda` backend: CUDA sources in a candidate's module, compiled by nvcc into shared libraries with a C ABI.

Compiling needs no GPU: what to build for is named by the worker, and is part of every library's key.
"""

from __future__ import annotations

import kernelwright_rt
from services.domain.errors import ToolchainError
from services.domain.profiles import Disassembly
from services.ports.devices import BuildResult
from services.ports.sandboxes import Mount
from workers.backends.cpp import CppBackend, runtime_view
from workers.backends.gpu_code import cuda_listing

GPU_LANGUAGES = ("cuda", "torch_cuda")


class CudaBackend(CppBackend):
    """`KernelBackend` for nvcc, and for C++ beside it. `architecture` is nvcc's name of the target, e.g. `90a`."""

    name = "cuda"
    languages = ("cpp", "cpp_torch", "cuda", "torch", "torch_cuda")
    architecture = "90a"

    def toolchain(self) -> str:
        """For example `nvcc 13.0.88 sm_90a`."""
        try:
            return f"{kernelwright_rt.cuda_toolchain()} sm_{self.architecture}"
        except kernelwright_rt.CompileError as error:
            raise ToolchainError(str(error)) from None

    def toolchain_key(self) -> str:
        """Directory name for compiler, host compiler and target."""
        return f"{kernelwright_rt.toolchain_key('cuda')}-{self.architecture}-lines"

    def import_environment(self) -> dict[str, str]:
        """The target, so that the module need not ask a GPU."""
        return {kernelwright_rt.ARCHITECTURE_VARIABLE: self.architecture or ""}

    def listing(self, result: BuildResult) -> Disassembly:
        """SASS by line of the source: the GPU's code is what counts, and that of the host only starts it."""
        if not any(library.language in GPU_LANGUAGES for library in result.libraries):
            return super().listing(result)
        try:
            compiler = kernelwright_rt.cuda_compiler()
        except kernelwright_rt.CompileError:
            compiler = ""
        return cuda_listing(self._sandbox, result.artefacts, compiler)

    def command(self, file: str, flags: tuple[str, ...], language: str) -> list[str]:
        """With lines of the source in GPU code, which stays the same."""
        line = super().command(file, flags, language)
        return [*line, "-lineinfo"] if language == "cuda" else line

    def view(self, result: BuildResult) -> tuple[tuple[Mount, ...], dict[str, str]]:
        """Mounts and environment with which a runner finds a build's libraries, and no others."""
        mounts, environment = runtime_view(result)
        return mounts, {**environment, **self.import_environment()}
