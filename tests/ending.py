"""What a test session opens once, for whoever needs it, and closes at its end."""

from __future__ import annotations

import atexit
import contextlib
from collections.abc import Callable

_OPEN = contextlib.ExitStack()


def at_the_end(close: Callable[..., object], *arguments: object) -> None:
    """Call something when this process's tests are over: the last that was opened is closed first."""
    _OPEN.callback(close, *arguments)


def close_all() -> None:
    """Close everything. pytest's session does it; what is no pytest session does it as it exits."""
    _OPEN.close()


atexit.register(close_all)
