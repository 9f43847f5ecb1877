"""Odd sizes, float32."""

import torch


class Model(torch.nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)


def get_inputs():
    return [torch.rand(8205, 2949), torch.rand(2949, 5921)]


def get_init_inputs():
    return []
