"""A limit on the CPU time of code that cannot be asked to stop."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

AGAIN_S = 0.5
"""CPU seconds after which code that caught its end is ended again."""


class CpuTimeError(Exception):
    """The code used up its CPU time, and was ended in the middle of what it did."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"it takes more than {seconds:g} s of CPU time")


class _Ended(BaseException):
    """The time is used up."""


class CpuTime:
    """CPU seconds that several pieces of code share. A signal ends them, which only a process's main thread gets: in
    others nothing is limited."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._left = seconds

    @property
    def is_used_up(self) -> bool:
        """Whether code was ended."""
        return self._left <= 0

    @contextlib.contextmanager
    def limiting(self) -> Iterator[None]:
        """Raise `CpuTimeError` where what is inside uses up what is left. What it held then may be in any state."""
        if self.is_used_up:
            raise CpuTimeError(self._seconds)
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        inside = True

        def end(_number: int, _frame: FrameType | None) -> None:
            if inside:  # a signal may be handled after the timer was stopped
                raise _Ended

        before = signal.signal(signal.SIGPROF, end)
        started = time.process_time()
        try:
            signal.setitimer(signal.ITIMER_PROF, self._left, AGAIN_S)
            yield
            inside = False
            self._left = max(1e-3, self._left - (time.process_time() - started))
        except _Ended:
            self._left = 0.0
            raise CpuTimeError(self._seconds) from None
        finally:
            inside = False
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            signal.signal(signal.SIGPROF, before)
