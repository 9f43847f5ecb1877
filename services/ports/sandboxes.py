"""Sandboxes for code that nobody trusts."""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, kw_only=True)
class SandboxLimits:
    """What a sandboxed process may use."""

    wall_s: float = 120.0
    """Seconds until the whole process tree is killed."""
    cpu_s: float | None = None
    """CPU seconds of one process (RLIMIT_CPU)."""
    memory_bytes: int = 8 << 30
    """Memory of the tree, by cgroup where possible, else RLIMIT_DATA per process."""
    processes: int = 128
    """Processes and threads at once; a tree that stands at this number for seconds is killed."""
    output_bytes: int = 1 << 20
    """Standard output and error kept; the rest is read, dropped and marked as cut."""
    file_bytes: int = 1 << 30
    """Size of any file it writes (RLIMIT_FSIZE), and of its temporary folder; a tree that keeps it full is killed."""


@dataclass(frozen=True, kw_only=True)
class ExitStatus:
    """How a sandboxed process ended."""

    code: int | None
    """Exit code; None when a signal ended it."""
    signal: int | None
    """The signal that ended it, else None."""
    timed_out: bool
    """Whether we killed it for its wall limit."""
    out_of_memory: bool
    """Whether the kernel or a limit ended it for memory."""
    output: str
    """What it wrote to standard output and error, cut at the limit."""
    output_cut: bool
    exhausted: str | None = None
    """`processes` or `disk`: the limit for which we killed it, because it stood there for seconds; else None."""

    @property
    def exhaustion(self) -> str | None:
        """The same as the end of a sentence about the process; None where it was not killed for that."""
        return _EXHAUSTIONS.get(self.exhausted or "")


_EXHAUSTIONS = {
    "processes": "was killed because it held all the processes and threads that it may have",
    "disk": "was killed because it had filled the disk space that it may use",
}


class SandboxProcess(Protocol):
    """A running sandboxed Python process, serving a Unix socket."""

    @property
    def socket(self) -> socket.socket:
        """Our end of the connection; ownership passes to the caller, who may hand it on."""

    def kill(self) -> None:
        """Kill the whole tree; idempotent."""

    def wait(self, timeout_s: float | None = None) -> ExitStatus | None:
        """Wait for its end; None when it still runs after the time."""


@dataclass(frozen=True, kw_only=True)
class Mount:
    """A host path shown inside a sandbox."""

    path: Path
    """Absolute; the same inside."""
    writable: bool = False


class Sandbox(Protocol):
    """Runs code that nobody trusts."""

    @property
    def isolation(self) -> str:
        """The level reached: `docker`, `namespaces` or `limits`."""

    def fork(
        self, entry: str, limits: SandboxLimits, *, mounts: Sequence[Mount] = (), environment: Mapping[str, str] = {}
    ) -> SandboxProcess:
        """Start the Python function `entry` (`package.module:function`, taking a connected socket) in a fresh process
        of its own user, network, PID, IPC and mount namespaces, where the level permits, with a private `TMPDIR`.

        Raises `SandboxError`."""

    def run(
        self,
        command: Sequence[str],
        limits: SandboxLimits,
        *,
        directory: Path,
        mounts: Sequence[Mount] = (),
        environment: Mapping[str, str] = {},
    ) -> ExitStatus:
        """Run a program (a compiler) to its end, with `directory` writable and everything else read-only or hidden.

        Raises `SandboxError`, and `ToolchainError` when the program does not exist."""

    def dedicate(self, owner: str) -> None:
        """From here on processes belong to `owner`, a job: nothing that outlives a process serves another job's."""

    def close(self) -> None:
        """Kill what still runs and free resources."""
