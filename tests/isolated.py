"""A problem as the referee holds it; the process that runs its code is a thread of this one."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

import torch

from services.domain.problems import Problem
from services.ports.sandboxes import ExitStatus
from workers.ipc.placement import TensorDevice
from workers.ipc.wire import Channel
from workers.referee.boundary.isolated_problem import IsolatedProblem
from workers.referee.boundary.problem_connection import ProblemConnection
from workers.referee.problem_process import ProblemProcess

Peer = Callable[[Channel], object]


def honest(channel: Channel) -> None:
    """What the process does."""
    ProblemProcess(channel).run()


class Threads:
    """Each process is a thread that runs `peer`."""

    def __init__(self, peer: Peer = honest, ended: ExitStatus | None = None, most_bytes: int | None = None) -> None:
        self._peer = peer
        self._ended = ended
        self._most_bytes = most_bytes
        self.steps: list[str] = []
        self._threads: list[threading.Thread] = []

    @property
    def started(self) -> int:
        """How many there were."""
        return len(self._threads)

    def connect(self) -> ProblemConnection:
        """Start one."""
        ours, theirs = socket.socketpair()
        self._threads.append(threading.Thread(target=self._serve, args=(theirs,), daemon=True))
        self._threads[-1].start()
        return ProblemConnection(Channel(ours), None, TensorDevice(), self._note, most_bytes=self._most_bytes)

    def _note(self, what: str, _line: int | None) -> None:
        self.steps.append(what)

    def end(self) -> ExitStatus | None:
        """How the latest ended."""
        return self._ended

    def join(self) -> None:
        """Wait until all have ended, which their connections' ends make them do."""
        for thread in self._threads:
            thread.join()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            self._peer(Channel(connection))


@contextlib.contextmanager
def isolated(source: str, processes: Threads | None = None) -> Iterator[IsolatedProblem]:
    """A loaded problem of this text."""
    processes = processes or Threads()
    problem = Problem(name="p", source=source, path="p.py")
    loaded: IsolatedProblem | None = None
    try:
        loaded = IsolatedProblem(processes, problem, threads=torch.get_num_threads())
        yield loaded
    finally:
        if loaded is not None:
            loaded.close()
        processes.join()
