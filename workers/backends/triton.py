"""The `triton` backend: kernels in Triton's language, which compiles them when they are first called.

Nothing is built beforehand. The module is imported in the compile sandbox all the same, so that what fails there (a
syntax error in a kernel's decorator, a missing name) is reported as what it is. Compiled kernels go into a cache that
is private to each runner: a shared one could be poisoned.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata

from services.domain.errors import ToolchainError
from services.domain.profiles import Disassembly
from services.ports.devices import BuildResult
from workers.backends.cuda import CudaBackend
from workers.backends.disassembly import no_listing
from workers.backends.gpu_code import triton_listing

NO_GPU = ("0 active drivers", "no NVIDIA driver", "No CUDA GPUs", "not compiled with CUDA", "CUDA driver version")
"""What Triton and torch say when a module asks for the GPU while it is imported."""


class TritonBackend(CudaBackend):
    """`KernelBackend` for Triton, with CUDA and C++ sources beside it where their compilers are installed."""

    name = "triton"
    import_s = 30.0

    def toolchain(self) -> str:
        """For example `triton 3.6.0 sm_90a`. Raises `ToolchainError` where Triton is not installed."""
        try:
            return f"triton {importlib.metadata.version('triton')} sm_{self.architecture}"
        except importlib.metadata.PackageNotFoundError:
            raise ToolchainError("Triton is not installed: pip install triton") from None

    def toolchain_key(self) -> str:
        """Directory name: Triton's version and the target."""
        return self.toolchain().replace(" ", "-")

    def listing(self, result: BuildResult) -> Disassembly:
        """Of what was compiled beside Triton's kernels, else SASS and PTX of what the forward launches."""
        if result.artefacts:
            return super().listing(result)
        if not result.problem:
            return no_listing("kernels that Triton compiles when they are called are shown of accepted candidates")
        return triton_listing(self._sandbox, result.module, result.problem, str(self.architecture))

    def build(self, source: str) -> BuildResult:
        """Import the module; one that asks for the GPU on the way is left to the load stage, which has one."""
        result = super().build(source)
        if result.ok or not any(text in result.messages for text in NO_GPU):
            return result
        return dataclasses.replace(result, ok=True, messages="importing the module needs the GPU: left to loading")


class InterpretedTritonBackend(TritonBackend):
    """Triton candidates where there is no GPU: Triton's interpreter runs them, so they are checked and not timed."""

    def toolchain(self) -> str:
        """For example `triton 3.9.0 interpreter`, which is what marks a report. Raises `ToolchainError`."""
        return f"{super().toolchain().rsplit(' ', 1)[0]} interpreter"

    def import_environment(self) -> dict[str, str]:
        """The interpreter has to be chosen before Triton is imported."""
        return {**super().import_environment(), "TRITON_INTERPRET": "1"}
