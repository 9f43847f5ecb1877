"""The workbench of a compile worker: builds candidates into the shared cache, in a sandbox, without any device."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NoReturn

import kernelwright_rt
from services.domain.errors import InfrastructureError, ToolchainError
from services.domain.evaluations import EvaluationRequest
from services.domain.nodes import Offer
from services.domain.validations import ValidationRequest
from services.domain.work import COMPILE, CompileReport, CompileRequest
from services.ports.devices import KernelBackend
from services.ports.sandboxes import Sandbox
from services.ports.work import Workbench

_CAPABILITY = re.compile(r"sm_(\d{1,2})(\d)")
"""`sm_90`, `sm_120`: major and minor number."""


class CompileBench(Workbench):
    """Compiles; judges nothing."""

    def __init__(
        self,
        sandbox: Sandbox,
        backends: Mapping[str, KernelBackend],
        *,
        cuda_for: Callable[[str], KernelBackend] | None = None,
    ) -> None:
        """Of `backends` those count whose compiler is installed; `cuda_for` makes the one that compiles for a GPU, as
        nvcc names it (`90a`). Raises `ToolchainError` where no compiler is."""
        self._sandbox = sandbox
        self._cuda_for = cuda_for
        self._aimed: dict[str, KernelBackend] = {}
        """Backends for a GPU, by its architecture."""
        self._backends = {name: backend for name, backend in backends.items() if _has_compiler(backend)}
        if not self._backends:
            raise ToolchainError("a compile worker needs a compiler: install g++, or nvcc for CUDA")

    @property
    def offer(self) -> Offer:
        """What it takes."""
        toolchains = "; ".join(backend.toolchain() for backend in self._backends.values())
        return Offer(device=COMPILE, backends=tuple(self._backends), evaluator=toolchains)

    @property
    def isolation(self) -> str:
        """The level that its sandbox reached."""
        return self._sandbox.isolation

    def compile(self, request: CompileRequest, cancelled: Callable[[], bool]) -> CompileReport:
        """Build a candidate into the cache. Raises `InfrastructureError`."""
        if cancelled():
            raise InfrastructureError("cancelled")
        self._sandbox.dedicate(request.job_id)
        result = self._backend(request).build(request.source)
        return CompileReport(ok=result.ok, libraries=len(result.artefacts), seconds=result.seconds)

    def _backend(self, request: CompileRequest) -> KernelBackend:
        """What builds for the GPU that the candidate is meant for."""
        name = request.architecture
        if request.backend != "cuda" or name is None or self._cuda_for is None:
            return self._backends[request.backend]
        if name not in self._aimed:
            numbers = _CAPABILITY.fullmatch(name)
            if numbers is None:
                raise InfrastructureError(f"not a GPU architecture: {name[:20]!r}")
            target = kernelwright_rt.architecture_of(int(numbers.group(1)), int(numbers.group(2)))
            self._aimed[name] = self._cuda_for(target)
        return self._aimed[name]

    def validate(self, request: ValidationRequest, cancelled: Callable[[], bool] = lambda: False) -> NoReturn:
        """Raises `InfrastructureError`: it has no device."""
        del cancelled
        raise InfrastructureError(f"a compile worker runs no problem: {request.job_id}")

    def evaluate(self, request: EvaluationRequest, cancelled: Callable[[], bool]) -> NoReturn:
        """Raises `InfrastructureError`: it has no device."""
        del cancelled
        raise InfrastructureError(f"a compile worker judges no candidate: {request.candidate_id}")

    def close_job(self, job_id: str) -> None:
        """Nothing is kept for a job."""

    def close(self) -> None:
        """Free everything."""
        self._sandbox.close()


def _has_compiler(backend: KernelBackend) -> bool:
    try:
        backend.toolchain()
    except ToolchainError:
        return False
    return True
