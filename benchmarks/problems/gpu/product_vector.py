"""A matrix times a vector of a quarter million, float32."""

import torch


class Model(torch.nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)


def get_inputs():
    return [torch.rand(2048, 262144), torch.rand(262144, 1)]


def get_init_inputs():
    return []
