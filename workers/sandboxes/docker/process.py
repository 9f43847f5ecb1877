"""The worker's handle on a process in a container."""

from __future__ import annotations

import contextlib

from services.domain.errors import SandboxError
from services.ports.sandboxes import ExitStatus
from workers.sandboxes.docker.container import SandboxContainer
from workers.sandboxes.docker.pool import ContainerPool
from workers.sandboxes.forked import ForkedProcess


class ContainedProcess(ForkedProcess):
    """Gives its container back at its end; where its supervisor does not answer, the container is removed."""

    def __init__(self, container: SandboxContainer, pool: ContainerPool[SandboxContainer]) -> None:
        super().__init__()
        self._container = container
        self._pool = pool
        self._taken_by_us = False

    def leave(self) -> None:
        """Give the container back; one whose process ended without a report is not used again."""
        self._pool.give_back(self._container, usable=self.was_reported)

    def kill(self) -> None:
        """Kill the whole tree and wait for its end; idempotent."""
        with contextlib.suppress(SandboxError):
            super().kill()

    def wait(self, timeout_s: float | None = None) -> ExitStatus | None:
        """Wait for the end; None when it still runs after the time.

        Raises `SandboxError` where the container went away with the process in it, as when the daemon goes down: that
        is no end of the process's own making."""
        status = super().wait(timeout_s)
        if status is not None and not self.was_reported and not self._taken_by_us:
            raise SandboxError("the sandbox container went away with the process in it")
        return status

    def _kill_supervisor(self) -> None:
        self._taken_by_us = True
        self._container.destroy()
