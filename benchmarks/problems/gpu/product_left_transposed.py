"""A product with a transposed left factor, float32."""

import torch


class Model(torch.nn.Module):
    def forward(self, a, b):
        return torch.matmul(a.T, b)


def get_inputs():
    return [torch.rand(8192, 2048), torch.rand(8192, 4096)]


def get_init_inputs():
    return []
