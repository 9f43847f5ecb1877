"""Scale, shift, ReLU and a residual."""

import torch
from torch import nn


class Model(nn.Module):
    """relu(x · weight + bias) + residual."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(0.5, 1.5, features))
        self.bias = nn.Parameter(torch.linspace(-1.0, 1.0, features))

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        """x and residual (rows, features) → (rows, features)."""
        return torch.relu(x * self.weight + self.bias) + residual


def get_inputs():
    return [torch.randn(1536, 2048), torch.randn(1536, 2048)]


def get_init_inputs():
    return [2048]
