"""RMSNorm with a learned scale, forward and backward."""

import torch
from torch import nn


class Model(nn.Module):
    """x / sqrt(mean(x²) + eps) · weight over the last dimension."""

    def __init__(self, features: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.linspace(0.5, 1.5, features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x (rows, features) → (rows, features)."""
        variance = x.pow(2).mean(-1, keepdim=True)
        return x * torch.rsqrt(variance + self.eps) * self.weight


def get_inputs():
    return [torch.randn(2048, 1024)]


def get_init_inputs():
    return [1024]


def _few_rows():
    return [torch.randn(33, 1024)]


def _one_row():
    return [torch.randn(1, 1024)]


BACKWARD = True
INPUT_SETS = [_few_rows]
HELD_OUT = [_one_row]
