"""Finds unit tests that wait for real time or start a program. It goes by what is asked for, whatever the load.

Sleeping and starting programs are noted where they are asked for; waiting on a selector, as an event loop does, and on
a condition, as `threading.Event` and `queue.Queue` do, where the time ran out. What other threads wait for in the
background holds no test up.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

LONGEST_S = 0.01
"""What a test may wait for."""
PROGRAMS = ((subprocess.Popen, "__init__"), (os, "fork"), (os, "forkpty"), (os, "posix_spawn"), (os, "system"))
REMEDY = "give it virtual time (`pytest.mark.virtual_time`, `FrozenClock`) or a double, or move it to tests/integration"

_watching: list[list[str]] = []
"""What each `watched` has seen, the innermost last."""


@contextmanager
def watched() -> Iterator[list[str]]:
    """What the main thread does meanwhile that a unit test may not do; what is nested sees for itself."""
    seen: list[str] = []
    _watching.append(seen)
    try:
        yield seen
    finally:
        _watching.remove(seen)


def install() -> None:
    """Put the guard into this process, for good; it looks only while `watched`."""
    _replace(time, "sleep", _sleeping)
    _replace(selectors.DefaultSelector, "select", _waiting)
    _replace(threading.Condition, "wait", _waiting)
    for owner, name in PROGRAMS:
        _replace(owner, name, _starting)


def _replace(owner: Any, name: str, guarded: Callable[[Any, str], Any]) -> None:
    function = getattr(owner, name)
    setattr(owner, name, wraps(function)(guarded(function, f"{owner.__name__}.{name}")))


def _sleeping(function: Any, name: str) -> Any:
    def guarded(seconds: float) -> None:
        if seconds > LONGEST_S:
            _note(f"{name} of {seconds:g} s")
        function(seconds)

    return guarded


def _waiting(function: Any, name: str) -> Any:
    def guarded(self: Any, timeout: float | None = None) -> Any:
        found = function(self, timeout)
        if not found and timeout is not None and timeout > LONGEST_S:
            _note(f"{name} for {timeout:g} s")
        return found

    return guarded


def _starting(function: Any, name: str) -> Any:
    def guarded(*arguments: Any, **keywords: Any) -> Any:
        _note(f"a program by {name}")
        return function(*arguments, **keywords)

    return guarded


def _note(what: str) -> None:
    if _watching and threading.current_thread() is threading.main_thread():
        _watching[-1].append(what)
