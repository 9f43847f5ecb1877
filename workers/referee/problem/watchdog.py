"""Ends a process whose problem does not come back."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from workers.ipc.wire import Channel
from workers.referee.boundary.problem_messages import ANSWERS, LONGEST_S, ProblemRefused

REFERENCE_LIMIT_S = 20.0
"""Seconds that importing a problem, or one step of running its reference, may take, waiting for a CPU not counted."""


class RunQueue:
    """How long this process's threads waited for a CPU: time that a busy machine takes, and not the problem."""

    def __init__(self, tasks: Path = Path("/proc/self/task")) -> None:
        self._tasks = tasks
        self._before: dict[str, float] = {}

    def restart(self) -> None:
        """Count from now on."""
        self._before = self._waits()

    def waited_s(self) -> float:
        """Seconds of the thread that waited longest since `restart`; 0 where the kernel does not report it."""
        waits = self._waits().items()
        return max((seconds - self._before.get(thread, 0.0) for thread, seconds in waits), default=0.0)

    def _waits(self) -> dict[str, float]:
        """By thread: the second figure of `schedstat` (Documentation/scheduler/sched-stats.rst), in nanoseconds."""
        found: dict[str, float] = {}
        try:
            for task in self._tasks.iterdir():
                found[task.name] = int((task / "schedstat").read_text().split()[1]) / 1e9
        except (OSError, ValueError, IndexError):
            return found
        return found


class Watchdog:
    """Ends a process whose problem does not come back in `limit_s` seconds, after saying where it hangs."""

    def __init__(self, channel: Channel, queue: RunQueue | None = None, *, limit_s: float = REFERENCE_LIMIT_S) -> None:
        self._channel = channel
        self._limit_s = limit_s
        self._queue = queue or RunQueue()
        self._path = ""
        self._what = ""
        self._started = float("inf")
        self._main = threading.get_ident()
        self._on_watch = threading.Event()
        self._thread: threading.Thread | None = None

    def watching(self, path: str, what: str = "the module") -> Watchdog:
        """Watch what runs inside a `with`, which begins with the step `what`; `path` is the file whose lines are
        named."""
        self._path, self._what = path, what
        return self

    def restart(self, what: str) -> None:
        """A new step begins."""
        self._what = what
        self._queue.restart()
        self._started = time.monotonic()

    def __enter__(self) -> None:
        self.restart(self._what)
        self._on_watch.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, daemon=True)
            self._thread.start()

    def __exit__(self, *_exception: object) -> None:
        self._on_watch.clear()
        self._started = float("inf")

    def _watch(self) -> None:
        while self._on_watch.wait():
            if is_over(time.monotonic() - self._started, self._queue.waited_s, self._limit_s):
                self._give_up()
            time.sleep(0.1)

    def _give_up(self) -> None:
        frame, line = sys._current_frames().get(self._main), None
        while frame is not None and line is None:
            line = frame.f_lineno if frame.f_code.co_filename == self._path else None
            frame = frame.f_back
        refusal = ProblemRefused(
            reason=f"{self._what} did not end within {self._limit_s:.0f} s",
            remedy="Make it end, or make the problem smaller.",
            line=line,
        )
        self._channel.send(ANSWERS.encode(refusal))
        os._exit(3)


def is_over(elapsed_s: float, waited_s: Callable[[], float], limit_s: float = REFERENCE_LIMIT_S) -> bool:
    """Whether a step has used up its time; what the machine kept it waiting is taken off."""
    if elapsed_s <= limit_s:
        return False
    return elapsed_s > LONGEST_S or elapsed_s - waited_s() > limit_s
