"""The supervisor's end of `workers.ipc.freezer`: SIGSTOP and SIGCONT to everything in its PID namespace.

SIGSTOP can be neither caught nor blocked, and `kill(-1)` misses no child that is being forked. But a process can have
the kernel send it SIGCONT (when something arrives on a pipe, say). So the run time of all threads is read after the
stop and compared before the tree is asked again: what ran in between is reported.
"""

from __future__ import annotations

import os
import signal
import time

from workers.ipc.freezer import FREEZE, INSPECT, RAN, STILL, THAW

TOLERATED_NS = 200_000
"""Run time that counts as none: the last steps of many threads on their way to a stop."""
SETTLE_S = 0.2
"""For the rest of a tree to stop once its first process has; more on a busy machine is noticed, not waited for."""


class TreeFreezer:
    """Stops and continues all processes but the caller, of which `process` is the first."""

    def __init__(self, descriptor: int, process: int) -> None:
        self.descriptor = descriptor
        self._process = process
        self._ran_ns: dict[str, int] | None = None
        """Run time by thread, as it was when everything had stopped; None until it is looked at."""
        self._frozen = False

    def serve(self) -> bool:
        """Obey what has arrived; False when the other end is closed, and the tree runs on."""
        try:
            commands = os.read(self.descriptor, 64)
            for command in commands:
                answer = self._obey(bytes([command]))
                os.write(self.descriptor, answer)
                if answer == FREEZE:
                    self._remember()
        except (ConnectionError, BrokenPipeError):
            return False
        return bool(commands)

    def _obey(self, command: bytes) -> bytes:
        if command == FREEZE:
            return self._freeze()
        if command == INSPECT:
            return self._inspect()
        self._thaw()
        return THAW

    def _freeze(self) -> bytes:
        _signal_all(signal.SIGSTOP)
        os.waitid(os.P_PID, self._process, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        self._frozen = True
        return FREEZE

    def _thaw(self) -> None:
        _signal_all(signal.SIGCONT)
        self._frozen, self._ran_ns = False, None

    def _remember(self) -> None:
        until = time.monotonic() + SETTLE_S
        own = str(self._process)
        while not all(_is_stopped(name) for name in _processes() if name != own) and time.monotonic() < until:
            time.sleep(0.0005)
        self._ran_ns = _run_times()
        while time.monotonic() < until:  # a thread counts as stopped before it has left its processor
            time.sleep(0.0002)
            before, self._ran_ns = self._ran_ns, _run_times()
            if before == self._ran_ns:
                return

    def _inspect(self) -> bytes:
        if not self._frozen or self._ran_ns is None:
            return STILL
        now = _run_times()
        before = self._ran_ns
        ran = sum(time_ns - before.get(thread, 0) for thread, time_ns in now.items())
        return RAN if ran > TOLERATED_NS else STILL


def _signal_all(number: int) -> None:
    try:
        os.kill(-1, number)
    except ProcessLookupError:
        return


def _processes() -> list[str]:
    own = str(os.getpid())
    return [name for name in os.listdir("/proc") if name.isdigit() and name != own]  # noqa: PTH208 - quick


def _is_stopped(process: str) -> bool:
    """Stopped, traced, dead, or gone."""
    try:
        text = _read(f"/proc/{process}/stat")
    except OSError:
        return True
    return text.rpartition(b")")[2].split()[0] in (b"T", b"t", b"Z", b"X")


def _run_times() -> dict[str, int]:
    """Nanoseconds that each thread has run, by its place in /proc."""
    found = {}
    for process in _processes():
        try:
            threads = os.listdir(f"/proc/{process}/task")  # noqa: PTH208
        except OSError:
            continue
        for thread in threads:
            place = f"/proc/{process}/task/{thread}/schedstat"
            try:
                found[place] = int(_read(place).split()[0])
            except (OSError, ValueError, IndexError):
                continue
    return found


def _read(place: str) -> bytes:
    """A file of /proc in one read, without what `pathlib` and `io` make: each stop reads one per thread, twice."""
    descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 4096)
    finally:
        os.close(descriptor)
