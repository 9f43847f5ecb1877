"""What the end of a process says about the problem whose code it ran."""

from __future__ import annotations

import contextlib
import signal

from services.ports.sandboxes import ExitStatus
from workers.referee.errors import Refused

NATIVE = "Look at what native code does there (extensions, indices out of range, very deep recursion)"
EXITS = "Look for what ends the process there (sys.exit, os._exit, a library that aborts)"
SANDBOX = (
    "if the file runs with plain PyTorch, look for what a sandbox does not permit: network, other files, more processes"
)


def refused_end(status: ExitStatus | None, what: str, line: int | None) -> Refused | None:
    """A refusal where the problem's own code, of which `what` ran last, brought its process down; None where the
    machine may have done it. `status` is None where it did not end."""
    if status is None or status.timed_out:
        reason, remedy = f"{what} never ended", "Make it end, or make the problem smaller."
    elif status.out_of_memory:
        reason, remedy = f"{what} ran out of memory", "Make the problem smaller, or give workers more memory."
    elif status.exhaustion is not None:
        reason, remedy = f"{what}: its process {status.exhaustion}", "Start fewer threads, or write less."
    elif status.signal == signal.SIGKILL:
        return None
    else:
        reason, remedy = _ended(what, status)
    return Refused(reason, remedy, line)


def _ended(what: str, status: ExitStatus) -> tuple[str, str]:
    """How the process ended during its last step, and what to look at: that it would end elsewhere too is not known."""
    end, look = f"exit code {status.code}", EXITS
    if status.signal is not None:
        end, look = f"signal {status.signal}, {_name_of(status.signal)}", NATIVE
    return f"the problem's process ended ({end}); its last step was {what}", f"{look}; {SANDBOX}."


def _name_of(number: int) -> str:
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    return "which has no name"
