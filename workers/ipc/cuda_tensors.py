"""Tensors in GPU memory that two processes see: one block of exportable memory for each set.

Whoever has a block's descriptors may map all of it: so nothing that a runner must not see ever lies in one.
Needs torch with CUDA; nothing here is imported on machines without a GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from workers.ipc.cuda_memory import DeviceMemory
from workers.ipc.tensors import POISON, DataError, TensorMeta, packed_size, packed_views, put

KEPT_BYTES = 4 << 30
"""Freed memory that torch may keep to itself; more is given back before a block is made."""


class CudaBlock:
    """Dense tensors in one block of device memory; both sides see the same bytes."""

    def __init__(self, memory: DeviceMemory, metas: Sequence[TensorMeta]) -> None:
        if memory.size < packed_size(metas):
            raise DataError("the block is smaller than its tensors")
        self.metas = tuple(metas)
        self._memory: DeviceMemory | None = memory
        self.raw: torch.Tensor = memory.bytes()
        self.tensors = tuple(packed_views(self.raw, self.metas))

    @classmethod
    def allocate(cls, metas: Sequence[TensorMeta]) -> CudaBlock:
        """A new zeroed block. Raises `torch.OutOfMemoryError`, as torch's own allocations do."""
        size = packed_size(metas)
        make_room(size)
        block = cls(DeviceMemory.allocate(size), metas)
        block.raw.zero_()
        torch.cuda.synchronize()
        return block

    @classmethod
    def attach(cls, descriptors: Sequence[int], handle: Any, metas: Sequence[TensorMeta]) -> CudaBlock:
        """The block that another process made. Raises `DataError`."""
        sizes = handle.get("sizes") if isinstance(handle, dict) else None
        if not isinstance(sizes, list) or not all(type(size) is int and size > 0 for size in sizes):
            raise DataError("a block of device memory is described by the sizes of its pieces")
        if len(sizes) != len(descriptors):
            raise DataError("every piece of device memory needs a descriptor")
        return cls(DeviceMemory.attach(descriptors, sizes), metas)

    @classmethod
    def holding(cls, tensors: Sequence[torch.Tensor]) -> CudaBlock:
        """A new block with copies of tensors."""
        block = cls.allocate([TensorMeta.of(tensor) for tensor in tensors])
        block.write(tensors)
        return block

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What is sent to the other process, beside `handle`."""
        return () if self._memory is None else self._memory.descriptors

    @property
    def handle(self) -> dict[str, Any]:
        """What the other process needs beside the descriptors."""
        return {} if self._memory is None else {"sizes": list(self._memory.sizes)}

    def write(self, tensors: Sequence[torch.Tensor]) -> None:
        """Copy tensors of the same shapes in; done when it returns."""
        for target, tensor in zip(self.tensors, tensors, strict=True):
            put(target, tensor.detach())
        torch.cuda.synchronize()

    def poison(self) -> None:
        """Overwrite everything with a pattern that no result has by chance; done when it returns."""
        self.raw.fill_(POISON)
        torch.cuda.synchronize()

    def close(self) -> None:
        """Give the memory back, once nobody uses the tensors any more."""
        memory, self._memory = self._memory, None
        if memory is None:
            return
        torch.cuda.synchronize()
        self.tensors, self.raw = (), torch.empty(0, dtype=torch.uint8)
        memory.close()


def make_room(size: int) -> None:
    """Have torch give freed memory back when it holds much, or when little is left: other processes need it."""
    kept = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
    if kept > KEPT_BYTES or (kept and torch.cuda.mem_get_info()[0] < size + KEPT_BYTES):
        torch.cuda.empty_cache()
