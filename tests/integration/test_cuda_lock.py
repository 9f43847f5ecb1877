"""A GPU's lock is waited for, and goes with the process that held it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from workers.devices.gpu_lock import DeviceLock

pytestmark = pytest.mark.integration


HOLDER = """
import sys
from pathlib import Path
from workers.devices.gpu_lock import DeviceLock

DeviceLock(Path(sys.argv[1])).acquire()
print("held", flush=True)
sys.stdin.read()
"""


def test_a_killed_worker_leaves_no_lock_behind(tmp_path: Path) -> None:
    path = tmp_path / "devices" / "gpu.lock"
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        lock = DeviceLock(path)
        assert lock.acquire(lambda: True) is None
        holder.kill()
    assert lock.acquire() is not None
    lock.release()


def test_a_second_worker_waits_until_the_first_is_done(tmp_path: Path) -> None:
    first, second = DeviceLock(tmp_path / "gpu.lock"), DeviceLock(tmp_path / "gpu.lock")
    assert first.acquire() is not None
    looks = iter([False, True])
    assert second.acquire(lambda: next(looks)) is None
    assert not second.held
    first.release()
    assert second.acquire(lambda: True) is not None
    assert second.held
