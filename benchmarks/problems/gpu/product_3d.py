"""Three dimensions times a matrix, float32."""

import torch


class Model(torch.nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)


def get_inputs():
    return [torch.rand(16, 1024, 2048), torch.rand(2048, 768)]


def get_init_inputs():
    return []
