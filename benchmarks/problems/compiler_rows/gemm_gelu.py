"""A product of 4096³ with bias and GELU, bfloat16."""

import torch


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = torch.nn.Linear(width, width, dtype=torch.bfloat16)

    def forward(self, x):
        return torch.nn.functional.gelu(self.linear(x))


def get_inputs():
    return [torch.randn(4096, 4096).bfloat16()]


def get_init_inputs():
    return [4096]
