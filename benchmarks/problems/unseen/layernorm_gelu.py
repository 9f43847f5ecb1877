"""LayerNorm followed by GELU."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    """gelu(layer_norm(x)) over the last dimension."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x (rows, features) → (rows, features)."""
        return F.gelu(self.norm(x))


def get_inputs():
    return [torch.randn(1536, 2048)]


def get_init_inputs():
    return [2048]
