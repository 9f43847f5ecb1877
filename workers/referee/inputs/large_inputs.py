"""What is different where a call's tensors take a good part of a GPU's memory.

Judging needs them several times: in the candidate's process, in the baseline's, and in the referee as inputs, as what
was returned and as what was expected. From `LARGE_BYTES` on a process that is not at work gives its memory back, a
batch is one call, and how exact the reference is in float64 is measured on a part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from workers.ipc.placement import TensorDevice
from workers.ipc.tensors import TensorMeta, flatten
from workers.referee.inputs.distributions import rebuilt
from workers.referee.inputs.float8 import is_eight_bit
from workers.referee.inputs.resize import resized
from workers.referee.inputs.value_structure import has_zeros_in_place, is_symmetric

LARGE_BYTES = 3 << 30
"""Inputs and outputs of a call from which on memory is given back between the steps of an evaluation."""
EXACT_BYTES = 2 << 30
"""The same up to which the reference is run in float64 as a whole: that takes about eight times as much."""


def is_large(place: TensorDevice, inputs: Sequence[torch.Tensor], outputs: Sequence[TensorMeta]) -> bool:
    """Whether a call's tensors leave no room on the device for a dozen copies of them."""
    total = sum(tensor.nbytes for tensor in inputs) + sum(meta.nbytes for meta in outputs)
    return place.is_gpu and total > LARGE_BYTES


def telling_part(arguments: list[Any], outputs: Sequence[torch.Tensor], most: int = EXACT_BYTES) -> list[Any] | None:
    """A stretch of arguments along their first dimension, small enough for a run in float64: the one that holds the
    first tensor's largest magnitude, since a spike there decides how exact anybody is. None where they are small
    enough as a whole, or where no stretch keeps their structure."""
    tensors = flatten(arguments)
    total = sum(tensor.nbytes for tensor in (*tensors, *outputs))
    if total <= most or not tensors or tensors[0].dim() == 0 or any(map(is_symmetric, tensors)):
        return None
    size = int(tensors[0].shape[0])
    rows = size * most // total
    if rows < 1:
        return None
    start = 0 if any(map(has_zeros_in_place, tensors)) else min(_largest_row(tensors[0]), size - rows)
    later = [one.narrow(0, start, size - start) if one.dim() and one.shape[0] == size else one for one in tensors]
    cut = resized(later, rows, last=False)
    return None if cut is None else list(rebuilt(arguments, cut))


def _largest_row(tensor: torch.Tensor) -> int:
    """The slice of the first dimension that holds the largest magnitude; 0 where that is not about magnitudes."""
    if not tensor.is_floating_point() or tensor.numel() == 0:
        return 0
    rows = tensor.reshape(tensor.shape[0], -1)
    if is_eight_bit(rows):  # whose bits without the sign are in the order of magnitudes
        return int((rows.view(torch.uint8) & 0x7F).amax(dim=1).argmax())
    return int(torch.maximum(rows.amax(dim=1), -rows.amin(dim=1)).nan_to_num(0.0, 0.0, 0.0).argmax())
