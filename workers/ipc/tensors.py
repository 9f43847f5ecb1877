"""Tensors that cross processes by file descriptor: sealed memfd blocks, and plain data that refers to them.

Standard library and torch only. A block is sealed against shrinking and growing before it is sent, so that the other
side can neither cut the memory away under our feet (SIGBUS) nor let it grow without bound.
"""

from __future__ import annotations

import contextlib
import copy
import ctypes
import dataclasses
import fcntl
import inspect
import math
import mmap
import os
from collections import namedtuple
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import MemberDescriptorType
from typing import Any, Protocol

import torch

from workers.ipc.sparse import LAYOUTS, SparseForm, is_sparse, parts_of

ALIGNMENT = 64
APART = 4096
"""Bytes around tensors that lie apart: a page. On a CPU `ALIGNMENT` more, since what PyTorch allocates begins so far
into a page: by its address no kernel tells a caller's tensor from one of a timed call."""
MAX_DIMENSIONS = 64
MAX_DEPTH = 16
"""Nesting of what a model returns."""
POISON = 0xA5
"""A byte whose repetition no result has by chance."""
_SEALS = getattr(fcntl, "F_SEAL_SHRINK", 0x2) | getattr(fcntl, "F_SEAL_GROW", 0x4)
_ADD_SEALS = getattr(fcntl, "F_ADD_SEALS", 1033)
_DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.float32,
        torch.float64,
        torch.float16,
        torch.bfloat16,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.uint8,
        torch.bool,
        torch.complex64,
        torch.complex128,
        torch.float8_e4m3fn,
        torch.float8_e5m2,
    )
}


class DataError(ValueError):
    """A value cannot cross, or a description of one is not well formed."""


@dataclass(frozen=True, kw_only=True)
class TensorMeta:
    """Shape and dtype of one tensor, and where in a block it lies."""

    dtype: str
    """torch's name without the prefix."""
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    """In elements; None for a dense tensor, row by row."""
    at: int | None = None
    """Bytes from the beginning of its block; None for one that follows those before it."""

    @classmethod
    def of(cls, tensor: torch.Tensor) -> TensorMeta:
        """The description of a tensor."""
        return cls(dtype=str(tensor.dtype).removeprefix("torch."), shape=tuple(tensor.shape))

    @property
    def torch_dtype(self) -> torch.dtype:
        """torch's dtype. Raises `DataError` for one that cannot cross."""
        if self.dtype not in _DTYPES:
            raise DataError(f"tensors of dtype {self.dtype} are not supported; supported are {', '.join(_DTYPES)}")
        return _DTYPES[self.dtype]

    @property
    def end(self) -> int:
        """Bytes from the beginning of its block to its end, where `at` says where it begins."""
        return (self.at or 0) + extent_of(self.shape, self.strides or ()) * self.torch_dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of the dense tensor."""
        return self.torch_dtype.itemsize * math.prod(self.shape)

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


class Shared(Protocol):
    """Dense tensors in memory that two processes see, on the CPU or on a GPU."""

    metas: tuple[TensorMeta, ...]
    raw: torch.Tensor
    """All of it as bytes."""
    tensors: tuple[torch.Tensor, ...]

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What is sent to the other process, beside `handle`."""

    @property
    def handle(self) -> dict[str, Any]:
        """Plain JSON data that the other process needs beside the descriptors."""

    def write(self, tensors: Sequence[torch.Tensor]) -> None:
        """Copy tensors of the same shapes in."""

    def poison(self) -> None:
        """Overwrite everything with a pattern that no result has by chance."""

    def close(self) -> None:
        """Give the memory back."""


