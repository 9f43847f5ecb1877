"""Where tensors live and how work there is waited for: the one seam between judging on the CPU and on a GPU."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Sequence
from typing import Any

import torch

from services.domain.devices import CPU
from services.domain.errors import InfrastructureError
from workers.ipc.tensors import Block, DataError, Shared, TensorMeta

MAX_HOST_THREADS = 8
M_TRIM_THRESHOLD, M_MMAP_MAX, M_PERTURB = -1, -4, -6
CANARY = 1 << 22


class TensorDevice:
    """The CPU: memory by memfd, work that is done when a call returns."""

    is_gpu = False

    def __init__(self) -> None:
        self.device = torch.device("cpu")

    def allocate(self, metas: Sequence[TensorMeta]) -> Shared:
        """A new zeroed block."""
        return Block.allocate(metas)

    def attach(self, descriptors: Sequence[int], handle: Any, metas: Sequence[TensorMeta]) -> Shared:  # noqa: ARG002
        """A block that another process made. Raises `DataError`."""
        return Block(only(descriptors), metas)

    def holding(self, tensors: Sequence[torch.Tensor]) -> Shared:
        """A new block with copies of tensors."""
        return Block.holding(tensors)

    def synchronize(self) -> None:
        """Wait until all work of this process on the device is done."""

    def release(self) -> None:
        """Give freed memory back to other processes."""

    def spare(self) -> None:
        """The same where it is much: not much time goes by until it is wanted again."""

    def check_health(self) -> None:
        """Have the device compute something known. Raises `InfrastructureError`."""

    def free_bytes(self) -> int | None:
        """Memory that new processes find on the device; None where that is not its own."""
        return None

    def forget_peak(self) -> None:
        """Begin to look for the most memory in use at once."""

    def peak_bytes(self) -> int:
        """The most memory of this process in use at once since then; 0 where it is not counted."""
        return 0

    def host_threads(self, units: int) -> int:
        """Threads for the host's own parallel work on a device of so many units."""
        return units

    def prepare(self) -> None:
        """Set what must be equal for reference, baselines and candidates.

        Freed memory is kept: left to itself, glibc gives blocks of megabytes back or reuses them depending on what was
        freed before, and the page faults of a fresh block cost up to four times the kernel that fills it."""
        keep_freed_memory()


class CudaTensorDevice(TensorDevice):
    """The current GPU: memory by exportable pools, work that must be waited for."""

    is_gpu = True

    def __init__(self) -> None:
        from workers.ipc.cuda_tensors import CudaBlock, make_room

        self._blocks, self._make_room = CudaBlock, make_room
        self._wait = torch._C._cuda_synchronize  # bound now: a candidate may replace torch.cuda.synchronize
        self.device = torch.device("cuda", 0)
        self._before = 0
        torch.cuda.init()  # type: ignore[no-untyped-call]

    def allocate(self, metas: Sequence[TensorMeta]) -> Shared:
        """A new zeroed block of device memory; of plain memory when there is nothing to hold."""
        return self._blocks.allocate(metas) if metas else Block.allocate(metas)

    def attach(self, descriptors: Sequence[int], handle: Any, metas: Sequence[TensorMeta]) -> Shared:
        """A block that another process made. Raises `DataError`."""
        return self._blocks.attach(descriptors, handle, metas) if handle else Block(only(descriptors), metas)

    def holding(self, tensors: Sequence[torch.Tensor]) -> Shared:
        """A new block with copies of tensors."""
        return self._blocks.holding(tensors) if tensors else Block.holding(tensors)

    def synchronize(self) -> None:
        """Wait for the whole device, side streams too. Raises what CUDA says of work that failed."""
        self._wait()

    def release(self) -> None:
        """Give freed memory back to other processes."""
        torch.cuda.empty_cache()

    def spare(self) -> None:
        """The same where it is much, or little is left."""
        self._make_room(0)

    def check_health(self) -> None:
        """The canary: a kernel with a known result. Raises `InfrastructureError`."""
        try:
            count = torch.arange(CANARY, device=self.device, dtype=torch.float64)
            found = float((2.0 * count + 1.0).sum())
        except RuntimeError as error:
            raise InfrastructureError(f"the GPU does not work any more: {error}") from None
        if found != float(CANARY) ** 2:
            raise InfrastructureError(f"the GPU computes wrongly: the sum of {CANARY} odd numbers came out as {found}")

    def free_bytes(self) -> int | None:
        """What all processes together leave."""
        torch.cuda.empty_cache()
        return int(torch.cuda.mem_get_info()[0])

    def forget_peak(self) -> None:
        """Begin to look for the most memory in use at once."""
        torch.cuda.reset_peak_memory_stats()
        self._before = torch.cuda.memory_allocated()

    def peak_bytes(self) -> int:
        """The most memory that was in use beside what there was at the beginning."""
        return int(torch.cuda.max_memory_allocated()) - self._before

    def host_threads(self, units: int) -> int:  # noqa: ARG002 - multiprocessors are not the host's cores
        """A few of the host's cores."""
        return max(1, min(MAX_HOST_THREADS, len(os.sched_getaffinity(0))))

    def prepare(self) -> None:
        """TF32 off everywhere: fp32 problems are computed in fp32 by all sides."""
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False


def keep_freed_memory() -> None:
    """Have glibc reuse large blocks, as torch's own allocator does on GPUs."""
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        libc.mallopt(M_MMAP_MAX, 0)
        libc.mallopt(M_TRIM_THRESHOLD, 1 << 30)


def only(descriptors: Sequence[int]) -> int:
    """The descriptor of a block in host memory. Raises `DataError` where there is not exactly one."""
    if len(descriptors) != 1:
        raise DataError(f"a block in host memory has one descriptor, not {len(descriptors)}")
    return descriptors[0]


def place_of(device: str) -> TensorDevice:
    """The place that a device's name stands for: `cpu`, or any GPU's."""
    return TensorDevice() if device == CPU else CudaTensorDevice()
