"""One user of a GPU at a time among the workers of a node: what runs beside a measurement spoils it."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

from services.domain.errors import StorageError

POLL_S = 0.02


class DeviceLock:
    """A lock on a file named after the device. The kernel gives it back when its holder dies. One thread at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    @property
    def held(self) -> bool:
        """Whether we hold it."""
        return self._descriptor is not None

    def acquire(self, cancelled: Callable[[], bool] = lambda: False) -> float | None:
        """Wait for it; the seconds that took, or None when the caller `cancelled` first. Raises `StorageError`."""
        if self._descriptor is not None:
            return 0.0
        started, descriptor = time.monotonic(), self._open()
        try:
            while not _locked(descriptor):
                if cancelled():
                    os.close(descriptor)
                    return None
                time.sleep(POLL_S)
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        return time.monotonic() - started

    def release(self) -> None:
        """Give it back; nothing happens where it is not held."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def _open(self) -> int:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o660)
        except OSError as error:
            raise StorageError(f"cannot lock {self.path}: {error.strerror}") from None


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