class Block:
    """Dense tensors in one shared memory block; both sides see the same bytes."""

    def __init__(self, descriptor: int, metas: Sequence[TensorMeta]) -> None:
        size = packed_size(metas)
        if os.fstat(descriptor).st_size < size:
            raise DataError("the block is smaller than its tensors")
        self.descriptor = descriptor
        self.metas = tuple(metas)
        flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
        self._memory = mmap.mmap(descriptor, size, flags=flags)
        self.raw = torch.frombuffer(self._memory, dtype=torch.uint8)
        self.tensors = tuple(packed_views(self.raw, self.metas))

    @classmethod
    def allocate(cls, metas: Sequence[TensorMeta]) -> Block:
        """A new zeroed block, sealed against changes of its size."""
        descriptor = os.memfd_create("kernelwright", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(descriptor, packed_size(metas))
        fcntl.fcntl(descriptor, _ADD_SEALS, _SEALS)
        return cls(descriptor, metas)

    @classmethod
    def holding(cls, tensors: Sequence[torch.Tensor]) -> Block:
        """A new block with copies of tensors."""
        block = cls.allocate([TensorMeta.of(tensor) for tensor in tensors])
        block.write(tensors)
        return block

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What is sent to the other process."""
        return (self.descriptor,)

    @property
    def handle(self) -> dict[str, Any]:
        """A descriptor says it all."""
        return {}

    def write(self, tensors: Sequence[torch.Tensor]) -> None:
        """Copy tensors of the same shapes in."""
        for target, tensor in zip(self.tensors, tensors, strict=True):
            put(target, tensor.detach())

    def poison(self) -> None:
        """Overwrite everything with a pattern that no result has by chance."""
        self.raw.fill_(POISON)

    @contextlib.contextmanager
    def read_only(self) -> Iterator[None]:
        """Have this process read the memory only: a write raises SIGSEGV."""
        _protect(self.raw, mmap.PROT_READ)
        try:
            yield
        finally:
            _protect(self.raw, mmap.PROT_READ | mmap.PROT_WRITE)

    def close(self) -> None:
        """Close the descriptor; the mapping goes with the last tensor."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


def _protect(raw: torch.Tensor, access: int) -> None:
    """Set what this process may do with the pages of a mapping."""
    if raw.numel():
        ctypes.CDLL(None).mprotect(ctypes.c_void_p(raw.data_ptr()), ctypes.c_size_t(raw.numel()), access)


def descriptors_of(descriptors: Sequence[int], handles: Sequence[Any], index: int) -> tuple[int, ...]:
    """Those of a message's descriptors that belong to its block `index`: one for each piece that a handle names."""
    counts = [_pieces(handle) for handle in handles]
    start = sum(counts[:index])
    return tuple(descriptors[start : start + counts[index]])


def _pieces(handle: Any) -> int:
    sizes = handle.get("sizes") if isinstance(handle, dict) else None
    return len(sizes) if isinstance(sizes, list) else 1


def encode(value: Any, tensors: list[torch.Tensor]) -> Any:
    """Plain JSON data of a value; its tensors are appended to `tensors` and referred to by index.

    Raises `DataError` for anything but numbers, strings, None, dtypes, tensors (sparse ones by their parts), lists,
    tuples (named ones too), dicts and dataclasses.
    """
    if isinstance(value, torch.Tensor):
        if is_sparse(value):
            return _encode_sparse(value, lambda part: encode(part, tensors))
        check_supported(value)
        tensors.append(value)
        return {"tensor": len(tensors) - 1}
    return _encode_plain(value, lambda item: encode(item, tensors))


def check_supported(tensor: torch.Tensor) -> None:
    """Raise `DataError`, with what is supported, for a dense tensor that cannot cross."""
    layout = "nested" if tensor.is_nested else str(tensor.layout).removeprefix("torch.")
    if layout != "strided":
        raise DataError(f"{layout} tensors are not supported; supported are strided, {', '.join(LAYOUTS)}")
    TensorMeta.of(tensor).torch_dtype  # noqa: B018 - raises for dtypes that cannot cross


def _encode_sparse(tensor: torch.Tensor, encode_part: Callable[[torch.Tensor], Any]) -> Any:
    return {"sparse": [SparseForm.of(tensor).data(), [encode_part(part) for part in parts_of(tensor)]]}


def _encode_plain(value: Any, encode_item: Callable[[Any], Any]) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return {"float": repr(value)}
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    if isinstance(value, dict):
        return {"dict": [[encode_item(key), encode_item(item)] for key, item in dict.items(value)]}
    fields = _fields(value)
    if fields is not None:
        kind = "named" if isinstance(value, tuple) else "record"
        return {kind: [[name, encode_item(item)] for name, item in fields.items()]}
    if isinstance(value, list | tuple):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [encode_item(item) for item in _items(value)]}
    raise DataError(f"a value of type {type(value).__name__} cannot be passed to a candidate")


