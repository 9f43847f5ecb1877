"""A scaled ReLU. The names at module level are set from shapes.py."""

import torch
from torch import nn

OP_TYPE = "activation"
ROWS = 64
SCALE = 2.0


class Model(nn.Module):
    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale = scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) * self.scale


def get_inputs():
    return [torch.randn(ROWS, 256)]


def get_init_inputs():
    return [SCALE]
