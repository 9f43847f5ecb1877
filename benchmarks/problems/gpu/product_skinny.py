"""A tall factor with 32 columns times a flat one, float32."""

import torch


class Model(torch.nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)


def get_inputs():
    return [torch.rand(16384, 32), torch.rand(32, 16384)]


def get_init_inputs():
    return []