def _items(value: list[Any] | tuple[Any, ...]) -> list[Any]:
    """What a list or tuple holds, whatever its class says of that."""
    return list(list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value))


def _fields(value: Any) -> dict[str, Any] | None:
    """The fields of a named tuple or dataclass with what they hold; None for anything else.

    Nothing of the value's class runs meanwhile: what an attribute would compute is no field. Raises `DataError` for a
    dataclass that holds less than its fields."""
    kind = type(value)
    if kind in (tuple, list):
        return None
    if isinstance(value, tuple):
        names, items = inspect.getattr_static(kind, "_fields", None), _items(value)
        is_named = type(names) is tuple and len(names) == len(items) and all(type(name) is str for name in names)
        return dict(zip(names, items, strict=True)) if is_named else None
    if not isinstance(inspect.getattr_static(kind, "__dataclass_fields__", None), dict):
        return None
    own = _own_attributes(value)
    found = {}
    for one in dataclasses.fields(kind):
        slot = inspect.getattr_static(kind, one.name, dataclasses.MISSING)
        if one.name in own:
            found[one.name] = own[one.name]
        elif isinstance(slot, MemberDescriptorType):
            found[one.name] = slot.__get__(value, kind)
        elif slot is not dataclasses.MISSING and not hasattr(type(slot), "__get__"):  # a default
            found[one.name] = slot
        else:
            raise DataError(f"a {kind.__name__} has no value of its own for `{one.name}`")
    return found


def _own_attributes(value: Any) -> dict[str, Any]:
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:  # its class has slots
        return {}
    return own if type(own) is dict else {}


def structure(value: Any, tensors: list[torch.Tensor], depth: int = 0) -> Any:
    """As `encode`, for what a model returned, of whose classes nothing runs. Never raises: what cannot cross is named
    as `{"other": its type}`."""
    if isinstance(value, torch.Tensor):
        if is_sparse(value):
            return _encode_sparse(value, lambda part: structure(part, tensors, depth + 1))
        tensors.append(value)
        return {"tensor": len(tensors) - 1}
    try:
        if depth < MAX_DEPTH:
            return _encode_plain(value, lambda item: structure(item, tensors, depth + 1))
    except DataError:
        pass
    return {"other": f"{type(value).__module__}.{type(value).__qualname__}"[:200]}


def check_structure(data: Any, tensors: int) -> None:
    """Raise `DataError` unless received data is what `structure` says of a value with so many dense tensors, each once
    and in order."""
    found: list[int] = []
    _check_part(data, found, 0)
    if found != list(range(tensors)):
        raise DataError("the tensors of a value are not described")


def _check_part(data: Any, found: list[int], depth: int) -> None:
    if data is None or isinstance(data, bool | int | str):
        return
    if not isinstance(data, dict) or len(data) != 1 or depth > MAX_DEPTH:
        raise DataError("not an encoded value")
    kind, content = next(iter(data.items()))
    parts: Sequence[Any] = ()
    if kind == "tensor" and type(content) is int:
        found.append(content)
    elif kind == "sparse" and _is_pair(content) and isinstance(content[1], list):
        SparseForm.parse(content[0])
        parts = content[1]
    elif kind in ("list", "tuple") and isinstance(content, list):
        parts = content
    elif kind in ("dict", "named", "record") and isinstance(content, list) and all(map(_is_pair, content)):
        parts = [part for pair in content for part in pair]
    elif kind not in ("float", "dtype", "other") or not isinstance(content, str):
        raise DataError(f"unknown kind {kind!r}")
    for part in parts:
        _check_part(part, found, depth + 1)


def _is_pair(content: Any) -> bool:
    return isinstance(content, list) and len(content) == 2


