"""Large tensors looked at piece by piece: intermediates in float64 must not need several times their memory."""

from __future__ import annotations

from collections.abc import Iterator

import torch

ELEMENTS = 1 << 26


def pieces(*tensors: torch.Tensor, elements: int = ELEMENTS) -> Iterator[tuple[torch.Tensor, ...]]:
    """The same flat slices of tensors that have as many elements as one another; at least one, maybe an empty one."""
    flat = [tensor.reshape(-1) for tensor in tensors]
    for start in range(0, max(1, flat[0].numel()), elements):
        yield tuple(tensor[start : start + elements] for tensor in flat)
