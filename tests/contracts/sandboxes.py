"""The sandboxes that the contract suites run against, and how tests talk to what is inside."""

from __future__ import annotations

import contextlib
import functools
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from services.domain.errors import SandboxError
from services.ports.sandboxes import ExitStatus, Mount, Sandbox, SandboxLimits, SandboxProcess
from tests.docker_host import PLACE, docker_address, toolchain_image
from tests.ending import at_the_end
from workers.ipc.wire import Channel
from workers.sandboxes.docker.container_spec import ContainerSpec
from workers.sandboxes.docker.sandbox import DockerSandbox
from workers.sandboxes.plan import Level
from workers.sandboxes.process import ProcessSandbox

LIMITS = SandboxLimits(wall_s=60.0, processes=64, memory_bytes=2 << 30)
TESTS = Mount(path=Path(__file__).resolve().parent.parent)


@dataclass(frozen=True, kw_only=True)
class Inside:
    """A sandboxed process that runs Python snippets of a test."""

    process: SandboxProcess
    channel: Channel

    def answer(self, timeout_s: float = 30.0) -> Any:
        """What the snippet left in `result`."""
        return self.channel.receive(timeout_s=timeout_s).body["result"]

    def end(self, timeout_s: float = 30.0) -> ExitStatus:
        """How it ended; fails the test when it has not."""
        status = self.process.wait(timeout_s)
        assert status is not None, "the process still runs"
        return status


@dataclass(frozen=True, kw_only=True)
class Bench:
    """A sandbox under test; every process started through it is killed when the test ends."""

    sandbox: Sandbox
    started: list[Inside]

    @property
    def has_namespaces(self) -> bool:
        """Whether the level reached hides the rest of the machine."""
        return self.sandbox.isolation != "limits"

    def run(
        self,
        code: str,
        limits: SandboxLimits = LIMITS,
        *,
        mounts: Sequence[Mount] = (),
        environment: Mapping[str, str] | None = None,
    ) -> Inside:
        """Start a snippet."""
        process = self.sandbox.fork(
            "tests.contracts.sandbox_entries:execute", limits, mounts=[TESTS, *mounts], environment=environment or {}
        )
        inside = Inside(process=process, channel=Channel(process.socket))
        self.started.append(inside)
        inside.channel.send({"code": code})
        return inside

    def result_of(self, code: str, environment: Mapping[str, str] | None = None) -> Any:
        """What a snippet leaves in `result`."""
        return self.run(code, environment=environment).answer()


def process_sandbox(level: Level) -> ProcessSandbox:
    """A process sandbox of exactly this level; skips the test where this machine does not give it."""
    if level is Level.PRIVILEGED and os.geteuid() != 0:
        pytest.skip("only root makes namespaces without a user namespace")
    if level is Level.USER and os.geteuid() == 0:
        pytest.skip("root makes namespaces directly; tests/integration/test_plain_user.py runs this as a plain user")
    sandbox = ProcessSandbox(levels=(level,), use_bubblewrap=False)
    try:
        sandbox.explain()
    except SandboxError as error:
        sandbox.close()
        pytest.skip(str(error))
    return sandbox


def bubblewrapped_sandbox() -> ProcessSandbox:
    """The strongest process sandbox, with compilers in bubblewrap."""
    sandbox = ProcessSandbox()
    if "bubblewrap" not in sandbox.explain():
        sandbox.close()
        pytest.skip("bubblewrap is not installed or does not work here")
    return sandbox


class KeptDockerSandbox(DockerSandbox):
    """Serves all suites of a session: its containers take seconds to become warm."""

    def close(self) -> None:
        """Stay open until the session ends."""


@functools.cache
def docker_sandbox() -> KeptDockerSandbox:
    """Warm containers with this machine's Python; skips the test where there is no Docker."""
    recipe = ContainerSpec(image=toolchain_image(), host_python=True)
    sandbox = KeptDockerSandbox(recipe, PLACE / "sandboxes", address=docker_address(), warm=2)
    at_the_end(DockerSandbox.close, sandbox)
    sandbox.start()
    sandbox.wait_warm()
    return sandbox


SANDBOXES: dict[str, Callable[[], Sandbox]] = {
    **{f"process-{level}": functools.partial(process_sandbox, level) for level in Level},
    "docker": docker_sandbox,
}
"""Every implementation and level; a further implementation is one more line."""

PROGRAM_SANDBOXES = SANDBOXES | {"process-bubblewrap": bubblewrapped_sandbox}
"""The same, and those that differ only in how they run programs."""


def bench_of(sandbox: Sandbox) -> Iterator[Bench]:
    """A bench for one test."""
    bench = Bench(sandbox=sandbox, started=[])
    yield bench
    for inside in bench.started:
        inside.process.kill()
        inside.channel.close()


def processes_of(uid: int) -> list[int]:
    """A user's processes, but for those that watch the others: the first of a PID namespace is ours."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            if entry.stat().st_uid == uid and not _is_first(entry):
                found.append(int(entry.name))
    return found


def _is_first(process: Path) -> bool:
    numbers = re.search(r"^NSpid:\s*(.+)$", (process / "status").read_text(), re.MULTILINE)
    return numbers is not None and numbers[1].split()[-1] == "1"
