"""LayerNorm followed by SiLU."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    """silu(layer_norm(x)) over the last dimension, with learned scale and shift."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(features)
        with torch.no_grad():
            self.norm.weight.copy_(torch.linspace(0.5, 1.5, features))
            self.norm.bias.copy_(torch.linspace(-0.5, 0.5, features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x (rows, features) → (rows, features)."""
        return F.silu(self.norm(x))


def get_inputs():
    return [torch.randn(4096, 1024)]


def get_init_inputs():
    return [1024]


def _odd_rows():
    return [torch.randn(129, 1024)]


HELD_OUT = [_odd_rows]
