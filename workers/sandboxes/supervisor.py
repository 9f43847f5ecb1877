"""The trusted parent of a sandboxed process: PID 1 of its namespace. Drains output, keeps time, kills, reports.

It speaks to the worker over the status socket: the worker sends a byte or goes away, the supervisor kills and answers
with `{"output": …}` pieces and one `{"exit": …}`. When it ends, the kernel kills everything left in its namespace.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from services.domain.events import JsonValue
from workers.ipc.wire import Channel, WireError
from workers.profilers.usage import descendants
from workers.sandboxes import archives, confine, linux
from workers.sandboxes.bounds import LOOK_S, BoundWatch, in_namespace
from workers.sandboxes.freezer import TreeFreezer
from workers.sandboxes.plan import Level, SandboxPlan

CHUNK = 1 << 20
PIECE = 1 << 18
REPORT_TIMEOUT_S = 3600.0
"""How long an unread report is kept for the worker; it goes away when the worker does."""
STOPPING_ROUNDS = 20
"""So often a tree is looked through for processes that were started meanwhile, before it is killed as it stands."""


@dataclass(frozen=True, kw_only=True)
class MemoryKills:
    """How many processes the kernel killed for memory in this container, from its own cgroup."""

    descriptor: int
    before: int

    @classmethod
    def open(cls) -> MemoryKills | None:
        """Starts to count; None where the container shows no memory cgroup."""
        for name in ("memory/memory.oom_control", "memory.events"):
            try:
                descriptor = os.open(f"/sys/fs/cgroup/{name}", os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                continue
            return cls(descriptor=descriptor, before=_killed(descriptor))
        return None

    def count(self) -> int:
        """Killed since."""
        return _killed(self.descriptor) - self.before


def _killed(events: int) -> int:
    for line in os.pread(events, 4096, 0).decode("ascii").splitlines():
        if line.startswith("oom_kill "):
            return int(line.split()[1])
    return 0


@dataclass
class Supervisor:
    """Watches one process and everything it starts."""

    plan: SandboxPlan
    process: int
    output: int
    """Reading end of the process's output, not blocking."""
    status: socket.socket
    deadline: float
    kills: MemoryKills | None = None
    freezer: TreeFreezer | None = None
    """Stops and continues the tree for whoever holds its other end."""
    kept: bytearray = field(default_factory=bytearray)
    cut: bool = False
    timed_out: bool = False
    exhausted: str | None = None
    """The limit for which it was killed, because it stood there for too long."""
    ended: int | None = None
    """The process's wait status, once it ended."""

    def watch(self) -> None:
        """Wait for the end of the process, of its time or of the worker's interest; then kill what is left."""
        wakeup = self._wake_on_children()
        poller = select.poll()
        for descriptor in (wakeup, self.output, self.status.fileno()):
            poller.register(descriptor, select.POLLIN)
        if self.freezer is not None:
            poller.register(self.freezer.descriptor, select.POLLIN)
        self._reap()
        bounds, next_look = self._bounds(), time.monotonic() + LOOK_S
        while self.ended is None:
            now = time.monotonic()
            if now >= next_look:
                next_look, self.exhausted = now + LOOK_S, bounds.exhausted(now)
            self.timed_out = now >= self.deadline
            if self.timed_out or self.exhausted is not None:
                break
            events = dict(poller.poll((min(self.deadline, next_look) - now) * 1000 + 1))
            self._serve_freezer(poller, events)
            if self.output in events and not self._drain():
                poller.unregister(self.output)
            if self.status.fileno() in events:
                break
            if wakeup in events:
                _empty(wakeup)
            self._reap()
        self.kill()
        while self._drain_now():
            pass

    def _serve_freezer(self, poller: select.poll, events: dict[int, int]) -> None:
        """Stop or continue the tree as asked; whoever asks may go away."""
        if self.freezer is not None and self.freezer.descriptor in events and not self.freezer.serve():
            poller.unregister(self.freezer.descriptor)
            self.freezer = None

    def _bounds(self) -> BoundWatch:
        if self.plan.level is Level.LIMITS:
            return BoundWatch(self.plan, lambda: descendants(os.getpid()), private=False)
        return BoundWatch(self.plan, in_namespace, private=True)

    def _wake_on_children(self) -> int:
        reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        linux.hear_of_ends_only()
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        return reading

    def _reap(self) -> None:
        while True:
            try:
                process, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if process == 0:
                return
            if process == self.process:
                self.ended = status

    def _drain(self) -> bool:
        """Read some output; False at its end."""
        try:
            chunk = os.read(self.output, CHUNK)
        except BlockingIOError:
            return True
        room = self.plan.limits.output_bytes - len(self.kept)
        self.kept += chunk[:room] if room > 0 else b""
        self.cut = self.cut or len(chunk) > max(room, 0)
        return bool(chunk)

    def _drain_now(self) -> bool:
        poller = select.poll()
        poller.register(self.output, select.POLLIN)
        return bool(poller.poll(0)) and self._drain()

    def kill(self) -> None:
        """Kill the process and all its descendants, and wait until none is left."""
        until = time.monotonic() + 10.0
        while time.monotonic() < until:
            if self.plan.level is Level.LIMITS:
                if self.ended is None:  # as long as it is not reaped, nobody else's group has its number
                    kill_group(self.process)
                kill_without_namespace(self.plan, os.getpid())
            else:
                _kill_everybody()
            self._reap()
            try:
                os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            time.sleep(0.002)

    def report(self) -> None:
        """Tell the worker how it ended; a worker that went away hears nothing."""
        channel = Channel(self.status)
        code = None if self.ended is None else os.waitstatus_to_exitcode(self.ended)
        try:
            for start in range(0, len(self.kept), PIECE):
                piece = self.kept[start : start + PIECE].decode("latin-1")
                channel.send({"output": piece}, timeout_s=REPORT_TIMEOUT_S)
            if self.plan.workspace:
                self._send_workspace(channel)
            body: dict[str, JsonValue] = {"exit": code, "timed_out": self.timed_out, "cut": self.cut}
            if self.exhausted is not None:
                body["exhausted"] = self.exhausted
            if self.kills is not None:
                body["memory_kills"] = self.kills.count()
            channel.send(body, timeout_s=REPORT_TIMEOUT_S)
        except WireError:
            return

    def _send_workspace(self, channel: Channel) -> None:
        archive = archives.pack_folder(Path(self.plan.directory))
        channel.send({"workspace": True}, [archive], timeout_s=REPORT_TIMEOUT_S)
        os.close(archive)


