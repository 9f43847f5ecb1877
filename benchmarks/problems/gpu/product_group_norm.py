"""A linear layer, group normalisation and SiLU, float32."""

import torch


class Model(torch.nn.Module):
    def __init__(self, inner, width):
        super().__init__()
        self.linear, self.norm = torch.nn.Linear(inner, width), torch.nn.GroupNorm(16, width)

    def forward(self, a):
        return torch.nn.functional.silu(self.norm(self.linear(a)))


def get_inputs():
    return [torch.randn(2048, 4096)]


def get_init_inputs():
    return [4096, 4096]
