"""A linear layer and the softmax of its rows, float32."""

import torch


class Model(torch.nn.Module):
    def __init__(self, inner, width):
        super().__init__()
        self.linear = torch.nn.Linear(inner, width)

    def forward(self, a):
        return torch.softmax(torch.nn.functional.gelu(self.linear(a)), dim=-1)


def get_inputs():
    return [torch.randn(2048, 4096)]


def get_init_inputs():
    return [4096, 4096]
