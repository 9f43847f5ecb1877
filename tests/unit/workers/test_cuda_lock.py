"""One worker at a time on a GPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from workers.devices.cards import Gpu
from workers.devices.gpu import lock_path
from workers.devices.gpu_lock import DeviceLock

HOLDER = """
import sys
from pathlib import Path
from workers.devices.gpu_lock import DeviceLock

DeviceLock(Path(sys.argv[1])).acquire()
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_worker_waits_until_the_first_is_done(tmp_path: Path) -> None:
    first, second = DeviceLock(tmp_path / "gpu.lock"), DeviceLock(tmp_path / "gpu.lock")
    assert first.acquire() is not None
    looks = iter([False, True])
    assert second.acquire(lambda: next(looks)) is None
    assert not second.held
    first.release()
    assert second.acquire(lambda: True) is not None
    assert second.held


def test_taking_it_twice_is_taking_it_once(tmp_path: Path) -> None:
    lock = DeviceLock(tmp_path / "gpu.lock")
    lock.acquire()
    assert lock.acquire() == 0.0
    lock.release()
    lock.release()
    assert DeviceLock(tmp_path / "gpu.lock").acquire(lambda: True) is not None


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


def test_each_card_has_a_lock_of_its_own(tmp_path: Path) -> None:
    gpus = [Gpu(name="h200", model="NVIDIA H200", driver="1", capability="9.0", uuid=f"GPU-{n}/x") for n in (1, 2)]
    paths = {lock_path(gpu, tmp_path) for gpu in gpus}
    assert len(paths) == 2
    assert {path.parent for path in paths} == {tmp_path / "devices"}
