"""Softmax of scores with a learned bias per key."""

import torch
from torch import nn


class Model(nn.Module):
    """softmax(x + bias) over the last dimension."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.linspace(-1.0, 1.0, features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x (queries, keys) → (queries, keys)."""
        return torch.softmax(x + self.bias, dim=-1)


def get_inputs():
    return [torch.randn(4096, 640)]


def get_init_inputs():
    return [640]
