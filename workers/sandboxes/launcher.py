"""The worker's side of the zygote: starts it, sends it requests, starts it again when it died."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence

from services.domain.errors import SandboxError
from services.domain.events import JsonValue
from workers.ipc.wire import Channel, WireError
from workers.sandboxes.environment import program_root
from workers.sandboxes.plan import BASE_PATH

WARM_TIMEOUT_S = 120.0
CLOSE_TIMEOUT_S = 5.0
PROGRAM = "import sys; sys.path.insert(0, {root!r}); from workers.sandboxes.zygote import main; main({fd}, {preload!r})"
ENVIRONMENT = {
    "PATH": BASE_PATH,
    "LANG": "C.UTF-8",
    "OMP_WAIT_POLICY": "passive",  # libgomp reads it when torch is imported; pools that spin ruin timings on few cores
    "OPENBLAS_NUM_THREADS": "1",  # numpy's OpenBLAS starts threads when imported; the zygote stays single-threaded
}


class Zygote:
    """One zygote process at a time; safe to use from several threads."""

    def __init__(self, preload: Sequence[str] = ()) -> None:
        self.description: dict[str, JsonValue] = {}
        """What the zygote said about its torch when it became warm."""
        self._preload = tuple(preload)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: Channel | None = None
        self._log: int | None = None
        self._warm = False

    @property
    def pid(self) -> int | None:
        """Process number of the running zygote."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start it unless it runs; does not wait until it is warm."""
        with self._lock:
            self._start()

    def request(self, body: Mapping[str, JsonValue], descriptors: Sequence[int]) -> None:
        """Send one request, starting the zygote (again) where needed. Raises `SandboxError`."""
        with self._lock:
            for attempt in (1, 2):
                try:
                    self._send(body, descriptors)
                except WireError as error:
                    log = self._stop()
                    if attempt == 2:
                        raise SandboxError(f"the zygote does not start: {error}. {log}".strip()) from None
                else:
                    return

    def close(self) -> None:
        """End the zygote."""
        with self._lock:
            self._stop()

    def _send(self, body: Mapping[str, JsonValue], descriptors: Sequence[int]) -> None:
        self._start()
        assert self._channel is not None
        if not self._warm:
            self.description = self._channel.receive(timeout_s=WARM_TIMEOUT_S).body
            self._warm = True
        self._channel.send(body, descriptors)

    def _start(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self._stop()
        ours, theirs = socket.socketpair()
        self._log = os.memfd_create("zygote-log")
        program = PROGRAM.format(root=str(program_root()), fd=theirs.fileno(), preload=self._preload)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", program],
                env=ENVIRONMENT,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            raise SandboxError(f"cannot start the zygote: {error}") from None
        finally:
            theirs.close()
        self._channel, self._warm = Channel(ours), False

    def _stop(self) -> str:
        """End it; returns the last it wrote to standard error."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(CLOSE_TIMEOUT_S if self._warm else 0)
            self._process.kill()
            self._process.wait()
            self._process = None
        if self._log is None:
            return ""
        size = os.fstat(self._log).st_size
        text = os.pread(self._log, 2000, max(0, size - 2000)).decode(errors="replace")
        os.close(self._log)
        self._log = None
        return text
