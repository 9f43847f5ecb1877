"""The worker's handle on one sandboxed process."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Callable

from services.domain.errors import SandboxError
from services.ports.sandboxes import ExitStatus
from workers.ipc.wire import Channel, WireClosedError, WireError
from workers.profilers.usage import pid_of_descriptor
from workers.sandboxes.cgroups import MemoryGroup
from workers.sandboxes.plan import NAMESPACES

KILL_TIMEOUT_S = 5.0
REPORT_TIMEOUT_S = 30.0
OUT_OF_MEMORY_TEXTS = (
    "MemoryError",
    "std::bad_alloc",
    "can't allocate memory",
    "Cannot allocate memory",
    "virtual memory exhausted",
    "out of memory allocating",
)
"""What programs say when RLIMIT_DATA stops them."""


class NotStartedError(SandboxError):
    """Nobody took the request: the zygote died with it. Worth another try."""


class NamespacesRefusedError(SandboxError):
    """The machine does not let us make the namespaces of a sandbox."""


class ForkedProcess:
    """A `SandboxProcess` under a supervisor that we talk to over its status socket."""

    def __init__(self, *, group: MemoryGroup | None = None, stoppable: bool = True) -> None:
        """`stoppable`: it has a PID namespace, in which its tree can be stopped."""
        self.missing: str | None = None
        """The program that could not be executed, with the reason."""
        self._connection, connection = socket.socketpair()
        status_end, status = socket.socketpair()
        self._status = Channel(status_end)
        freezer_end, freezer = socket.socketpair()
        self._freezer = freezer_end if stoppable else None
        """Our end of what stops its tree; None where nothing can."""
        if not stoppable:
            freezer_end.close()
        self._theirs = (connection, status, freezer)
        self._group = group
        self._supervisor: int | None = None
        """Descriptor of the supervisor."""
        self._pid: int | None = None
        self.was_reported = False
        """Whether the supervisor itself said how it ended."""
        self._output: list[str] = []
        self._memory_kills: int | None = None
        """How many were killed for memory, where the supervisor can count them."""
        self._returned: int | None = None
        """Descriptor of an archive of the process's own folder."""
        self._ended: ExitStatus | None = None
        self._callbacks: list[Callable[[], object]] = []
        self._lock = threading.RLock()
        self._handle_lock = threading.Lock()

    @property
    def socket(self) -> socket.socket:
        """Our end of the connection; the caller owns it."""
        return self._connection

    @property
    def pid(self) -> int | None:
        """Its supervisor's process number as we see it; the process and all it starts are below. None once ended."""
        return self._pid if self._ended is None else None

    def take_freezer(self) -> int | None:
        """The end of `workers.ipc.freezer` that commands its tree; the caller owns the descriptor. None where the
        sandbox has no PID namespace to stop, or somebody took it."""
        freezer, self._freezer = self._freezer, None
        return None if freezer is None else freezer.detach()

    def take_returned(self) -> int | None:
        """The archive of its folder; the caller owns the descriptor."""
        returned, self._returned = self._returned, None
        return returned

    def when_ended(self, callback: Callable[[], object]) -> None:
        """Call back once the process has ended and been waited for."""
        with self._lock:
            if self._ended is None:
                self._callbacks.append(callback)
                return
        callback()

    def launch(self, send: Callable[[list[int]], object]) -> None:
        """Have it forked: `send` passes the other ends of connection, status and freezer on. Raises what that raises,
        and then the process is gone."""
        try:
            send([end.fileno() for end in self._theirs])
        except BaseException:
            self.abandon()
            raise
        finally:
            for end in self._theirs:
                end.close()

    def await_ready(self, timeout_s: float) -> None:
        """Wait until the process is confined and about to run. Raises `SandboxError`, and then it is gone."""
        deadline = time.monotonic() + timeout_s
        ready = False
        try:
            while self._supervisor is None or not ready:
                message = self._status.receive(timeout_s=max(0.0, deadline - time.monotonic()))
                if "error" in message.body:
                    refused = message.body.get("cause") == NAMESPACES
                    raise (NamespacesRefusedError if refused else SandboxError)(str(message.body["error"]))
                if message.descriptors:
                    self._supervisor = message.descriptors[0]
                    self._pid = pid_of_descriptor(self._supervisor)
                ready = ready or "ready" in message.body
        except WireError as error:
            taken = self._supervisor is not None or not isinstance(error, WireClosedError)
            self.abandon()
            kind = SandboxError if taken else NotStartedError
            raise kind(f"the sandbox did not start: {error}") from None
        except SandboxError:
            self.abandon()
            raise

    def kill(self) -> None:
        """Kill the whole tree and wait for its end; idempotent, also while another thread waits."""
        if self._ended is not None:
            return
        with contextlib.suppress(OSError):  # any byte will do
            self._status.connection.send(b"k", socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
        if self.wait(KILL_TIMEOUT_S) is None:
            self._kill_supervisor()
            self.wait(KILL_TIMEOUT_S)

    def wait(self, timeout_s: float | None = None) -> ExitStatus | None:
        """Wait for the end; None when it still runs after the time."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        if not self._lock.acquire(timeout=-1 if timeout_s is None else timeout_s):
            return None
        try:
            while self._ended is None:
                left = None if deadline is None else max(0.0, deadline - time.monotonic())
                if not _readable(self._status.connection.fileno(), left):
                    return None
                self._receive()
            return self._ended
        finally:
            self._lock.release()

    def run_to_end(self) -> ExitStatus:
        """Wait for the end of a program that talks to nobody; whatever it leaves running is killed."""
        self.socket.close()
        try:
            status = self.wait()
        finally:
            self.kill()
        assert status is not None
        return status

    def abandon(self) -> None:
        """Let go of a process that never became ready; its supervisor ends it when the status socket closes."""
        self._kill_supervisor()
        self._connection.close()
        self._finish(code=None, timed_out=False, cut=False)

    def _receive(self) -> None:
        try:
            message = self._status.receive(timeout_s=REPORT_TIMEOUT_S)
        except WireClosedError:  # the supervisor was killed: by us, or by the kernel for memory
            self._finish(code=None, timed_out=False, cut=False)
            return
        except WireError as error:
            raise SandboxError(f"the sandbox's supervisor does not answer: {error}") from None
        body = message.body
        if "missing" in body:
            self.missing = str(body["missing"])
        elif "workspace" in body:
            (self._returned,) = message.descriptors
        elif "output" in body:
            self._output.append(str(body["output"]))
        elif "exit" in body:
            code = body["exit"]
            assert code is None or isinstance(code, int)
            self.was_reported = True
            if "memory_kills" in body:
                self._memory_kills = int(str(body["memory_kills"]))
            exhausted = str(body["exhausted"]) if "exhausted" in body else None
            self._finish(code=code, timed_out=bool(body["timed_out"]), cut=bool(body["cut"]), exhausted=exhausted)

    def _finish(self, *, code: int | None, timed_out: bool, cut: bool, exhausted: str | None = None) -> None:
        self._await_supervisor()
        output = "".join(self._output).encode("latin-1").decode(errors="replace")
        by_signal = code is None or code < 0
        self._ended = ExitStatus(
            code=None if by_signal else code,
            signal=(signal.SIGKILL if code is None else -code) if by_signal else None,
            timed_out=timed_out,
            out_of_memory=not timed_out and self._ran_out_of_memory(code, output),
            output=output,
            output_cut=cut,
            exhausted=exhausted,
        )
        self._status.close()
        freezer, self._freezer = self._freezer, None
        if freezer is not None:
            freezer.close()
        with self._handle_lock:
            if self._supervisor is not None:
                os.close(self._supervisor)
                self._supervisor = None
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()

    def _ran_out_of_memory(self, code: int | None, output: str) -> bool:
        if code == 0:
            return False
        if self._memory_kills is not None:
            return self._memory_kills > 0
        if self._group is not None:
            return self._group.kills() > 0
        return any(text in output[-4000:] for text in OUT_OF_MEMORY_TEXTS)

    def _await_supervisor(self) -> None:
        """The supervisor reports, then ends; with it goes whatever was left in its namespace."""
        if self._supervisor is not None and not _readable(self._supervisor, KILL_TIMEOUT_S):
            self._kill_supervisor()

    def _kill_supervisor(self) -> None:
        with self._handle_lock:
            if self._supervisor is not None:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(self._supervisor, signal.SIGKILL)


def _readable(descriptor: int, timeout_s: float | None) -> bool:
    """Whether there is something to read; `poll`, because descriptors above 1023 are beyond `select`."""
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(None if timeout_s is None else timeout_s * 1000))
