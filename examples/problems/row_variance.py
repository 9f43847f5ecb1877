"""Unbiased variance of every row."""

import torch
from torch import nn


class Model(nn.Module):
    """var(x) over the last dimension."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x (rows, columns) → (rows,)."""
        return torch.var(x, dim=-1)


def get_inputs():
    return [torch.randn(2048, 4096)]


def get_init_inputs():
    return []


def _odd_columns():
    return [torch.randn(100, 1003)]


def _short_rows():
    return [torch.randn(1000, 7)]


INPUT_SETS = [_odd_columns]
HELD_OUT = [_short_rows]
