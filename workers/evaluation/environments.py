"""What a report's figures depend on: versions, driver and clocks, the isolation reached, the referee's own version."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.metadata
import platform

from services.domain.devices import DeviceSheet
from services.domain.errors import InfrastructureError
from services.domain.evaluations import Environment
from services.domain.referees import REFEREE_VERSION
from services.ports.devices import KernelBackend
from services.ports.sandboxes import Sandbox
from workers.devices.cards import Gpu
from workers.devices.gpu import gpu_state

BETWEEN_CALLS = {"docker": "stopped", "namespaces": "stopped", "limits": "running"}
"""Whether candidates are stopped unless they are asked, by the isolation reached: that takes a PID namespace."""


def environment_of(
    device: DeviceSheet, sandbox: Sandbox, backend: KernelBackend | None, gpu: Gpu | None = None
) -> Environment:
    """What is known before anything runs; a toolchain or an isolation that cannot be found out is left open."""
    toolkit = None
    with contextlib.suppress(InfrastructureError):
        toolkit = None if backend is None else backend.toolchain()
    isolation = "unknown"
    with contextlib.suppress(InfrastructureError):
        isolation = sandbox.isolation
    return Environment(
        device=device.name,
        card=None if gpu is None else gpu.uuid,
        driver=None,
        torch=_version("torch"),
        triton=_version("triton"),
        toolkit=toolkit,
        cpu=device.model or platform.machine(),
        referee_version=REFEREE_VERSION,
        tf32=False,
        isolation=isolation,
        between_calls=BETWEEN_CALLS.get(isolation, "unknown"),
    )


def with_clocks(environment: Environment) -> Environment:
    """With the GPU's driver, clocks and reasons for slowing down, read when it has just worked; a CPU's as it is."""
    if environment.card is None:
        return environment
    driver, clocks = gpu_state(environment.card)
    return dataclasses.replace(environment, driver=driver, clocks=clocks)


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
