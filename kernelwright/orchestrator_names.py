"""Names of orchestrators, and whether the one behind a name is gone: its leases need not be waited for then."""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
from pathlib import Path

_PROC = Path("/proc")
_STATE, _START = 0, 19
"""Fields of `/proc/PID/stat` after the command's name (proc_pid_stat(5))."""


def own_name() -> str:
    """A name for an orchestrator in this process: host, place, process, its start, and a random part."""
    start = (_fields(os.getpid()) or {}).get("start", "0")
    return f"{socket.gethostname()}-{_place()}-{os.getpid()}-{start}-{secrets.token_hex(4)}"


def host_of(owner: str) -> str:
    """The host in a name."""
    return owner.rsplit("-", 4)[0]


def is_gone(owner: str) -> bool:
    """Whether a name is of a process of this very place (kernel and PID namespace) that has ended; False when in
    doubt."""
    parts = owner.rsplit("-", 4)
    if len(parts) != 5 or not parts[2].isdecimal() or parts[0] != socket.gethostname():
        return False
    if parts[1] != _place() or parts[1] == _NOWHERE:
        return False
    pid = int(parts[2])
    if _is_free(pid):
        return True
    found = _fields(pid)
    return found is not None and (found["state"] in "ZX" or found["start"] != parts[3])


_NOWHERE = "nowhere"


def _is_free(pid: int) -> bool:
    """Whether certainly no process has this number. That /proc shows none may have other reasons: no descriptor left,
    or a mount that hides other users' processes."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:
        return False
    return False


def _place() -> str:
    """The running kernel and the PID namespace: what a process id means something in."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text()
        namespace = (_PROC / "self/ns/pid").readlink()
    except OSError:
        return _NOWHERE
    return hashlib.sha256(f"{boot}{namespace}".encode()).hexdigest()[:8]


def _fields(pid: int) -> dict[str, str] | None:
    """State and start time of a process; None where there is none."""
    try:
        text = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return {"state": fields[_STATE], "start": fields[_START]}
