"""`ProcessSandbox`: the `Sandbox` port by namespaces, users and limits of this machine, without Docker."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from services.domain.codec import to_data
from services.domain.errors import SandboxError, ToolchainError
from services.ports.sandboxes import ExitStatus, Mount, SandboxLimits
from workers.ipc.wire import Channel, WireError
from workers.sandboxes import bubblewrap, seccomp
from workers.sandboxes import environment as surroundings
from workers.sandboxes.cgroups import ControlGroup, Hierarchy, MemoryGroup, core_group, find_hierarchy
from workers.sandboxes.forked import ForkedProcess, NotStartedError
from workers.sandboxes.launcher import Zygote
from workers.sandboxes.plan import BASE_PATH, TEMPORARY, Bind, Level, SandboxPlan
from workers.sandboxes.users import UserPool
from workers.sandboxes.view import system_binds

START_TIMEOUT_S = 30.0
PROBE_LIMITS = SandboxLimits(wall_s=60.0)
PROBE = "workers.sandboxes.probe"
"""The zygote imports it beforehand: a user who may not read our files then says so."""


@dataclass
class _Probed:
    level: Level
    refusals: list[str] = field(default_factory=list)
    """Why stronger levels are not available, one line each."""


class ProcessSandbox:
    """Forks confined processes from a warm zygote.

    `levels` are tried in order, strongest first; the first that works is used. `preload` names modules that the
    zygote imports beforehand, so that entries start faster; they must not touch a tensor when imported. Programs run
    in bubblewrap where it works, unless `use_bubblewrap` is false; else they are confined like entries.
    """

    def __init__(
        self, *, levels: Sequence[Level] = tuple(Level), preload: Sequence[str] = (), use_bubblewrap: bool = True
    ) -> None:
        self._levels = tuple(levels)
        self._zygote = Zygote((PROBE, *preload))
        self._users = UserPool()
        self._hierarchy: Hierarchy | None = None
        self._probed: _Probed | None = None
        self._probing = threading.Lock()
        self._living: set[ForkedProcess] = set()
        self._closed = False
        self._bubblewrap: str | None = bubblewrap.find() if use_bubblewrap else None
        self._bubblewrap_works: bool | None = None

    @property
    def isolation(self) -> str:
        """`namespaces` or `limits`: what this machine really gives. Raises `SandboxError`."""
        return "limits" if self._probe().level is Level.LIMITS else "namespaces"

    def explain(self) -> str:
        """The level reached and why no stronger one is, for people."""
        probed = self._probe()
        lines = [f"{self.isolation} ({probed.level})"]
        memory = "cgroup" if self._hierarchy is not None else "RLIMIT_DATA of each process"
        lines.append(f"memory limited by {memory}")
        lines.append(
            "candidates run on between calls: to stop them takes a PID namespace (root, or user namespaces)"
            if probed.level is Level.LIMITS
            else "candidates are stopped between calls"
        )
        if self._wraps_programs():
            lines.append("compilers in bubblewrap")
        return "; ".join([*lines, *probed.refusals])

    def start(self) -> None:
        """Start the zygote now, without waiting for it, so that the first fork finds it warm."""
        self._zygote.start()

    def fork(
        self, entry: str, limits: SandboxLimits, *, mounts: Sequence[Mount] = (), environment: Mapping[str, str] = {}
    ) -> ForkedProcess:
        """Start a Python function in a fresh sandboxed process. Raises `SandboxError`."""
        binds = [*system_binds(), *surroundings.python_binds(), *_binds(mounts)]
        path = surroundings.python_path()
        return self._fork(
            self._probe().level, limits, binds=binds, entry=entry, environment={"PATH": path, **environment}
        )

    def run(
        self,
        command: Sequence[str],
        limits: SandboxLimits,
        *,
        directory: Path,
        mounts: Sequence[Mount] = (),
        environment: Mapping[str, str] = {},
    ) -> ExitStatus:
        """Run a program to its end with `directory` writable. Raises `SandboxError`, `ToolchainError`."""
        if shutil.which(command[0], path=BASE_PATH) is None:
            raise ToolchainError(f"cannot run {command[0]}: it is not installed")
        level = self._probe().level
        shown = [directory, *(mount.path for mount in mounts)]
        wrapped = self._wraps_programs() and all(bubblewrap.can_reach(path) for path in shown)
        return self._run(level, command, limits, _binds([*mounts, _writable(directory)]), environment, wrapped=wrapped)

    def _run(
        self,
        level: Level,
        command: Sequence[str],
        limits: SandboxLimits,
        binds: Sequence[Bind],
        environment: Mapping[str, str],
        *,
        wrapped: bool,
    ) -> ExitStatus:
        """Run a program, the last of `binds` being its directory."""
        directory = Path(binds[-1].target)
        shown = [*system_binds(), *binds]
        if wrapped:
            assert self._bubblewrap is not None
            command = bubblewrap.wrap(self._bubblewrap, command, shown, directory)
            environment = {"TMPDIR": TEMPORARY, "HOME": TEMPORARY, **environment}
            level = Level.LIMITS  # bubblewrap makes the namespaces
        process = self._fork(
            level, limits, binds=shown, command=tuple(command), directory=str(directory), environment=environment
        )
        status = process.run_to_end()
        if process.missing is not None:
            raise ToolchainError(f"cannot run {process.missing}")
        return status

    def _wraps_programs(self) -> bool:
        """Whether bubblewrap is there and works for the user we give it; tried once."""
        if self._bubblewrap is None:
            return False
        if self._bubblewrap_works is None:
            with tempfile.TemporaryDirectory(prefix="kernelwright-") as scratch:
                binds = _binds([_writable(Path(scratch))])
                status = self._run(self._probe().level, ["true"], PROBE_LIMITS, binds, {}, wrapped=True)
            self._bubblewrap_works = status.code == 0
        return self._bubblewrap_works

    def dedicate(self, owner: str) -> None:
        """Nothing to do: a process leaves nothing behind that another could meet."""

    def close(self) -> None:
        """Kill what still runs and end the zygote."""
        self._closed = True
        for process in list(self._living):
            process.kill()
        self._zygote.close()

    def _probe(self) -> _Probed:
        with self._probing:
            if self._probed is None:
                self._hierarchy = find_hierarchy()
                self._probed = self._try_levels()
            return self._probed

    def _try_levels(self) -> _Probed:
        refusals: list[str] = []
        for level in self._levels:
            if level is Level.PRIVILEGED and os.geteuid() != 0:
                continue
            try:
                self._try_level(level)
            except SandboxError as error:
                refusals.append(f"{level} not available: {error}")
                continue
            return _Probed(level=level, refusals=refusals)
        raise SandboxError("no sandbox works on this machine: " + "; ".join(refusals))

    def _try_level(self, level: Level) -> None:
        """Fork at a level and compare the interpreter inside with ours: it may have silently become another."""
        binds = [*system_binds(), *surroundings.python_binds()]
        process = self._fork(
            level,
            PROBE_LIMITS,
            binds=binds,
            entry=f"{PROBE}:describe",
            environment={"PATH": surroundings.python_path()},
        )
        try:
            seen = Channel(process.socket).receive(timeout_s=START_TIMEOUT_S).body
        except WireError as error:
            process.kill()
            status = process.wait()
            raise SandboxError(f"{error}: {status.output[-500:] if status else ''}".strip()) from None
        finally:
            process.socket.close()
        process.wait(START_TIMEOUT_S)
        if "unreadable" in seen:
            raise SandboxError(
                f"the sandbox's user cannot read Python or Kernelwright ({seen['unreadable']}); "
                f"install Kernelwright outside private directories"
            )
        warm = self._zygote.description
        if (seen.get("torch"), seen.get("file")) != (warm.get("torch"), warm.get("file")):
            raise SandboxError(f"another torch inside: {seen.get('file')} instead of {warm.get('file')}")

    def _fork(
        self,
        level: Level,
        limits: SandboxLimits,
        *,
        binds: Sequence[Bind],
        environment: Mapping[str, str],
        entry: str | None = None,
        command: tuple[str, ...] = (),
        directory: str | None = None,
    ) -> ForkedProcess:
        if self._closed:
            raise SandboxError("the sandbox is closed")
        change_user = os.geteuid() == 0
        with contextlib.ExitStack() as undo:
            uid = self._users.take()
            undo.callback(self._users.give_back, uid)
            temporary = self._temporary_directory(level, uid if change_user else None, undo)
            group = self._memory_group(limits, undo)
            cores = core_group()
            if cores is not None:
                undo.callback(cores.remove)
            plan = SandboxPlan(
                entry=entry,
                command=command,
                directory=directory or temporary,
                temporary=temporary,
                level=level,
                uid=uid,
                change_user=change_user,
                limits=limits,
                binds=tuple(binds),
                environment=surroundings.inside(temporary, environment),
                limit_data=group is None,
                filtered=_is_filtered(level, entry, binds),
            )
            if change_user:
                _hand_over(plan)
            try:
                process = self._launch(plan, group, cores)
            except NotStartedError:
                process = self._launch(plan, group, cores)
            process.when_ended(undo.pop_all().close)
        self._living.add(process)
        process.when_ended(lambda: self._living.discard(process))
        return process

    def _launch(self, plan: SandboxPlan, group: MemoryGroup | None, cores: ControlGroup | None) -> ForkedProcess:
        memberships = [joined.open_membership() for joined in (group, cores) if joined is not None]
        try:
            process = ForkedProcess(group=group, stoppable=plan.level is not Level.LIMITS)
            process.launch(lambda ends: self._zygote.request({"plan": to_data(plan)}, [*ends, *memberships]))
        finally:
            for membership in memberships:
                os.close(membership)
        process.await_ready(START_TIMEOUT_S)
        return process

    def _temporary_directory(self, level: Level, owner: int | None, undo: contextlib.ExitStack) -> str:
        if level is not Level.LIMITS:
            return TEMPORARY
        directory = tempfile.mkdtemp(prefix="kernelwright-")
        undo.callback(shutil.rmtree, directory, ignore_errors=True)
        if owner is not None:
            os.chown(directory, owner, owner)
        return directory

    def _memory_group(self, limits: SandboxLimits, undo: contextlib.ExitStack) -> MemoryGroup | None:
        if self._hierarchy is None:
            return None
        try:
            group = MemoryGroup(self._hierarchy, limits.memory_bytes)
        except OSError as error:
            raise SandboxError(f"cannot make a memory cgroup: {error}") from None
        undo.callback(group.remove)
        return group


def _writable(directory: Path) -> Mount:
    return Mount(path=directory, writable=True)


def _binds(mounts: Sequence[Mount]) -> list[Bind]:
    found = []
    for mount in mounts:
        if not mount.path.is_absolute() or not mount.path.exists():
            raise SandboxError(f"cannot show {mount.path} in a sandbox: it must be absolute and exist")
        found.append(Bind(source=str(mount.path.resolve()), target=str(mount.path), writable=mount.writable))
    return found


def _is_filtered(level: Level, entry: str | None, binds: Sequence[Bind]) -> bool:
    """Whether a process may make no namespaces of its own. Programs may: bubblewrap does; GPU drivers load helpers."""
    has_devices = any(bind.target.startswith("/dev/") for bind in binds)
    return level is not Level.LIMITS and entry is not None and not has_devices and seccomp.can_filter()


def _hand_over(plan: SandboxPlan) -> None:
    """Writable directories belong to the sandbox's user from here on (what is in them stays ours)."""
    for bind in plan.binds:
        if bind.writable:
            os.chown(bind.source, plan.uid, plan.uid)
