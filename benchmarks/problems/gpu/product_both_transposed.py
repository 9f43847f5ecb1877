"""A product of two transposed factors, float32."""

import torch


class Model(torch.nn.Module):
    def forward(self, a, b):
        return torch.matmul(a.T, b.T)


def get_inputs():
    return [torch.rand(8192, 2048), torch.rand(4096, 8192)]


def get_init_inputs():
    return []
