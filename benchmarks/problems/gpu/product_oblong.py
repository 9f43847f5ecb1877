"""A product with a long inner dimension, float32."""

import torch


class Model(torch.nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)


def get_inputs():
    return [torch.rand(2048, 8192), torch.rand(8192, 4096)]


def get_init_inputs():
    return []
