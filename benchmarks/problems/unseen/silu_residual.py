"""SiLU of a biased tensor plus a residual."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    """silu(x + bias) + residual."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.linspace(-1.0, 1.0, features))

    def forward(self, x: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
        """x and residual (rows, features) → (rows, features)."""
        return F.silu(x + self.bias) + residual


def get_inputs():
    return [torch.randn(3072, 1024), torch.randn(3072, 1024)]


def get_init_inputs():
    return [1024]
