"""A gate with a residual: a + relu(a) · b."""

import torch
from torch import nn


class Model(nn.Module):
    """a + relu(a) * b, element by element."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """a, b (rows, features) → (rows, features)."""
        return a + torch.relu(a) * b


def get_inputs():
    return [torch.randn(1024, 2048), torch.randn(1024, 2048)]


def get_init_inputs():
    return []