def decode(data: Any, tensors: Sequence[torch.Tensor]) -> Any:
    """The value that `encode` described; named tuples and dataclasses get a type of their own with the same fields.

    Raises `DataError`."""
    if not isinstance(data, dict):
        return data
    if len(data) != 1:
        raise DataError("not an encoded value")
    kind, content = next(iter(data.items()))
    if kind == "tensor":
        return tensors[content]
    if kind == "sparse":
        return SparseForm.parse(content[0]).tensor([decode(part, tensors) for part in content[1]])
    if kind == "float":
        return float(content)
    if kind == "dtype":
        return TensorMeta(dtype=content, shape=()).torch_dtype
    if kind in ("list", "tuple"):
        items = [decode(item, tensors) for item in content]
        return items if kind == "list" else tuple(items)
    if kind == "dict":
        return {decode(key, tensors): decode(item, tensors) for key, item in content}
    if kind in ("named", "record"):
        names = [str(name) for name, _ in content]
        make: Any = namedtuple if kind == "named" else dataclasses.make_dataclass
        return make("Inputs", names)(*[decode(item, tensors) for _, item in content])
    raise DataError(f"unknown kind {kind!r}")


def shares_memory(tensor: torch.Tensor) -> bool:
    """Whether elements lie in each other's place (expanded, or windows that overlap): who reads it writes it out."""
    extent = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1:
            if stride < extent:
                return tensor.numel() > 0
            extent += stride * (size - 1)
    return False


def overlap(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two strided tensors have an element in the same place: halves of one row do not, windows of it may."""
    size = one.element_size()
    if one.numel() == 0 or other.numel() == 0 or size != other.element_size():
        return False
    steps: dict[int, tuple[int, int]] = {}
    for tensor, sign in ((one, 1), (other, -1)):
        for stride, count in zip(tensor.stride(), tensor.shape, strict=True):
            low, high = steps.get(stride, (0, 0))
            steps[stride] = (low, high + count - 1) if sign > 0 else (low - count + 1, high)
    apart, rest = divmod(other.data_ptr() - one.data_ptr(), size)
    return rest == 0 and _is_reached(apart, sorted(steps.items(), reverse=True))


def _is_reached(distance: int, steps: Sequence[tuple[int, tuple[int, int]]]) -> bool:
    """Whether a distance is a sum of strides, each taken as often as its bounds permit; largest strides first."""
    if not steps:
        return distance == 0
    (stride, (low, high)), smaller = steps[0], steps[1:]
    if stride == 0:
        return distance == 0
    least = sum(step * bounds[0] for step, bounds in smaller)
    most = sum(step * bounds[1] for step, bounds in smaller)
    first, last = max(low, -(-(distance - most) // stride)), min(high, (distance - least) // stride)
    return any(_is_reached(distance - stride * count, smaller) for count in range(first, last + 1))


def arranged(tensors: Sequence[torch.Tensor], *, is_apart: bool = False) -> list[TensorMeta]:
    """Descriptions by which tensors lie in a block as they lie now: with their strides, and those of one storage where
    they lie in it. Plain ones where all are dense, each in memory of its own.

    With `is_apart`, there are at least `APART` bytes before, between and after the storages, and none are plain."""
    keys = [tensor.untyped_storage().data_ptr() if tensor.numel() else -index for index, tensor in enumerate(tensors)]
    storages: dict[int, list[torch.Tensor]] = {}
    for key, tensor in zip(keys, tensors, strict=True):
        storages.setdefault(key, []).append(tensor)
    if not is_apart and len(storages) == len(tensors) and all(tensor.is_contiguous() for tensor in tensors):
        return [TensorMeta.of(tensor) for tensor in tensors]
    gap = 0 if not is_apart else APART if any(tensor.is_cuda for tensor in tensors) else APART + ALIGNMENT
    begins, offset = {}, gap
    for key, views in storages.items():
        first = min(view.data_ptr() for view in views) // ALIGNMENT * ALIGNMENT
        begins[key] = offset - first
        last = max(view.data_ptr() + extent_of(view.shape, view.stride()) * view.element_size() for view in views)
        offset += _aligned(last - first) + gap
    return [
        dataclasses.replace(TensorMeta.of(view), strides=tuple(view.stride()), at=begins[key] + view.data_ptr())
        for key, view in zip(keys, tensors, strict=True)
    ]


def relaid(values: Sequence[torch.Tensor], like: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Values laid out as other tensors of the same shapes: themselves where those are dense and apart, else copies with
    the same strides and shared storages."""
    metas = arranged(like)
    if all(meta.at is None for meta in metas):
        return list(values)
    views = packed_views(torch.zeros(packed_size(metas), dtype=torch.uint8, device=like[0].device), metas)
    for view, value in zip(views, values, strict=True):
        put(view, value)
    return views


def base_of(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor without its repetitions: its expanded dimensions have one element."""
    for dimension, (stride, size) in enumerate(zip(tensor.stride(), tensor.shape, strict=True)):
        if stride == 0 and size > 1:
            tensor = tensor.narrow(dimension, 0, 1)
    return tensor


def put(target: torch.Tensor, values: torch.Tensor) -> None:
    """Copy values of the same shape in. Of those that share a place in an expanded tensor, the first counts."""
    place = base_of(target)
    for dimension, (kept, size) in enumerate(zip(place.shape, values.shape, strict=True)):
        if kept != size:
            values = values.narrow(dimension, 0, kept)
    place.copy_(values)


def extent_of(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Elements from the first to the last place of a tensor."""
    if 0 in shape:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))


