"""A linear layer with GELU, bfloat16."""

import torch


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = torch.nn.Linear(width, width, dtype=torch.bfloat16)

    def forward(self, a):
        return torch.nn.functional.gelu(self.linear(a))


def get_inputs():
    return [torch.randn(4096, 4096).bfloat16()]


def get_init_inputs():
    return [4096]
