"""Bias, GELU and a factor, float32."""

import torch


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.randn(width))

    def forward(self, x):
        return torch.nn.functional.gelu(x + self.bias) * 1.5


def get_inputs():
    return [torch.randn(16384, 2000)]


def get_init_inputs():
    return [2000]
