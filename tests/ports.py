"""Ports for servers that tests start, also where a server must come back on the port that it had."""

from __future__ import annotations

import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path
from typing import IO

FIRST = 20_000
"""Servers that a machine has anyway listen below."""
_KEPT: list[IO[bytes]] = []


def a_free_port() -> int:
    """A port on which nothing listens, for as long as this process lives: no other test process gets it, and neither
    does a program that asks the system for a port, because the system's own range begins above.

    Raises `RuntimeError` where every port is taken."""
    folder = Path(tempfile.gettempdir(), f"kernelwright-test-ports-{os.getuid()}")
    folder.mkdir(exist_ok=True)
    system = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for port in random.sample(range(FIRST, system), system - FIRST):
        lock = (folder / str(port)).open("wb")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:  # another process has the lock, or something listens
            lock.close()
            continue
        _KEPT.append(lock)
        return port
    raise RuntimeError(f"every port from {FIRST} to {system - 1} is taken: end what listens there")
