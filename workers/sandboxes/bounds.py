"""Whether a process tree stands at a limit, so that it is not left there until its time is over.

A limit that refuses (RLIMIT_NPROC, the size of a tmpfs) does not end a program that goes on trying: a fork bomb would
keep its worker busy until the wall limit. What stands at such a limit for some seconds is killed, and the limit named.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

from workers.sandboxes.plan import SandboxPlan

LOOK_S = 0.5
"""Between two looks."""
PATIENCE_S = 2.0
"""So long a tree may stand at a limit."""
PROCESSES, DISK = "processes", "disk"
SPARE_PROCESSES = 3
"""Of a large limit: the sandbox's own processes may count towards it."""
SPARE_BYTES = 1 << 16
SHARED_MEMORY = "/dev/shm"  # noqa: S108 - a tmpfs of the sandbox's own


class BoundWatch:
    """Looks now and then at what a tree uses of its limits."""

    def __init__(self, plan: SandboxPlan, processes: Callable[[], Iterable[int]], *, private: bool) -> None:
        """`processes` tells the tree's; `private`: its temporary folders are file systems of its own."""
        self._limits = plan.limits
        self._processes = processes
        self._private = private
        workspace = (plan.directory,) if plan.workspace else ()
        self._folders = (plan.temporary, SHARED_MEMORY, *workspace) if private else (plan.temporary,)
        self._since: dict[str, float] = {}

    def exhausted(self, now: float) -> str | None:
        """The limit that the tree has stood at for too long, else None. `now` in seconds of a monotonic clock."""
        standing = {PROCESSES: self._no_process_left, DISK: self._no_space_left}
        for name, stands in standing.items():
            if not stands():
                self._since.pop(name, None)
            elif now - self._since.setdefault(name, now) >= PATIENCE_S:
                return name
        return None

    def _no_process_left(self) -> bool:
        most = self._limits.processes
        most -= min(SPARE_PROCESSES, most // 16)
        count = 0
        for process in self._processes():
            count += _threads(process)
            if count >= most:
                return True
        return False

    def _no_space_left(self) -> bool:
        if self._private:
            return any(_is_full(folder) for folder in self._folders)
        return _holds(Path(self._folders[0]), self._limits.file_bytes)


def in_namespace() -> list[int]:
    """All processes of our PID namespace but ourselves, from the /proc of that namespace."""
    return [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit() and int(entry.name) != os.getpid()]


def _threads(process: int) -> int:
    """How many threads a process has; the kernel counts them as links of this folder."""
    try:
        return max(1, Path(f"/proc/{process}/task").stat().st_nlink - 2)
    except OSError:
        return 0


def _is_full(folder: str) -> bool:
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    return found.f_blocks > 0 and found.f_bavail * found.f_frsize < SPARE_BYTES


def _holds(folder: Path, most: int) -> bool:
    """Whether a folder of a shared file system holds more than that many bytes."""
    used, folders = 0, [str(folder)]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    found = entry.stat(follow_symlinks=False)
                    used += found.st_blocks * 512
                    if stat.S_ISDIR(found.st_mode):
                        folders.append(entry.path)
        except OSError:
            continue
        if used > most:
            return True
    return False
