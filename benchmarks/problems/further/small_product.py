"""A small product with bias and GELU; the product may be the library's."""

import torch

LIBRARY = ["matmul", "linear", "addmm", "mm"]


class Model(torch.nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = torch.nn.Linear(inner, outer)

    def forward(self, x):
        return torch.nn.functional.gelu(self.linear(x))


def get_inputs():
    return [torch.randn(2048, 64)]


def get_init_inputs():
    return [64, 512]
