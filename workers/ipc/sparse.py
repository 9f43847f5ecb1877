"""Sparse tensors as the dense ones that they are made of: indices and values.

Everything that happens to a value (copies, draws, comparison) happens to its dense parts; only whoever calls a model
puts them together. The parts share memory with the whole.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

BY_ROW = frozenset({torch.sparse_csr, torch.sparse_bsr})
BY_COLUMN = frozenset({torch.sparse_csc, torch.sparse_bsc})
LAYOUTS = {str(layout).removeprefix("torch."): layout for layout in (torch.sparse_coo, *BY_ROW, *BY_COLUMN)}


@dataclass(frozen=True, kw_only=True)
class SparseForm:
    """What a sparse tensor is beside its parts."""

    layout: str
    """torch's name without the prefix: `sparse_csr`."""
    shape: tuple[int, ...]
    coalesced: bool
    """Of coordinates (`sparse_coo`): whether they are known to be in order and different."""

    @classmethod
    def of(cls, tensor: torch.Tensor) -> SparseForm:
        """The form of a sparse tensor."""
        coalesced = tensor.layout is torch.sparse_coo and tensor.is_coalesced()
        name = str(tensor.layout).removeprefix("torch.")
        return cls(layout=name, shape=tuple(tensor.shape), coalesced=coalesced)

    @classmethod
    def parse(cls, data: Any) -> SparseForm:
        """The form in a description. Raises `ValueError`."""
        if not isinstance(data, list) or len(data) != 3 or data[0] not in LAYOUTS or not isinstance(data[1], list):
            raise ValueError("not the form of a sparse tensor")
        return cls(layout=data[0], shape=tuple(int(size) for size in data[1]), coalesced=data[2] is True)

    def data(self) -> list[Any]:
        """Plain JSON data."""
        return [self.layout, list(self.shape), self.coalesced]

    def tensor(self, parts: Sequence[torch.Tensor]) -> torch.Tensor:
        """The sparse tensor of these parts, which it shares memory with. It has as many rows as they tell of; nothing
        else is checked."""
        if self.layout == "sparse_coo":
            places, values = parts
            return torch.sparse_coo_tensor(
                places, values, self.shape, check_invariants=False, is_coalesced=self.coalesced or None
            )
        starts, indices, values = parts
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch calls these layouts beta
            return torch.sparse_compressed_tensor(
                starts,
                indices,
                values,
                self._shape_with(starts, values),
                layout=LAYOUTS[self.layout],
                check_invariants=False,
            )

    def _shape_with(self, starts: torch.Tensor, values: torch.Tensor) -> tuple[int, ...]:
        """The shape with as many rows (of CSC and BSC columns) as there are starts."""
        if starts.dim() != 1:  # a batch of matrices
            return self.shape
        side = 0 if LAYOUTS[self.layout] in BY_ROW else 1
        count = (starts.numel() - 1) * (values.shape[1 + side] if "bs" in self.layout else 1)
        return (count, *self.shape[1:]) if side == 0 else (self.shape[0], count, *self.shape[2:])


def is_sparse(tensor: torch.Tensor) -> bool:
    """Whether a tensor is kept as indices and values."""
    return type(tensor) is torch.Tensor and tensor.layout in LAYOUTS.values()


def holds_sparse(described: Any) -> bool:
    """Whether a value that `workers.ipc.tensors.structure` described holds a sparse tensor."""
    if isinstance(described, dict):
        return "sparse" in described or any(map(holds_sparse, described.values()))
    return isinstance(described, list) and any(map(holds_sparse, described))


def parts_of(tensor: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The dense tensors that a sparse one is made of, indices first."""
    if tensor.layout is torch.sparse_coo:
        return tensor._indices(), tensor._values()
    if tensor.layout in BY_ROW:
        return tensor.crow_indices(), tensor.col_indices(), tensor.values()
    return tensor.ccol_indices(), tensor.row_indices(), tensor.values()
