"""Tensors that cross to another process and back by copy, through one block of memory that both processes keep.

Whoever receives them has copies of its own: the other process cannot change them any more. They lie in memory as they
lay: with their strides, and in one storage where they shared one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from workers.ipc.tensors import (
    ALIGNMENT,
    MAX_DIMENSIONS,
    DataError,
    TensorMeta,
    arranged,
    packed_size,
    packed_views,
    put,
)

MOST_ELEMENTS = 1 << 48


@dataclass(frozen=True, kw_only=True)
class Packed:
    """Where tensors lie in a block."""

    metas: tuple[TensorMeta, ...] = ()
    storages: tuple[int, ...] = ()
    """For each tensor a number that those of one storage have in common."""

    @classmethod
    def of(cls, tensors: Sequence[torch.Tensor]) -> Packed:
        """A place for each of some dense tensors."""
        numbers: dict[int, int] = {}
        storages = [numbers.setdefault(tensor.untyped_storage().data_ptr(), len(numbers)) for tensor in tensors]
        return cls(metas=tuple(arranged(tensors)), storages=tuple(storages))

    @property
    def size(self) -> int:
        """Bytes of the block. Raises `DataError` for a description that no tensors have."""
        if len(self.storages) != len(self.metas):
            raise DataError("every tensor has a storage")
        for meta in self.metas:
            _check(meta)
        if any((meta.at is None) != (self.metas[0].at is None) for meta in self.metas):
            raise DataError("all tensors are placed in a block, or none")
        return packed_size(self.metas) if self.metas else 0

    def write(self, raw: torch.Tensor, tensors: Sequence[torch.Tensor]) -> None:
        """Copy the tensors into a block's bytes."""
        for place, tensor in zip(packed_views(raw, self.metas), tensors, strict=True):
            put(place, tensor.detach())

    def read(self, raw: torch.Tensor) -> list[torch.Tensor]:
        """Copies of the tensors in a block's bytes. Raises `DataError`."""
        if self.size > raw.numel():
            raise DataError("the tensors do not fit into the block")
        try:
            if all(meta.at is None for meta in self.metas):
                return [view.clone() for view in packed_views(raw, self.metas)]
            storages = {number: self._storage(raw, number) for number in set(self.storages)}
            return [_view(*storages[number], meta) for number, meta in zip(self.storages, self.metas, strict=True)]
        except RuntimeError as error:  # sizes and strides that torch refuses
            raise DataError(f"a tensor is described wrongly: {error}") from None

    def _storage(self, raw: torch.Tensor, number: int) -> tuple[torch.Tensor, int]:
        """A copy of one storage's bytes, and where they began."""
        own = [meta for meta, storage in zip(self.metas, self.storages, strict=True) if storage == number]
        begin = min(meta.at or 0 for meta in own) // ALIGNMENT * ALIGNMENT
        return raw[begin : max(meta.end for meta in own)].clone(), begin


def _view(storage: torch.Tensor, begin: int, meta: TensorMeta) -> torch.Tensor:
    bytes_of_it = storage[(meta.at or 0) - begin : meta.end - begin]
    return bytes_of_it.view(meta.torch_dtype).as_strided(meta.shape, meta.strides or ())


def _check(meta: TensorMeta) -> None:
    """Raise `DataError` for a description that no tensor has."""
    strides = meta.strides or ()
    numbers = (*meta.shape, *strides, meta.at or 0)
    if len(meta.shape) > MAX_DIMENSIONS or not all(0 <= number < MOST_ELEMENTS for number in numbers):
        raise DataError("a tensor has sizes that none has")
    if meta.at is not None and len(strides) != len(meta.shape):
        raise DataError("a placed tensor has a stride for each dimension")
    if meta.nbytes >= MOST_ELEMENTS or (meta.at is not None and meta.end >= MOST_ELEMENTS):
        raise DataError("a tensor is too large")
