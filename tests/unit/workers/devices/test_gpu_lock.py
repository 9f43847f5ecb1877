"""One worker at a time on a GPU."""

from __future__ import annotations

from pathlib import Path

from workers.devices.cards import Gpu
from workers.devices.gpu import lock_path
from workers.devices.gpu_lock import DeviceLock


def test_taking_it_twice_is_taking_it_once(tmp_path: Path) -> None:
    lock = DeviceLock(tmp_path / "gpu.lock")
    lock.acquire()
    assert lock.acquire() == 0.0
    lock.release()
    lock.release()
    assert DeviceLock(tmp_path / "gpu.lock").acquire(lambda: True) is not None


def test_each_card_has_a_lock_of_its_own(tmp_path: Path) -> None:
    gpus = [Gpu(name="h200", model="NVIDIA H200", driver="1", capability="9.0", uuid=f"GPU-{n}/x") for n in (1, 2)]
    paths = {lock_path(gpu, tmp_path) for gpu in gpus}
    assert len(paths) == 2
    assert {path.parent for path in paths} == {tmp_path / "devices"}
