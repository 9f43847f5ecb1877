"""GELU of a gate times a second tensor."""

import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    """gelu(gate) · up."""

    def forward(self, gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
        """gate and up (rows, columns) → (rows, columns)."""
        return F.gelu(gate) * up


def get_inputs():
    return [torch.randn(768, 3072), torch.randn(768, 3072)]


def get_init_inputs():
    return []
