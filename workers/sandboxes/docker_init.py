"""The first process of a sandbox container: calls home over its one socket, then forks what the worker asks for.

It has no capabilities and no network; it makes namespaces inside a user namespace, as the process sandbox does for a
plain user, and each process it forks gets fresh ones. When the worker goes away, it ends, and the container with it.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

from services.domain.codec import to_data
from services.domain.events import JsonValue
from workers.sandboxes import zygote
from workers.sandboxes.environment import python_binds, python_path
from workers.sandboxes.view import system_binds

HOME = "/run/kernelwright"
SOCKET = f"{HOME}/s"


def main(preload: tuple[str, ...]) -> None:
    """Connect, become warm, serve."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(SOCKET)
    zygote.become_warm(preload)
    about: dict[str, JsonValue] = {
        "system": to_data(system_binds()),
        "python": to_data(python_binds()),
        "path": python_path(),
        "prefix": sys.prefix,
        "version": os.environ.get("KERNELWRIGHT_VERSION"),
        "memory_bytes": memory_in_use(),
    }
    zygote.main(connection.detach(), preload, about)


def memory_in_use() -> int:
    """Bytes charged to this container when it is warm; 0 where it cannot see them."""
    for name in ("memory/memory.usage_in_bytes", "memory.current"):
        try:
            return int(Path("/sys/fs/cgroup", name).read_text(encoding="ascii"))
        except OSError:
            continue
    return 0


if __name__ == "__main__":
    main(tuple(sys.argv[1:]))
