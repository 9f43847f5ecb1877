"""Users for sandboxed processes: a different one for each, so that no two can signal, trace or read one another."""

from __future__ import annotations

import os
import secrets
import threading
from pathlib import Path

LARGE = range(1_900_000_000, 1_900_000_000 + (1 << 24))
"""Unused by distributions and by systemd (1879048192 to 2147483647)."""
SMALL = range(61_184, 65_520)
"""For containers that map 65536 users only; systemd's range for dynamic users."""


class UserPool:
    """Hands out user numbers that nothing else on this machine uses."""

    def __init__(self) -> None:
        self._range = LARGE if _is_mapped(LARGE) else SMALL
        self._taken: set[int] = set()
        self._lock = threading.Lock()

    def take(self) -> int:
        """A free user; drawn at random so that several workers on a machine do not meet."""
        with self._lock:
            running = _users_running() if self._range is SMALL else set()
            while True:
                uid = self._range.start + secrets.randbelow(len(self._range))
                if uid not in self._taken and uid not in running:
                    self._taken.add(uid)
                    return uid

    def give_back(self, uid: int) -> None:
        """Its processes have ended."""
        with self._lock:
            self._taken.discard(uid)


def _is_mapped(users: range) -> bool:
    try:
        lines = Path("/proc/self/uid_map").read_text(encoding="ascii").splitlines()
    except OSError:
        return False
    spans = [(int(inside), int(inside) + int(count)) for inside, _outside, count in map(str.split, lines)]
    return any(start <= users.start and users.stop <= stop for start, stop in spans)


def _users_running() -> set[int]:
    users = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                users.add(entry.stat().st_uid)
            except OSError:
                continue
    return users | {os.getuid()}
