"""L1 norm of every row."""

import torch
from torch import nn


class Model(nn.Module):
    """Σ |x| over the last dimension."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x (rows, columns) → (rows,)."""
        return x.abs().sum(dim=-1)


def get_inputs():
    return [torch.randn(1536, 4096)]


def get_init_inputs():
    return []
