"""Who keeps which container alive: a worker's heartbeat is the lease of its containers; what outlives it is removed.

A container ends by itself when its worker goes away, because its first process loses its connection. The reaper is for
those that cannot: it runs when a worker starts and every few seconds, and takes away what belongs to a worker of this
installation that shows no life, what is past its own deadline, whoever started it, and of its own worker's what never
started or has long ended: the answer to a request can be lost with the daemon, and nobody knows of the container then.
A daemon that was killed while it removed a container keeps it as `dead`, and leaves it to us to ask again.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import threading
import time
import uuid
from pathlib import Path
from typing import Any, cast

import requests
from docker.api import APIClient
from docker.errors import DockerException, NotFound

from services.domain.errors import SandboxError, StorageError
from workers.sandboxes.docker.container import daemon_errors
from workers.sandboxes.docker.container_spec import DEADLINE, INSTALLATION, LABEL, WORKER

log = logging.getLogger(__name__)

BEAT_S = 5.0
LEASE_S = 30.0
"""Silence after which a worker counts as dead."""
UNSTARTED_S = 180.0
"""So long a container may wait for its start, which comes right after it was made: a busy daemon takes its time."""
CLEAR_S = 20.0
"""So long a worker that ends asks again for the removal of what is left: a daemon that has just come back is slow."""
CLEAR_PAUSE_S = 0.5
_ALIVE = "alive"


class FolderLease:
    """This worker's folder of sockets, with a heartbeat in it."""

    def __init__(self, sockets: Path) -> None:
        self.worker = uuid.uuid4().hex[:12]
        self._sockets = sockets
        self.folder = sockets / f"worker-{self.worker}"
        try:
            sockets.mkdir(parents=True, exist_ok=True)
            self.installation = _identity(sockets)
            self.folder.mkdir(mode=0o711)
            self.beat()
        except OSError as error:
            raise StorageError(f"cannot make {self.folder}: {error.strerror}") from None

    def beat(self) -> None:
        """Say that this worker is alive."""
        (self.folder / _ALIVE).touch()

    def labels(self, lifetime_s: float) -> dict[str, str]:
        """The labels of a container made now."""
        return {
            LABEL: "sandbox",
            INSTALLATION: self.installation,
            WORKER: self.worker,
            DEADLINE: str(int(time.time() + lifetime_s)),
        }

    def end(self) -> None:
        """Take the folder away; what still carries its label is anybody's to remove."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _identity(sockets: Path) -> str:
    """The installation's name; whoever comes first gives it."""
    path = sockets / "installation"
    with contextlib.suppress(FileExistsError), path.open("x", encoding="ascii") as file:
        file.write(uuid.uuid4().hex)
    return path.read_text(encoding="ascii").strip()


class Reaper:
    """Removes containers that outlived their lease. `beat` keeps this worker's own lease."""

    def __init__(self, api: APIClient, lease: FolderLease, sockets: Path, *, unstarted_s: float = UNSTARTED_S) -> None:
        self._api = api
        self._unstarted_s = unstarted_s
        self._lease = lease
        self._sockets = sockets
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kernelwright-reaper", daemon=True)

    def start(self) -> None:
        """Reap from now on, every few seconds."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(BEAT_S)

    def reap(self) -> list[str]:
        """Remove what outlived its lease; the containers' names. Raises `SandboxError`."""
        with daemon_errors("the Docker daemon does not answer"):
            found = self._api.containers(all=True, filters={"label": f"{LABEL}=sandbox"})
        removed = [entry for entry in found if self._is_abandoned(entry) and self._remove(entry)]
        for folder in self._sockets.glob("worker-*"):
            if folder != self._lease.folder and not _beats(folder, since_s=10 * LEASE_S):
                shutil.rmtree(folder, ignore_errors=True)
        return [_name(entry) for entry in removed]

    def clear(self) -> None:
        """Remove all that is left of this worker, which ends. A daemon that is down does not stop it."""
        deadline = time.monotonic() + CLEAR_S
        try:
            while left := [entry for entry in self._own() if not self._remove(entry)]:
                if time.monotonic() > deadline:
                    log.warning("left for another worker to remove: %s", ", ".join(map(_name, left)))
                    return
                time.sleep(CLEAR_PAUSE_S)
        except (DockerException, requests.RequestException) as error:
            log.warning("cannot look for containers that are left: %s", error)

    def _own(self) -> list[dict[str, Any]]:
        mine = {"label": f"{WORKER}={self._lease.worker}"}
        return cast("list[dict[str, Any]]", self._api.containers(all=True, filters=mine))

    def _run(self) -> None:
        while not self._stop.wait(BEAT_S):
            try:
                self._lease.beat()
                for name in self.reap():
                    log.warning("removed the sandbox container %s: its worker is gone or its time is over", name)
            except (SandboxError, OSError) as error:
                log.warning("cannot look for abandoned containers: %s", error)

    def _is_abandoned(self, entry: dict[str, Any]) -> bool:
        if entry["Labels"].get(WORKER) == self._lease.worker:
            if entry["State"] == "dead":
                return True
            if entry["State"] in ("created", "exited"):
                return bool(time.time() > entry["Created"] + self._unstarted_s)
        return self._has_lapsed(entry["Labels"])

    def _has_lapsed(self, labels: dict[str, str]) -> bool:
        if time.time() > _number(labels.get(DEADLINE)):
            return True
        if labels.get(INSTALLATION) != self._lease.installation:
            return False
        return not _beats(self._sockets / f"worker-{labels.get(WORKER)}", since_s=LEASE_S)

    def _remove(self, entry: dict[str, Any]) -> bool:
        try:
            self._api.remove_container(entry["Id"], force=True)
        except NotFound:
            return False
        except (DockerException, requests.RequestException) as error:
            log.warning("cannot remove the container %s: %s", _name(entry), error)
            return False
        return True


def _beats(folder: Path, since_s: float) -> bool:
    try:
        return time.time() - (folder / _ALIVE).stat().st_mtime < since_s
    except OSError:
        return False


def _number(text: str | None) -> float:
    try:
        return float(text or 0)
    except ValueError:
        return 0.0


def _name(entry: dict[str, Any]) -> str:
    return str((entry.get("Names") or [entry["Id"][:12]])[0]).lstrip("/")
