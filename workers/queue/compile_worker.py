"""The workbench of a compile worker: builds candidates into the shared cache, in a sandbox, without any device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NoReturn

from services.domain.compilations import COMPILE, CompileReport, CompileRequest
from services.domain.errors import InfrastructureError, ToolchainError
from services.domain.evaluations import EvaluationReport, EvaluationRequest
from services.domain.nodes import Offer
from services.domain.validations import ValidationReport, ValidationRequest
from services.ports.devices import KernelBackend
from services.ports.sandboxes import Sandbox
from services.ports.work import Workbench


class CompileBench(Workbench):
    """Compiles; judges nothing."""

    def __init__(self, sandbox: Sandbox, backends: Mapping[str, KernelBackend]) -> None:
        """Of `backends` those count whose compiler is installed. Raises `ToolchainError` where none is."""
        self._sandbox = sandbox
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
        result = self._backends[request.backend].build(request.source)
        return CompileReport(ok=result.ok, libraries=len(result.artefacts), seconds=result.seconds)

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


def do(
    bench: Workbench, request: ValidationRequest | EvaluationRequest | CompileRequest, stopped: Callable[[], bool]
) -> ValidationReport | EvaluationReport | CompileReport:
    """What an order asks for. Raises `InfrastructureError`."""
    if isinstance(request, CompileRequest):
        if not isinstance(bench, CompileBench):
            raise InfrastructureError("this worker compiles for its own device only")
        return bench.compile(request, stopped)
    if isinstance(request, ValidationRequest):
        return bench.validate(request, stopped)
    return bench.evaluate(request, stopped)


def _has_compiler(backend: KernelBackend) -> bool:
    try:
        backend.toolchain()
    except ToolchainError:
        return False
    return True
