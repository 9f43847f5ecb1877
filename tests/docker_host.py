"""A Docker host for tests: the one that runs, else a daemon that test processes share; and an image for them."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest
from docker.errors import ImageNotFound

from services.domain.errors import SandboxError
from tests.ending import at_the_end
from workers.sandboxes.docker.sandbox import connect

ROOT = Path(__file__).parents[1]
PLACE = Path(os.environ.get("KERNELWRIGHT_TEST_DOCKER", "/var/tmp/kernelwright-tests"))
USUAL = "unix:///var/run/docker.sock"
IMAGE = "kernelwright/test-toolchain:1"
START_TIMEOUT_S = 40.0
STOP_TIMEOUT_S = 20.0
BUILD_TIMEOUT_S = 600.0


@functools.cache
def docker_address() -> str:
    """The address of a daemon; started where none runs, and stopped by the last that uses it. Skips with the reason."""
    named = os.environ.get("DOCKER_HOST", USUAL)
    if _answers(named):
        return named
    if os.geteuid() != 0:
        pytest.skip(f"no Docker daemon at {named}, and only root can start one")
    if shutil.which("dockerd") is None:
        pytest.skip(f"no Docker daemon at {named}, and none to start: apt-get install docker.io")
    return _shared()


@functools.cache
def toolchain_image() -> str:
    """The name of an image with g++ and Python on the tests' Docker host; about a minute when made for the first time.

    Skips with the reason where it can be made by no means."""
    address = docker_address()
    PLACE.mkdir(parents=True, exist_ok=True)
    with _alone(), contextlib.closing(connect(address)) as client:
        try:
            client.inspect_image(IMAGE)
        except ImageNotFound:
            _make_image(address)
    return IMAGE


def _make_image(address: str) -> None:
    if shutil.which("debootstrap") is None:
        pytest.skip("no image for containers, and nothing to make one: apt-get install debootstrap")
    made = subprocess.run(
        [ROOT / "docker" / "toolchain-image.sh", IMAGE, PLACE / "images"],
        env={**os.environ, "DOCKER_HOST": address},
        capture_output=True,
        text=True,
        timeout=BUILD_TIMEOUT_S,
        check=False,
    )
    if made.returncode != 0:
        pytest.skip(f"docker/toolchain-image.sh makes no image here: {made.stderr.strip()[-500:]}")


def _shared() -> str:
    """Our own daemon: whoever comes first starts it, and it runs as long as any process holds its lock on `users`."""
    PLACE.mkdir(parents=True, exist_ok=True)
    address = f"unix://{PLACE}/docker.sock"
    users = (PLACE / "users").open("ab")
    with _alone():
        fcntl.flock(users, fcntl.LOCK_SH)
        if not _answers(address):
            _start(address)
    at_the_end(_leave, users)
    return address


def stop_unused() -> None:
    """End our own daemon where nobody uses it any more: processes that were killed leave it behind."""
    if (PLACE / "docker.pid").exists():
        _leave((PLACE / "users").open("ab"))


def _leave(users: BinaryIO) -> None:
    with _alone(), users:
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return  # somebody still uses it
        _stop()


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Nobody else starts or stops the daemon, or makes the image, meanwhile."""
    with (PLACE / "changing").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _start(address: str) -> None:
    with (PLACE / "dockerd.log").open("wb") as log:
        daemon = subprocess.Popen(
            [
                "dockerd",
                f"--host={address}",
                f"--data-root={PLACE}/docker",
                f"--exec-root={PLACE}/docker-exec",
                f"--pidfile={PLACE}/docker.pid",
                "--bridge=none",
                "--iptables=false",
            ],
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    deadline = time.monotonic() + START_TIMEOUT_S
    while not _answers(address):
        if daemon.poll() is not None or time.monotonic() > deadline:
            said = (PLACE / "dockerd.log").read_text(errors="replace").strip().splitlines()[-3:]
            pytest.skip(f"dockerd does not start here: {' '.join(said)[-600:]}")
        time.sleep(0.2)
    daemon.returncode = 0  # it outlives this process where others use it: no warning about that


def _stop() -> None:
    """End the daemon, whoever started it; a number that another process has by now is left alone."""
    with contextlib.suppress(OSError, ValueError):
        pid = int((PLACE / "docker.pid").read_text())
        if f"--pidfile={PLACE}/docker.pid".encode() not in Path(f"/proc/{pid}/cmdline").read_bytes():
            return
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + STOP_TIMEOUT_S
        while time.monotonic() < deadline:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
            os.kill(pid, 0)  # raises once it is gone
            time.sleep(0.1)
        os.kill(pid, signal.SIGKILL)


def _answers(address: str) -> bool:
    try:
        connect(address).close()
    except SandboxError:
        return False
    return True
