"""`DockerSandbox`: the `Sandbox` port by hardened containers.

A warm container (`container.py`) has no network, capability, new privilege, host namespace or writable file; its
first process has torch imported and forks what is asked for into fresh namespaces, without the system calls that made
them. A container holds one process at a time and serves one job; see docs/decisions for why.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from docker.api import APIClient
from docker.errors import ImageNotFound
from docker.utils import kwargs_from_env

from services.domain.errors import ConfigurationError, SandboxError, ToolchainError
from services.ports.sandboxes import ExitStatus, Mount, SandboxLimits
from workers.sandboxes import archives
from workers.sandboxes import environment as surroundings
from workers.sandboxes.docker.container import SandboxContainer, daemon_errors
from workers.sandboxes.docker.container_spec import VERSION_LABEL, ContainerSpec
from workers.sandboxes.docker.leases import FolderLease, Reaper
from workers.sandboxes.docker.pool import ContainerPool
from workers.sandboxes.docker.process import ContainedProcess
from workers.sandboxes.forked import NamespacesRefusedError, NotStartedError
from workers.sandboxes.plan import TEMPORARY, Bind, Level, SandboxPlan
from workers.sandboxes.users import UserPool

START_TIMEOUT_S = 30.0
CLIENT_TIMEOUT_S = 30
DEVICES = Path("/dev")
USUAL_ADDRESS = "unix:///var/run/docker.sock"
USER_NAMESPACES = (
    "containers on this Docker host may not make user namespaces (on Ubuntu: "
    "sysctl kernel.apparmor_restrict_unprivileged_userns=0)"
)


def connect(address: str | None = None) -> APIClient:
    """The daemon at an address (default: `DOCKER_HOST`, else its usual socket). Raises `SandboxError`."""
    with daemon_errors(f"cannot reach the Docker daemon{f' at {address}' if address else ''}; is it running"):
        kwargs = kwargs_from_env()
        if address is not None:
            kwargs["base_url"] = address
        _probe(str(kwargs.get("base_url") or USUAL_ADDRESS))
        return APIClient(version="auto", timeout=CLIENT_TIMEOUT_S, **kwargs)


def _probe(address: str) -> None:
    """Raise `SandboxError` where nobody listens on a local socket; the SDK would leave a socket open and say less."""
    path = address.removeprefix("unix://").removeprefix("http+unix://")
    if path == address:
        return
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except OSError as error:
            raise SandboxError(f"cannot reach the Docker daemon at {path}; is it running: {error.strerror}") from None


def find_image(api: APIClient, image: str, version: str | None) -> str:
    """The image's id, where it is there and of this program's version. Raises `ConfigurationError`, `SandboxError`."""
    with daemon_errors("cannot look at the sandbox image"):
        try:
            found = api.inspect_image(image)
        except ImageNotFound:
            raise ConfigurationError(
                f"the sandbox image {image} is not on this Docker host: build it with `make sandbox-image` (for GPUs "
                f"`make gpu-images`), or name another in KERNELWRIGHT_SANDBOX_IMAGE"
            ) from None
    labelled = (found["Config"].get("Labels") or {}).get(VERSION_LABEL)
    if version is not None and labelled != version:
        raise ConfigurationError(
            f"the sandbox image {image} belongs to Kernelwright {labelled or 'of an unknown version'}, this is "
            f"{version}: build it again with `make sandbox-image` (for GPUs `make gpu-images`)"
        )
    return str(found["Id"])


class DockerSandbox:
    """Containers on one Docker host. `sockets` is a folder that the host sees under the same path.

    `warm` containers are kept ready and at most `limit` exist; `one_shot` ones serve one process each. `version` is
    what the image must be labelled with, None for any. Raises `SandboxError` where the daemon cannot be reached and
    `ConfigurationError` where the image is missing or another version's.
    """

    isolation = "docker"

    def __init__(
        self,
        spec: ContainerSpec,
        sockets: Path,
        *,
        address: str | None = None,
        version: str | None = None,
        warm: int = 3,
        limit: int = 16,
        one_shot: bool = False,
    ) -> None:
        self._spec = spec
        self._api = connect(address)
        self.image_id = find_image(self._api, spec.image, version)
        self._users = UserPool()
        self._lease = FolderLease(sockets.resolve())
        self._reaper = Reaper(self._api, self._lease, sockets.resolve())
        prefix = f"kernelwright-{self._lease.worker[:4]}"
        self._pool: ContainerPool[SandboxContainer] = ContainerPool(
            self._make, prefix=prefix, warm=warm, limit=limit, one_shot=one_shot
        )
        self._owner = ""
        self._living: set[ContainedProcess] = set()
        self._numbers = threading.Lock()
        self._made = 0
        self._closed = False

    @property
    def worker(self) -> str:
        """What this worker's containers are labelled with."""
        return self._lease.worker

    def start(self) -> None:
        """Remove what dead workers left, and begin to warm containers, without waiting for them."""
        self._reaper.reap()
        self._reaper.start()
        self._pool.fill()

    def wait_warm(self) -> None:
        """Wait until the pool is warm. Raises `SandboxError` when a container does not start."""
        self._pool.wait_warm()

    def explain(self) -> str:
        """Engine, image and what is in it, for people. Raises `SandboxError`."""
        with daemon_errors("cannot ask the Docker daemon"):
            version, info = self._api.version(), self._api.info()
        container = self._pool.take(self._owner)
        self._pool.give_back(container, usable=True)
        return (
            f"docker (engine {version['Version']}, cgroup v{info.get('CgroupVersion', 1)}); image {self._spec.image} "
            f"({self.image_id.removeprefix('sha256:')[:12]}); torch {container.about.get('torch')} "
            f"{'of this host' if self._spec.host_python else 'of the image'}; candidates are stopped between calls"
        )

    def dedicate(self, owner: str) -> None:
        """From here on processes belong to a job: no container serves two jobs."""
        self._owner = owner

    def fork(
        self, entry: str, limits: SandboxLimits, *, mounts: Sequence[Mount] = (), environment: Mapping[str, str] = {}
    ) -> ContainedProcess:
        """Start a Python function in a fresh sandboxed process. Raises `SandboxError`."""
        return self._fork(limits, mounts, environment, entry=entry)

    def run(
        self,
        command: Sequence[str],
        limits: SandboxLimits,
        *,
        directory: Path,
        mounts: Sequence[Mount] = (),
        environment: Mapping[str, str] = {},
    ) -> ExitStatus:
        """Run a program to its end; `directory` is copied in and back. Raises `SandboxError`, `ToolchainError`."""
        process = self._fork(limits, mounts, environment, command=tuple(command), directory=directory)
        status = process.run_to_end()
        returned = process.take_returned()
        if returned is not None:
            archives.restore(returned, directory)
        if process.missing is not None:
            raise ToolchainError(f"cannot run {process.missing} (in the sandbox image {self._spec.image})")
        return status

    def close(self) -> None:
        """Kill what still runs, remove all containers, give the lease up."""
        self._closed = True
        for process in list(self._living):
            process.kill()
        self._pool.close()
        self._reaper.stop()
        self._reaper.clear()
        self._lease.end()
        self._api.close()

    def _fork(
        self,
        limits: SandboxLimits,
        mounts: Sequence[Mount],
        environment: Mapping[str, str],
        *,
        entry: str | None = None,
        command: tuple[str, ...] = (),
        directory: Path | None = None,
    ) -> ContainedProcess:
        """Start an entry, or a command in a directory that is copied in."""
        if self._closed:
            raise SandboxError("the sandbox is closed")
        for mount in mounts:
            _check(mount)
        container = self._pool.take(self._owner, limits)
        try:
            container.fit(limits)
            copied = [mount for mount in mounts if not _has(container, mount)]
            binds = container.binds("system")
            if entry is not None:
                binds += container.binds("python")
                environment = {"PATH": str(container.about["path"]), **environment}
            binds += [_bind(mount) for mount in mounts if _has(container, mount)]
            plan = SandboxPlan(
                entry=entry,
                command=command,
                directory=TEMPORARY if directory is None else str(directory),
                level=Level.USER,
                uid=container.uid,
                change_user=False,
                limits=limits,
                binds=tuple(binds),
                environment=surroundings.inside(TEMPORARY, environment),
                limit_data=False,
                contained=True,
                filtered=True,
                given=tuple(str(mount.path) for mount in copied),
                workspace=directory is not None,
            )
            workspace = [] if directory is None else [Mount(path=directory)]
            process = self._launch(container, plan, [*copied, *workspace])
        except BaseException:
            self._pool.give_back(container, usable=False)
            raise
        self._living.add(process)
        process.when_ended(lambda: self._living.discard(process))
        return process

    def _launch(self, container: SandboxContainer, plan: SandboxPlan, mounts: Sequence[Mount]) -> ContainedProcess:
        archive = archives.pack(mounts)
        try:
            process = ContainedProcess(container, self._pool)
            process.launch(lambda ends: container.launch(plan, [*ends, archive]))
            process.await_ready(START_TIMEOUT_S)
        except NotStartedError as error:
            raise SandboxError(str(error)) from None
        except NamespacesRefusedError as error:
            raise SandboxError(f"{USER_NAMESPACES}: {error}") from None
        finally:
            os.close(archive)
        process.when_ended(process.leave)
        return process

    def _make(self, name: str) -> SandboxContainer:
        with self._numbers:
            self._made += 1
            number = self._made
        uid = self._users.take()
        folder = self._lease.folder / str(number)
        container = SandboxContainer(self._api, self._spec, folder, uid, gone=lambda: self._users.give_back(uid))
        container.open(name, self._lease.labels(self._spec.lifetime_s))
        return container


def _has(container: SandboxContainer, mount: Mount) -> bool:
    """Whether the container has the path of its own: devices that it was given, and what belongs to its Python."""
    places = [DEVICES, *(Path(bind.target) for bind in container.binds("python"))]
    return any(mount.path.is_relative_to(place) for place in places)


def _bind(mount: Mount) -> Bind:
    """A path of the container's own."""
    return Bind(source=str(mount.path), target=str(mount.path))


def _check(mount: Mount) -> None:
    if mount.writable:
        raise SandboxError(f"{mount.path} cannot be written from a container: no host path can")
    if not mount.path.is_absolute() or not mount.path.exists():
        raise SandboxError(f"cannot show {mount.path} in a sandbox: it must be absolute and exist")
