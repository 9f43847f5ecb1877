"""SwiGLU gate, forward and backward."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    """silu(gate) · up, where one tensor holds gate and up side by side."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x (tokens, 2·features) → (tokens, features)."""
        gate, up = x.chunk(2, dim=-1)
        return F.silu(gate) * up


def get_inputs():
    return [torch.randn(1024, 4096)]


def get_init_inputs():
    return []


def _odd_tokens():
    return [torch.randn(123, 2 * 777)]


def _one_token():
    return [torch.randn(1, 2 * 1000)]


BACKWARD = True
INPUT_SETS = [_odd_tokens]
HELD_OUT = [_one_token]
