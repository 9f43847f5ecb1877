"""`kernelwright worker --device all`: one worker per card, each in a process of its own that is kept running."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from services.domain.errors import ConfigurationError
from workers.sandboxes.linux import die_with_parent

if TYPE_CHECKING:
    from workers.devices.cards import Gpu

log = logging.getLogger(__name__)
REFUSED = 2
"""Exit code of a worker that must not or cannot start here."""
POLL_S = 0.1
PAUSE_S = 5.0
"""Pause before a worker is restarted; doubles each time, up to a minute."""
LONGEST_PAUSE_S = 60.0
STEADY_S = 60.0
"""A worker that has run for this long is restarted after the shortest pause."""


def every_card() -> tuple[Gpu, ...]:
    """The cards that this process may use. Raises `ConfigurationError` where there is none."""
    from workers.devices.cards import usable_gpus

    gpus = usable_gpus()
    if not gpus:
        raise ConfigurationError(
            "--device all starts a worker for each NVIDIA GPU, but this machine has none that answers and is not split "
            "into MIG slices: kernelwright doctor shows what was found"
        )
    return tuple(gpus)


def work_on_every_card(gpus: Sequence[Gpu], arguments: Sequence[str], *, metrics_port: int, again: bool) -> int:
    """Run a worker on each card until told to stop; the worst of their exit codes.

    `arguments` are those of each worker beside its device. `again`: one that ends is started again. Workers serve
    metrics on `metrics_port` and the ports after it."""
    workers = [
        CardWorker(str(gpu), command_for(gpu, arguments), environment_for(gpu, metrics_port, position))
        for position, gpu in enumerate(gpus)
    ]
    crew = Crew(workers, again=again)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: crew.stop())
    return crew.run()


def command_for(gpu: Gpu, arguments: Sequence[str]) -> list[str]:
    """How one card's worker is started."""
    return [sys.executable, "-m", "kernelwright", "worker", "--device", gpu.name, *arguments]


def environment_for(gpu: Gpu, metrics_port: int, position: int) -> dict[str, str]:
    """The environment that ties a worker to its card."""
    port = {"KERNELWRIGHT_METRICS_PORT": str(metrics_port + position)} if metrics_port else {}
    return {**os.environ, "KERNELWRIGHT_GPU": gpu.uuid, **port}


class CardWorker:
    """One card's worker process, started again when it ends."""

    def __init__(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.name = name
        self.code: int | None = None
        """Exit code of its last process."""
        self.was_steady = False
        """Whether any of its processes ran for at least `STEADY_S`."""
        self._command = list(command)
        self._environment = dict(environment)
        self._process: subprocess.Popen[bytes] | None = None
        self._began = 0.0
        self._pause_s = PAUSE_S
        self._next = 0.0
        """When it may be started again, on the monotonic clock."""

    @property
    def lives(self) -> bool:
        """Whether it runs."""
        return self._process is not None

    @property
    def is_due(self) -> bool:
        """Whether it may be started (again) now."""
        return self._process is None and time.monotonic() >= self._next

    def start(self) -> None:
        """Start it; it is told to stop when this process ends, in whatever way."""
        self._began = time.monotonic()
        self._process = subprocess.Popen(
            self._command,
            env=self._environment,
            preexec_fn=_end_with_parent,
            start_new_session=True,  # Ctrl C reaches it through us, once
        )
        log.info("a worker on %s runs as process %d", self.name, self._process.pid)

    def look(self) -> None:
        """See whether it has ended, and when it may be started again."""
        if self._process is None or (code := self._process.poll()) is None:
            return
        lived_s = time.monotonic() - self._began
        self._process, self.code = None, code
        if lived_s >= STEADY_S:
            self.was_steady, self._pause_s = True, PAUSE_S
        self._next = time.monotonic() + self._pause_s
        log.log(
            logging.INFO if code == 0 else logging.WARNING, "the worker on %s ended with exit code %d", self.name, code
        )
        self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)

    def tell(self, number: int) -> None:
        """Send it a signal."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)


class Crew:
    """The workers of a node's cards."""

    def __init__(self, workers: Sequence[CardWorker], *, again: bool) -> None:
        self._workers = workers
        self._again = again
        self._stopping = threading.Event()

    def run(self) -> int:
        """Keep them running until `stop`, or until each has ended by itself; the worst exit code."""
        for worker in self._workers:
            worker.start()
        while True:
            for worker in self._workers:
                worker.look()
            if not any(worker.lives for worker in self._workers) and self._is_over():
                return max(abs(worker.code or 0) for worker in self._workers)
            if self._again and not self._stopping.is_set():
                for worker in self._workers:
                    if worker.is_due:
                        worker.start()
            time.sleep(POLL_S)

    def stop(self) -> None:
        """Tell all of them to stop; called twice, they are told twice, as by two signals."""
        self._stopping.set()
        for worker in self._workers:
            worker.tell(signal.SIGTERM)

    def _is_over(self) -> bool:
        """Whether nothing is left to be started: we were told so, or every worker refuses this machine."""
        refused = all(worker.code == REFUSED and not worker.was_steady for worker in self._workers)
        return not self._again or self._stopping.is_set() or refused


def _end_with_parent() -> None:
    die_with_parent(signal.SIGTERM)
