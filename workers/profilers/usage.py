"""Processor time of a process tree, from /proc, to the nanosecond where the kernel keeps it."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")
NANOSECOND = 1e-9
MAX_PROCESSES = 512


@dataclass(frozen=True, kw_only=True)
class Activity:
    """What a process tree has done, and is doing."""

    cpu_s: float
    """Processor seconds of all its threads."""
    turns: int
    """How often one of them was given a processor."""
    running: int
    """Threads that run or wait for a processor at this moment."""


def cpu_seconds(pid: int) -> float | None:
    """Seconds that `pid` and everything below it have run; None where /proc does not say."""
    if _own_seconds(pid) is None:
        return None
    return sum(_own_seconds(process) or 0.0 for process in tree(pid))


def activity(pid: int) -> Activity | None:
    """What `pid` and everything below it did so far; None where /proc does not say. Threads that wait for a processor
    count as running: on a busy machine a thread at work may go without any time."""
    seconds = cpu_seconds(pid)
    if seconds is None:
        return None
    found = [task for process in tree(pid) for task in tasks(process)]
    return Activity(
        cpu_s=seconds, turns=sum(_schedstat(task, 2) for task in found), running=sum(map(_is_running, found))
    )


def tasks(pid: int) -> list[Path]:
    """The folders of a process's threads, each named by its number; none where it is gone."""
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return []


def stat_fields(task: Path) -> list[str]:
    """What `stat` says of a process or thread, from its state on; nothing where it is gone."""
    try:
        return (task / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _schedstat(task: Path, place: int) -> int:
    """A figure of a thread's `schedstat`: the first is its time in nanoseconds, the third how often it had a turn."""
    try:
        return int((task / "schedstat").read_text(encoding="ascii").split()[place])
    except (OSError, ValueError, IndexError):
        return 0


def _is_running(task: Path) -> bool:
    return stat_fields(task)[:1] == ["R"]


def tree(pid: int) -> list[int]:
    """`pid` and the processes below it."""
    return [pid, *descendants(pid)][:MAX_PROCESSES]


def descendants(root: int) -> list[int]:
    """Processes below `root`, nearest first, from /proc; orphans count because `root` adopts them."""
    if not Path(f"/proc/{root}/task/{root}/children").exists():  # a kernel without CONFIG_PROC_CHILDREN
        return _descendants_by_parent(root)
    found = _children_of(root)
    for process in found:  # grows as it is read
        found += _children_of(process)
    return found


def _children_of(process: int) -> list[int]:
    """A process's children, those of its threads included: some reads, however many processes the machine has."""
    children: list[int] = []
    with contextlib.suppress(OSError):
        for thread in os.scandir(f"/proc/{process}/task"):
            with contextlib.suppress(OSError):
                children += map(int, Path(thread.path, "children").read_bytes().split())
    return children


def _descendants_by_parent(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        parent = _parent_of(entry) if entry.name.isdigit() else None
        if parent is not None:
            children.setdefault(parent, []).append(int(entry.name))
    found: list[int] = []
    queue = [root]
    while queue:
        below = children.get(queue.pop(0), [])
        found += below
        queue += below
    return found


def _parent_of(process: Path) -> int | None:
    fields = stat_fields(process)
    return int(fields[1]) if fields else None


def _own_seconds(pid: int) -> float | None:
    threads = tasks(pid)
    if not threads:
        return None
    total = sum(_schedstat(task, 0) for task in threads) * NANOSECOND
    return max(total, _with_ended_threads(pid) - 2 * TICK_S)


def _with_ended_threads(pid: int) -> float:
    """The whole process's time in clock ticks: coarse, but threads that ended are in it."""
    fields = stat_fields(Path(f"/proc/{pid}"))
    return (int(fields[11]) + int(fields[12])) * TICK_S if fields else 0.0


def pid_of_descriptor(pidfd: int) -> int | None:
    """The process a pidfd stands for, as this process sees it; None once it has ended."""
    try:
        lines = Path(f"/proc/self/fdinfo/{pidfd}").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    number = next((int(line.split()[1]) for line in lines if line.startswith("Pid:")), -1)
    return number if number > 0 else None
