"""LayerNorm with scale and shift, forward and backward."""

import torch
from torch import nn


class Model(nn.Module):
    """(x − mean) / sqrt(variance + eps) · weight + bias over the last dimension."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x (rows, features) → (rows, features)."""
        return self.norm(x)


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
