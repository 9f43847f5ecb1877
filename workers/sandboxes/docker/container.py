"""One warm, hardened container, in which one sandboxed process runs at a time."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import requests
from docker.api import APIClient
from docker.errors import DockerException, NotFound

from services.domain.codec import from_data, to_data
from services.domain.errors import SandboxError
from services.domain.events import JsonValue
from services.ports.sandboxes import SandboxLimits
from workers.ipc.wire import Channel, WireError
from workers.sandboxes.docker.container_spec import ContainerSpec, container, resources
from workers.sandboxes.plan import Bind, SandboxPlan

WARM_TIMEOUT_S = 120.0
GLANCE_S = 0.2
LOOK_S = 1.0
"""How often a container that does not call home is looked after."""


@contextlib.contextmanager
def daemon_errors(doing: str) -> Iterator[None]:
    """Raise what the daemon, or its absence, says as `SandboxError`."""
    try:
        yield
    except (DockerException, requests.RequestException) as error:
        raise SandboxError(f"{doing}: {error}") from None


class SandboxContainer:
    """One container; made by `open`, which returns when it is warm. Not thread-safe, except `destroy`."""

    def __init__(
        self, api: APIClient, spec: ContainerSpec, folder: Path, uid: int, *, gone: Callable[[], object]
    ) -> None:
        self.uid = uid
        """Its user, inside and outside."""
        self.owner: str | None = None
        """The job it serves; None while it is new."""
        self.about: dict[str, JsonValue] = {}
        """What it said about its installation when it became warm."""
        self.retires_at = time.monotonic() + spec.lifetime_s / 2
        self._api = api
        self._spec = spec
        self._folder = folder
        self._gone = gone
        """Called when it is destroyed."""
        self._id: str | None = None
        self._channel: Channel | None = None
        self._resources: dict[str, int] = {}
        self._destroying = threading.Lock()

    def open(self, name: str, labels: Mapping[str, str]) -> None:
        """Start the container and wait until it is warm. Raises `SandboxError`, and then it is gone."""
        try:
            self._folder.mkdir(mode=0o711)
            with self._listening() as listener:
                with daemon_errors("cannot start a sandbox container"):
                    self._start(name, labels)
                self._channel = Channel(self._accept(listener))
            self.about = self._channel.receive(timeout_s=WARM_TIMEOUT_S).body
        except (WireError, OSError) as error:
            said = self._last_words()
            self.destroy()
            raise SandboxError(f"the sandbox container did not become warm: {error}. {said}".strip()) from None
        except BaseException:
            self.destroy()
            raise

    @property
    def is_alive(self) -> bool:
        """Whether its first process still holds the connection, and its time is not over."""
        if self._channel is None or time.monotonic() > self.retires_at:
            return False
        try:
            readable, _, _ = select.select([self._channel.connection], [], [], 0)
        except (OSError, ValueError):
            return False
        return not readable

    def binds(self, which: str) -> list[Bind]:
        """The container's own files that a process is shown: `system` or `python`."""
        data = self.about[which]
        assert isinstance(data, list)
        return [from_data(Bind, entry) for entry in data]

    def dedicate(self, owner: str, name: str) -> None:
        """Let it serve a job, and say so in its name: labels cannot be changed."""
        if self.owner == owner:
            return
        self.owner = owner
        with daemon_errors("cannot name a sandbox container"):
            self._api.rename(self._id, name)

    def suits(self, need: object) -> bool:
        """Whether it has the resources that these limits ask for: to change them takes the daemon a while."""
        return isinstance(need, SandboxLimits) and self._wanted(need) == self._resources

    def _wanted(self, limits: SandboxLimits) -> dict[str, int]:
        return resources(limits, int(str(self.about["memory_bytes"])))

    def fit(self, limits: SandboxLimits) -> None:
        """Give the container the resources of its next process."""
        wanted = self._wanted(limits)
        if wanted != self._resources:
            with daemon_errors("cannot set a sandbox container's limits"):
                url = self._api._url("/containers/{0}/update", self._id)  # `update_container` knows no PidsLimit
                self._api._result(self._api._post_json(url, data=wanted), True)
            self._resources = wanted

    def launch(self, plan: SandboxPlan, descriptors: Sequence[int]) -> None:
        """Have a process forked. Raises `SandboxError`."""
        assert self._channel is not None
        try:
            self._channel.send({"plan": to_data(plan)}, descriptors)
        except WireError as error:
            raise SandboxError(f"the sandbox container is gone: {error}") from None

    def destroy(self) -> None:
        """Kill everything in it and remove it; idempotent, from any thread. A daemon that is down does not stop us."""
        with self._destroying:
            if self._channel is not None:
                self._channel.close()
            if self._id is not None:
                with contextlib.suppress(DockerException, requests.RequestException):
                    self._api.remove_container(self._id, force=True)
                self._id = None
                self._gone()
            shutil.rmtree(self._folder, ignore_errors=True)

    @contextlib.contextmanager
    def _listening(self) -> Iterator[socket.socket]:
        """The socket that goes in; nobody can connect to it afterwards."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            folder = os.open(self._folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                listener.bind(f"/proc/self/fd/{folder}/s")  # a socket's own path may have 107 bytes only
            finally:
                os.close(folder)
            (self._folder / "s").chmod(0o666)
            listener.listen(1)
            try:
                yield listener
            finally:
                (self._folder / "s").unlink(missing_ok=True)

    def _start(self, name: str, labels: Mapping[str, str]) -> None:
        arguments = container(self._api, self._spec, folder=self._folder, uid=self.uid, labels=labels, name=name)
        self._id = str(self._api.create_container(**arguments)["Id"])
        self._api.start(self._id)

    def _accept(self, listener: socket.socket) -> socket.socket:
        listener.settimeout(GLANCE_S)
        deadline, look = time.monotonic() + WARM_TIMEOUT_S, time.monotonic() + LOOK_S
        while time.monotonic() < deadline:
            with contextlib.suppress(TimeoutError):
                return listener.accept()[0]
            if time.monotonic() > look:
                self._look()
                look = time.monotonic() + LOOK_S
        raise SandboxError("the sandbox container did not call home")

    def _look(self) -> None:
        """Raises `SandboxError` when the container has ended."""
        with daemon_errors("cannot look after a sandbox container"):
            try:
                self._api.inspect_container(self._id)
            except NotFound:
                said = self._last_words()
                raise SandboxError(f"the sandbox container ended before it was warm. {said}".strip()) from None

    def _last_words(self) -> str:
        """What a container like this one says when it is started without being removed at once."""
        try:
            return _said(self._api, self._spec, self._folder, self.uid)
        except (DockerException, requests.RequestException, OSError):
            return ""


def _said(api: APIClient, spec: ContainerSpec, folder: Path, uid: int) -> str:
    """Start a container to its end and read what it printed."""
    arguments: dict[str, Any] = container(api, spec, folder=folder, uid=uid, labels={}, name="")
    arguments["host_config"] |= {"AutoRemove": False, "LogConfig": {"Type": "json-file"}}
    made = api.create_container(**{**arguments, "name": None})
    try:
        api.start(made["Id"])
        api.wait(made["Id"], timeout=20)
        return bytes(api.logs(made["Id"], tail=8)).decode(errors="replace").strip()[-800:]
    finally:
        api.remove_container(made["Id"], force=True)
