"""Mish times a second tensor, then a clamp."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    """clamp(mish(x) · y, -3, 3)."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """x and y (rows, columns) → (rows, columns)."""
        return torch.clamp(F.mish(x) * y, -3.0, 3.0)


def get_inputs():
    return [torch.randn(2048, 1024), torch.randn(2048, 1024)]


def get_init_inputs():
    return []
