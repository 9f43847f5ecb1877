"""What a sandbox container is made of, and everything it is not given."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docker.api import APIClient
from docker.types import DeviceRequest, Mount, Ulimit

from services.ports.sandboxes import SandboxLimits
from workers.sandboxes import seccomp
from workers.sandboxes.cgroups import CORES_FILE, own_cores
from workers.sandboxes.docker_init import HOME
from workers.sandboxes.environment import program_root, python_binds
from workers.sandboxes.launcher import ENVIRONMENT

LABEL = "kernelwright"
INSTALLATION = f"{LABEL}.installation"
WORKER = f"{LABEL}.worker"
DEADLINE = f"{LABEL}.deadline"
VERSION_LABEL = f"{LABEL}.version"
WARMING_BYTES = 8 << 30
WARMING_PROCESSES = 512
OWN_PROCESSES = 8
"""The container's first process, starters and supervisors."""
OPEN_FILES = 1024
SHARES = 1024
"""Of processor time, for one thread."""
PROGRAM = "import sys; sys.path.insert(0, {root!r}); from workers.sandboxes.docker_init import main; main({preload!r})"


@dataclass(frozen=True, kw_only=True)
class ContainerSpec:
    """How to make containers."""

    image: str
    """With the toolchain, and with Python, torch and Kernelwright unless those are the host's."""
    preload: tuple[str, ...] = ()
    """Modules imported while a container becomes warm; they touch no tensor."""
    host_python: bool = False
    """Whether this machine's Python installation is shown read-only, for an image that is only a toolchain."""
    gpu: str | None = None
    """UUID of the one GPU it is given."""
    cpus: float | None = None
    """Processors it may use; all where None."""
    lifetime_s: float = 86400.0
    """After this a container is removed whatever it does."""

    def command(self) -> tuple[list[str] | None, list[str]]:
        """Entry point (None: the image's own) and arguments."""
        if not self.host_python:
            return None, list(self.preload)
        program = PROGRAM.format(root=str(program_root()), preload=self.preload)
        return [sys.executable, "-P", "-c"], [program]


def container(
    api: APIClient, spec: ContainerSpec, *, folder: Path, uid: int, labels: Mapping[str, str], name: str
) -> dict[str, Any]:
    """The arguments with which `APIClient.create_container` makes one."""
    entry, arguments = spec.command()
    return {
        "image": spec.image,
        "entrypoint": entry,
        "command": arguments,
        "name": name,
        "user": f"{uid}:{uid}",
        "labels": dict(labels),
        "environment": {**ENVIRONMENT, "HOME": "/tmp", "PYTHONDONTWRITEBYTECODE": "1"},  # noqa: S108 - its own tmpfs
        "working_dir": "/",
        "hostname": "sandbox",
        "network_disabled": True,
        "stdin_open": False,
        "host_config": host_config(api, spec, folder),
    }


def host_config(api: APIClient, spec: ContainerSpec, folder: Path) -> dict[str, Any]:
    """No network, capability, new privilege, writable file, host namespace, swap; the socket's folder, read-only."""
    info = api.info()
    config: dict[str, Any] = api.create_host_config(
        auto_remove=True,
        network_mode="none",
        cap_drop=["ALL"],
        security_opt=["no-new-privileges:true", f"seccomp={seccomp.profile()}", *_apparmor(info)],
        read_only=True,
        tmpfs={"/tmp": "size=64m,mode=1777,nosuid,nodev,noexec"},  # noqa: S108
        mounts=[Mount(HOME, str(folder), type="bind", read_only=True), *_installation(spec)],
        ipc_mode="private",
        cgroupns="private",
        shm_size=1 << 20,
        pids_limit=WARMING_PROCESSES,
        mem_limit=WARMING_BYTES,
        memswap_limit=WARMING_BYTES,
        mem_swappiness=None if str(info.get("CgroupVersion", "1")) == "2" else 0,
        cpu_shares=SHARES * len(os.sched_getaffinity(0)),  # threads compete with the host's threads as equals
        cpuset_cpus=own_cores().get(CORES_FILE),  # a container does not inherit the cores of who asks for it
        nano_cpus=None if spec.cpus is None else int(spec.cpus * 1e9),
        ulimits=[Ulimit(name=name, soft=value, hard=value) for name, value in ULIMITS.items()],
        log_config={"type": "none", "config": {}},
        device_requests=_devices(spec),
    )
    # Each process inside mounts a /proc of its own, which the kernel permits only where this one is not covered. What
    # the covers hide is root's alone, and nothing inside is root.
    config["MaskedPaths"] = []
    config["ReadonlyPaths"] = []
    return config


ULIMITS = {"core": 0, "nofile": OPEN_FILES, "msgqueue": 0}


def resources(limits: SandboxLimits, own_bytes: int) -> dict[str, int]:
    """What `POST /containers/…/update` sets for one process, beside `own_bytes` of the container's first process."""
    memory = limits.memory_bytes + own_bytes
    return {"Memory": memory, "MemorySwap": memory, "PidsLimit": limits.processes + OWN_PROCESSES}


def _installation(spec: ContainerSpec) -> list[Mount]:
    if not spec.host_python:
        return []
    return [Mount(bind.target, bind.source, type="bind", read_only=True) for bind in python_binds()]


def _devices(spec: ContainerSpec) -> list[DeviceRequest] | None:
    if spec.gpu is None:
        return None
    return [DeviceRequest(driver="nvidia", device_ids=[spec.gpu], capabilities=[["gpu", "compute", "utility"]])]


def _apparmor(info: Mapping[str, Any]) -> list[str]:
    """Docker's own AppArmor profile forbids mounts, by which processes inside are kept apart."""
    options = info.get("SecurityOptions") or []
    return ["apparmor=unconfined"] if any("name=apparmor" in option for option in options) else []