def _empty(descriptor: int) -> None:
    try:
        while os.read(descriptor, 4096):
            pass
    except BlockingIOError:
        return


def _kill_everybody() -> None:
    """Everything in our PID namespace but ourselves."""
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        return


def kill_group(leader: int) -> None:
    """Kill a process group at once, which no fork outruns: a fork bomb whose processes stayed in it is over."""
    with contextlib.suppress(OSError):  # it ended before it made a group of its own
        os.killpg(leader, signal.SIGKILL)


def kill_without_namespace(plan: SandboxPlan, root: int) -> None:
    """Kill all descendants of `root`: by their user where it is theirs alone, else by walking the process tree.

    They are stopped first: each death would make room for a fork of a bomb's other processes."""
    if plan.change_user:
        _kill_user(plan.uid)
    stopped: list[int] = []
    for _ in range(STOPPING_ROUNDS):
        running = [process for process in descendants(root) if process not in stopped]
        if not running:
            break
        _signal_all(running, signal.SIGSTOP)
        stopped += running
    _signal_all(reversed(stopped), signal.SIGKILL)


def _signal_all(processes: Iterable[int], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(OSError):
            os.kill(process, number)


def _kill_user(uid: int) -> None:
    """Signal all processes of a user at once, from a child that becomes it: a fork bomb cannot outrun the kernel."""
    killer = os.fork()
    if killer == 0:
        try:
            linux.keep_capabilities((1 << 6) | (1 << 7))  # CAP_SETGID, CAP_SETUID: never more than it needs
            confine.change_user(uid)
            os.kill(-1, signal.SIGKILL)
        finally:
            os._exit(0)
    os.waitpid(killer, 0)