def begins_in(tensor: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether a tensor's first element lies between another one's first and last place in memory."""
    extent = extent_of(other.shape, other.stride()) * other.element_size()
    return 0 <= tensor.data_ptr() - other.data_ptr() < extent


def flatten(value: Any) -> list[torch.Tensor]:
    """The dense tensors of a nested value, in order; of sparse tensors their parts."""
    found: list[torch.Tensor] = []
    structure(value, found)
    return found


def mapped(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """A nested value with its tensors replaced, in the order of `flatten`."""

    def changed(_: str, leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        if is_sparse(leaf):
            return SparseForm.of(leaf).tensor([change(part) for part in parts_of(leaf)])
        return change(leaf)

    return _with_changed(value, changed, "")


def leaves(value: Any) -> list[tuple[str, Any]]:
    """The tensors and plain values of a nested value, in order, each behind the text that leads to it: `[0].scale`."""
    found: list[tuple[str, Any]] = []

    def noted(path: str, leaf: Any) -> Any:
        found.append((path, leaf))
        return leaf

    _with_changed(value, noted, "")
    return found


def with_leaves(value: Any, others: Sequence[Any]) -> Any:
    """A nested value with all its leaves replaced, in the order of `leaves`."""
    following = iter(others)
    return _with_changed(value, lambda *_: next(following), "")


def _with_changed(value: Any, change: Callable[[str, Any], Any], path: str) -> Any:
    """A nested value with each leaf replaced by what `change` makes of the way to it and of itself."""
    if isinstance(value, torch.Tensor):
        return change(path, value)
    if isinstance(value, dict):
        return {key: _with_changed(item, change, f"{path}[{key!r}]") for key, item in dict.items(value)}
    fields = _fields(value)
    if fields is not None:
        items = [_with_changed(item, change, f"{path}.{name}") for name, item in fields.items()]
        if isinstance(value, tuple):
            return tuple.__new__(type(value), items)
        other = copy.copy(value)
        for name, item in zip(fields, items, strict=True):
            object.__setattr__(other, name, item)  # a frozen one too
        return other
    if isinstance(value, list | tuple):
        parts = [_with_changed(item, change, f"{path}[{index}]") for index, item in enumerate(_items(value))]
        return parts if isinstance(value, list) else tuple(parts)
    return change(path, value)


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def packed_size(metas: Sequence[TensorMeta]) -> int:
    """Bytes of a block that holds such tensors."""
    following = sum(_aligned(meta.nbytes) for meta in metas if meta.at is None)
    placed = [meta for meta in metas if meta.at is not None]
    after = APART if placed and min(meta.at or 0 for meta in placed) >= APART else 0
    return max(mmap.PAGESIZE, following, *(meta.end + after for meta in placed), 0)


def packed_views(raw: torch.Tensor, metas: Sequence[TensorMeta]) -> list[torch.Tensor]:
    """The tensors that lie in a block's bytes."""
    views, offset = [], 0
    for meta in metas:
        if meta.at is not None:
            views.append(raw[meta.at : meta.end].view(meta.torch_dtype).as_strided(meta.shape, meta.strides or ()))
            continue
        dense = raw[offset : offset + meta.nbytes].view(meta.torch_dtype)
        views.append(dense.view(meta.shape))
        offset += _aligned(meta.nbytes)
    return views
