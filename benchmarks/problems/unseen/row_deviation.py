"""Standard deviation of every row."""

import torch
from torch import nn


class Model(nn.Module):
    """std(x) over the last dimension."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x (rows, columns) → (rows,)."""
        return torch.std(x, dim=-1)


def get_inputs():
    return [torch.randn(1024, 6144)]


def get_init_inputs():
    return []
