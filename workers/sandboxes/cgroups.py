"""Limits for a whole process tree, by cgroup (version 1 or 2), where we are root and may make groups: memory, and the
processor cores that are ours."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_numbers = itertools.count()
CORES_FILE = "cpuset.cpus"


@dataclass(frozen=True, kw_only=True)
class Hierarchy:
    """Where groups can be made."""

    parent: Path
    """Our groups are made below it."""
    limit_file: str
    events_file: str
    """Holds the line `oom_kill N`."""


class ControlGroup:
    """One group with limits (what is written into which of its files). Raises `OSError` when it cannot be made."""

    def __init__(self, parent: Path, limits: Mapping[str, str]) -> None:
        self.path = parent / f"kernelwright-{os.getpid()}-{next(_numbers)}"
        self.path.mkdir()
        try:
            for name, text in limits.items():
                (self.path / name).write_text(text, encoding="ascii")
        except OSError:
            self.remove()
            raise

    def open_membership(self) -> int:
        """A descriptor; a process that writes `0` to it joins the group."""
        return os.open(self.path / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)

    def remove(self) -> None:
        """Remove the group; its processes have ended."""
        for _ in range(50):
            try:
                self.path.rmdir()
            except FileNotFoundError:
                return
            except OSError:  # EBUSY: the kernel still takes the last process out
                time.sleep(0.01)
            else:
                return


class MemoryGroup(ControlGroup):
    """One with a memory limit."""

    def __init__(self, hierarchy: Hierarchy, memory_bytes: int) -> None:
        self._events = hierarchy.events_file
        super().__init__(hierarchy.parent, {hierarchy.limit_file: str(memory_bytes)})
        if CORES_FILE in own_cores() and (self.path / CORES_FILE).exists():  # version 2: one group has all controllers
            (self.path / CORES_FILE).write_text(own_cores()[CORES_FILE], encoding="ascii")

    def kills(self) -> int:
        """How many processes the kernel killed here for memory."""
        with contextlib.suppress(OSError):
            for line in (self.path / self._events).read_text(encoding="ascii").splitlines():
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
        return 0


def find_hierarchy() -> Hierarchy | None:
    """The memory hierarchy where we can make groups, after trying one; None where there is none."""
    if os.geteuid() != 0:
        return None
    for hierarchy in _candidates():
        try:
            _remove_orphans(hierarchy.parent)
            group = MemoryGroup(hierarchy, 1 << 30)
            os.close(group.open_membership())
            group.remove()
        except OSError:
            continue
        return hierarchy
    return None


def own_cores() -> dict[str, str]:
    """What confines a group to the cores that we may use; nothing where those are all there are.

    A process that only inherits our affinity can give itself the other cores."""
    cores = os.sched_getaffinity(0)
    if len(cores) >= (os.cpu_count() or 1):
        return {}
    return {CORES_FILE: ",".join(map(str, sorted(cores)))}


def core_group() -> ControlGroup | None:
    """A group on our cores in a hierarchy of its own (version 1); None where there is nothing to confine or no way."""
    cores = own_cores()
    if not cores or os.geteuid() != 0:
        return None
    for parent in _core_parents():
        with contextlib.suppress(OSError):
            _remove_orphans(parent)
            nodes = (parent / "cpuset.mems").read_text(encoding="ascii").strip()
            return ControlGroup(parent, {"cpuset.mems": nodes, **cores})
    return None


def _core_parents() -> list[Path]:
    mount = Path("/sys/fs/cgroup/cpuset")
    lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines() if mount.exists() else []
    paths = [line.split(":", 2)[2] for line in lines if "cpuset" in line.split(":", 2)[1].split(",")]
    parents = [parent for path in paths for parent in (mount / path.lstrip("/"), mount)]
    return [parent for parent in parents if (parent / CORES_FILE).exists()]


def _remove_orphans(parent: Path) -> None:
    """Groups of workers that were killed."""
    for path in parent.glob("kernelwright-*-*"):
        if not Path(f"/proc/{path.name.split('-')[1]}").exists():
            with contextlib.suppress(OSError):
                path.rmdir()


def _candidates() -> list[Hierarchy]:
    found = []
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    for line in lines:
        _number, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            found += _version_1(Path("/sys/fs/cgroup/memory"), path)
        elif not controllers:
            found += _version_2(Path("/sys/fs/cgroup"), path)
    return found


def _version_1(mount: Path, path: str) -> list[Hierarchy]:
    parents = [mount / path.lstrip("/"), mount]  # in a container our own group is often the mount itself
    return [
        Hierarchy(parent=parent, limit_file="memory.limit_in_bytes", events_file="memory.oom_control")
        for parent in parents
        if (parent / "memory.limit_in_bytes").exists()
    ]


def _version_2(mount: Path, path: str) -> list[Hierarchy]:
    """Own group or an ancestor: the nearest that hands the memory controller on to its children."""
    parents = [mount / path.lstrip("/"), *(mount / path.lstrip("/")).parents]
    return [
        Hierarchy(parent=parent, limit_file="memory.max", events_file="memory.events")
        for parent in parents
        if parent.is_relative_to(mount) and _hands_on_memory(parent)
    ]


def _hands_on_memory(group: Path) -> bool:
    try:
        return "memory" in (group / "cgroup.subtree_control").read_text(encoding="ascii").split()
    except OSError:
        return False
