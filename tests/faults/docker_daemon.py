"""The Docker daemon of a worker's host is away for a while."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from services.domain.errors import SandboxError
from tests.docker_host import IMAGE, PLACE, ROOT
from tests.faults.ground import UnavailableError, folder
from tests.waiting import until
from workers.sandboxes.docker.container_spec import LABEL
from workers.sandboxes.docker.sandbox import connect

if TYPE_CHECKING:
    from tests.faults.installation import Installation
    from tests.faults.rows import Fault, Tally

IMAGE_TIMEOUT_S = 900.0
LEFT_S = 60.0
"""After so long no container of a worker that ended is there."""


class DockerDaemon:
    """A daemon of the suite's own, which it may kill."""

    def __init__(self, place: Path) -> None:
        if os.geteuid() != 0 or shutil.which("dockerd") is None:
            raise UnavailableError("only root can start a Docker daemon, and dockerd must be installed (docker.io)")
        self._place = place
        self.address = f"unix://{place}/docker.sock"
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start it and wait until it answers."""
        (self._place / "docker.pid").unlink(missing_ok=True)
        with (self._place / "dockerd.log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    "dockerd",
                    f"--host={self.address}",
                    f"--data-root={self._place}/docker",
                    f"--exec-root={self._place}/exec",
                    f"--pidfile={self._place}/docker.pid",
                    "--bridge=none",
                    "--iptables=false",
                ],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        until(self._answers, "the Docker daemon's first answer")

    def kill(self) -> None:
        """SIGKILL; containers go on without it."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """End it, with its containers."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()
        # A daemon that was killed has left its folder mounted upon itself, and then nobody can remove it.
        subprocess.run(["umount", "--lazy", f"{self._place}/docker"], check=False, capture_output=True)

    def load_image(self) -> None:
        """Give it the image with a toolchain that other suites use too."""
        made = subprocess.run(
            [ROOT / "docker" / "toolchain-image.sh", IMAGE, PLACE / "images"],
            env={**os.environ, "DOCKER_HOST": self.address},
            capture_output=True,
            text=True,
            timeout=IMAGE_TIMEOUT_S,
            check=False,
        )
        if made.returncode != 0:
            raise UnavailableError(f"docker/toolchain-image.sh makes no image here: {made.stderr.strip()[-300:]}")

    def sandboxes(self) -> list[str]:
        """The containers of sandboxes that there are: name, state and when it was made."""
        api = connect(self.address)
        try:
            found = api.containers(all=True, filters={"label": f"{LABEL}=sandbox"})
        finally:
            api.close()
        # One that is being removed has no name any more.
        return [f"{(one['Names'] or [one['Id']])[0]} ({one['Status']}, made {one['Created']})" for one in found]

    def _answers(self) -> bool:
        try:
            connect(self.address).close()
        except SandboxError:
            return False
        return True


@contextmanager
def docker_daemon() -> Iterator[DockerDaemon]:
    """A daemon for the time of the context, with the image."""
    with folder() as place:
        daemon = DockerDaemon(place)
        try:
            daemon.load_image()
            yield daemon
        finally:
            daemon.close()


def docker_killed(pause_s: float) -> Fault:
    """The daemon is killed in the middle of jobs whose candidates run in its containers, and comes back."""

    def fault(place: Installation, times: int, tally: Tally) -> str:
        place.workers(0)
        place.orchestrators(1)
        with docker_daemon() as daemon:
            worker = place.worker(
                FAULT_DOCKER=daemon.address, FAULT_IMAGE=IMAGE, FAULT_SOCKETS=str(place.folder / "sockets")
            )
            jobs: list[str] = []
            for _ in range(times):
                batch = place.submit(3)
                until(partial(place.some_ended, batch), "the first job's end")
                batch += place.submit(2)
                daemon.kill()
                time.sleep(pause_s)
                daemon.start()
                tally.saw("all ended after s", place.wait(batch))
                jobs += batch
            place.check(jobs)
            worker.stop(90)  # as long as docker-compose.yml gives it
            try:
                tally.saw("last container gone after s", until(partial(_none_left, daemon), limit_s=LEFT_S))
            except AssertionError:
                raise AssertionError(f"still there: {', '.join(daemon.sandboxes())}") from None
        return "retried as the machine's failure, no attempt charged, no container left"

    return fault


def _none_left(daemon: DockerDaemon) -> bool:
    return not daemon.sandboxes()
