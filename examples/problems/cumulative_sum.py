"""Cumulative sum along rows."""

import torch
from torch import nn


class Model(nn.Module):
    """cumsum(x) over one dimension."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x (rows, columns) → (rows, columns)."""
        return torch.cumsum(x, dim=self.dim)


def get_inputs():
    return [torch.randn(2048, 2048)]


def get_init_inputs():
    return [1]


def _odd():
    return [torch.randn(37, 1001)]


INPUT_SETS = [_odd]
