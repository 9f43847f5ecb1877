"""Which sandbox the settings ask for. The worker's modules are imported where they are built."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from kernelwright.settings import Settings
from kernelwright.wiring.workbench import GPU_PRELOAD, make_sandbox
from services.domain.work import COMPILE

if TYPE_CHECKING:
    from kernelwright.wiring.workbench import LocalSandbox
    from workers.sandboxes.docker.sandbox import DockerSandbox

IMAGE = "kernelwright/sandbox"


def image_name(settings: Settings, device: str = "cpu") -> str:
    """The sandbox image of a device's workers: as set, else the one that `make sandbox-image` builds for this version,
    for GPUs that of `make gpu-images`."""
    from kernelwright.distribution import version

    suffix = "" if device in ("cpu", COMPILE) else "-cuda"
    return settings.sandbox_image or f"{IMAGE}:{version()}{suffix}"


def check_sandbox(settings: Settings, device: str = "cpu") -> str | None:
    """The id of the sandbox image of a device's workers, where containers are asked for; without starting any.

    Raises `ConfigurationError` where the image is missing or another version's, `SandboxError` without a daemon."""
    if settings.sandbox != "docker":
        return None
    from kernelwright.distribution import version
    from workers.sandboxes.docker.sandbox import connect, find_image

    with contextlib.closing(connect(settings.docker_host)) as api:
        return find_image(api, image_name(settings, device), version() if settings.sandbox_python == "image" else None)


def sandbox_maker(settings: Settings) -> Callable[[str], LocalSandbox]:
    """What makes the sandbox of a device's worker."""
    if settings.sandbox == "process":
        return make_sandbox
    return lambda device: make_docker_sandbox(settings, device)


def make_docker_sandbox(settings: Settings, device: str = "cpu", *, warm: int | None = None) -> DockerSandbox:
    """Containers on the Docker host that is set. Raises `ConfigurationError` (no such image), `SandboxError`."""
    from kernelwright.distribution import version
    from workers.sandboxes.docker.container_spec import ContainerSpec
    from workers.sandboxes.docker.sandbox import DockerSandbox

    host_python = settings.sandbox_python == "host"
    spec = ContainerSpec(
        image=image_name(settings, device),
        preload=() if device == "cpu" else GPU_PRELOAD,
        host_python=host_python,
        gpu=None if device == "cpu" else _card(device),
    )
    return DockerSandbox(
        spec,
        settings.sandbox_sockets or settings.directory / "sandboxes",
        address=settings.docker_host,
        version=None if host_python else version(),
        warm=settings.sandbox_warm if warm is None else warm,
    )


def _card(device: str) -> str | None:
    from workers.devices.cards import find_gpu

    gpu = find_gpu(device)
    return None if gpu is None else gpu.uuid
