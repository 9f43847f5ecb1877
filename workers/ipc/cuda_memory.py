"""Device memory that crosses processes by file descriptor, through CUDA's virtual memory management.

CUDA's older way (`cudaIpcGetMemHandle`, which `torch.multiprocessing` uses) works between processes of one user only.
What `cuMemCreate` makes can be exported as a descriptor, which crosses users and namespaces and gives access to these
bytes and no others. Memory of any size is made of pieces that are mapped one after the other: exportable memory pools
(`cudaMemPool_t`) end the importing process by SIGSEGV beyond 4 GiB (driver 580.159).

The driver's library is called directly: nothing but the standard library and torch is needed.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Sequence
from typing import Any

import torch

from services.domain.errors import InfrastructureError

PIECE_BYTES = 4 << 30
MAX_PIECES = 7
"""Of one block: two blocks' descriptors and some more go into one message."""
GRANULARITY = 2 << 20
_OUT_OF_MEMORY = 2
_PINNED, _POSIX_DESCRIPTOR, _ON_DEVICE, _READ_WRITE = 1, 1, 1, 3


class _Location(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_int), ("number", ctypes.c_int))


class _Properties(ctypes.Structure):
    """`CUmemAllocationProp`."""

    _fields_ = (
        ("kind", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", _Location),
        ("windows", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    )


class _Access(ctypes.Structure):
    """`CUmemAccessDesc`."""

    _fields_ = (("location", _Location), ("flags", ctypes.c_int))


class DeviceMemory:
    """Bytes on the first GPU in exportable pieces, mapped one after the other. Both sides see the same bytes."""

    def __init__(self, handles: Sequence[int], sizes: Sequence[int], descriptors: Sequence[int]) -> None:
        """Map allocations; whoever calls has given their handles away."""
        self.sizes = tuple(sizes)
        """Bytes of each piece."""
        self.descriptors = tuple(descriptors)
        """What the other process needs, one for each piece."""
        self.size = sum(sizes)
        self.address = _reserved(self.size)
        offset = 0
        for handle, size in zip(handles, sizes, strict=True):
            _call("cuMemMap", _u64(self.address + offset), _size(size), _size(0), _u64(handle), _u64(0))
            _call("cuMemRelease", _u64(handle))  # the mapping keeps it
            offset += size
        access = _Access(location=_Location(_ON_DEVICE, 0), flags=_READ_WRITE)
        _call("cuMemSetAccess", _u64(self.address), _size(self.size), ctypes.byref(access), _size(1))

    @classmethod
    def allocate(cls, size: int) -> DeviceMemory:
        """New memory of at least so many bytes, its content undefined. Raises `torch.OutOfMemoryError`."""
        sizes = piece_sizes(size)
        _ready()
        handles: list[int] = []
        try:
            handles.extend(_created(piece) for piece in sizes)
        except BaseException:
            for handle in handles:
                _call("cuMemRelease", _u64(handle))
            raise
        return cls(handles, sizes, [_exported(handle) for handle in handles])

    @classmethod
    def attach(cls, descriptors: Sequence[int], sizes: Sequence[int]) -> DeviceMemory:
        """The memory behind descriptors, which it closes with the memory. Raises `InfrastructureError`."""
        _ready()
        return cls([_imported(descriptor) for descriptor in descriptors], sizes, descriptors)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """How torch finds the bytes."""
        return {"shape": (self.size,), "typestr": "|u1", "data": (self.address, False), "version": 3}

    def bytes(self) -> torch.Tensor:
        """All of it as one uint8 tensor, without a copy."""
        return torch.as_tensor(self, device=torch.device("cuda", 0))

    def close(self) -> None:
        """Unmap it, once nobody's work uses it any more; the memory goes when no process maps it."""
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors = ()
        _call("cuMemUnmap", _u64(self.address), _size(self.size))
        _call("cuMemAddressFree", _u64(self.address), _size(self.size))


def piece_sizes(size: int) -> list[int]:
    """Bytes of the pieces that hold `size` bytes. Raises `InfrastructureError` for more than can cross."""
    whole = max(GRANULARITY, -(-size // GRANULARITY) * GRANULARITY)
    if whole > MAX_PIECES * PIECE_BYTES:
        raise InfrastructureError(
            f"{size >> 20} MiB of tensors in one set exceed the {MAX_PIECES * PIECE_BYTES >> 20} MiB that cross"
        )
    return [min(PIECE_BYTES, whole - start) for start in range(0, whole, PIECE_BYTES)]


def _created(size: int) -> int:
    handle = ctypes.c_uint64()
    wanted = _Properties(kind=_PINNED, handle_types=_POSIX_DESCRIPTOR, location=_Location(_ON_DEVICE, 0))
    made = _call("cuMemCreate", ctypes.byref(handle), _size(size), ctypes.byref(wanted), _u64(0), may_lack=True)
    if not made:
        raise torch.OutOfMemoryError(f"no {size >> 20} MiB of device memory to share")
    return handle.value


def _exported(handle: int) -> int:
    descriptor = ctypes.c_int(-1)
    _call("cuMemExportToShareableHandle", ctypes.byref(descriptor), _u64(handle), _POSIX_DESCRIPTOR, _u64(0))
    return descriptor.value


def _imported(descriptor: int) -> int:
    handle = ctypes.c_uint64()
    _call("cuMemImportFromShareableHandle", ctypes.byref(handle), ctypes.c_void_p(descriptor), _POSIX_DESCRIPTOR)
    return handle.value


def _reserved(size: int) -> int:
    address = ctypes.c_uint64()
    _call("cuMemAddressReserve", ctypes.byref(address), _size(size), _size(0), _u64(0), _u64(0))
    return address.value


def _call(name: str, *arguments: Any, may_lack: bool = False) -> bool:
    """Call the driver; False where it has not enough memory and that `may_lack`. Raises `InfrastructureError`."""
    code = getattr(_driver(), name)(*arguments)
    if code == _OUT_OF_MEMORY and may_lack:
        return False
    if code != 0:
        text = ctypes.c_char_p()
        _driver().cuGetErrorName(code, ctypes.byref(text))
        raise InfrastructureError(f"{name} failed: {(text.value or b'error').decode()} ({code})")
    return True


@functools.cache
def _driver() -> ctypes.CDLL:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise InfrastructureError(f"the NVIDIA driver's library cannot be loaded: {error}") from None


@functools.cache
def _ready() -> None:
    """Have torch make the device's primary context current, in which all of this works."""
    torch.cuda.synchronize()


def _u64(value: int) -> ctypes.c_uint64:
    return ctypes.c_uint64(value)


def _size(value: int) -> ctypes.c_size_t:
    return ctypes.c_size_t(value)
