"""A gated activation as in WaveNet."""

import torch
from torch import nn


class Model(nn.Module):
    """tanh(a) · sigmoid(b)."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """a and b (rows, columns) → (rows, columns)."""
        return torch.tanh(a) * torch.sigmoid(b)


def get_inputs():
    return [torch.randn(1024, 3072), torch.randn(1024, 3072)]


def get_init_inputs():
    return []
