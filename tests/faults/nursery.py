"""Orchestrators that are born ready: forks of a process that has imported everything and done nothing."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

from tests.e2e.programs import ROOT, environment


class Born:
    """An orchestrator of the nursery: a process of its own, which ends alone."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        try:
            self._handle: int | None = os.pidfd_open(pid)
        except ProcessLookupError:
            self._handle = None

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._handle is not None and not select.select([self._handle], [], [], 0)[0]

    def kill(self) -> None:
        """SIGKILL."""
        if self._handle is not None:
            try:
                signal.pidfd_send_signal(self._handle, signal.SIGKILL)
            except ProcessLookupError:
                return
            select.select([self._handle], [], [])

    def close(self) -> None:
        """Kill it, and forget it."""
        self.kill()
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


class Nursery:
    """The process that orchestrators are forked from."""

    def __init__(self, home: Path, settings: dict[str, str], output: Path) -> None:
        self._born: list[Born] = []
        with output.open("ab") as written:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.processes", "nursery"],
                cwd=ROOT,
                env=environment(home, **settings),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=written,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Of the process whose children the orchestrators are."""
        return self._process.pid

    def orchestrator(self, **more: str) -> Born:
        """A new one, with some settings of its own."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(more).encode() + b"\n")
        self._process.stdin.flush()
        said = self._process.stdout.readline()
        assert said, "the nursery has ended"
        self._born.append(Born(int(said)))
        return self._born[-1]

    def close(self) -> None:
        """End it and its orchestrators."""
        for one in self._born:
            one.close()
        self._process.kill()
        self._process.communicate()
