"""A step of the heat equation in a cube: seven points."""

import torch


class Model(torch.nn.Module):
    def forward(self, u):
        inner = u[1:-1, 1:-1, 1:-1]
        around = u[:-2, 1:-1, 1:-1] + u[2:, 1:-1, 1:-1] + u[1:-1, :-2, 1:-1] + u[1:-1, 2:, 1:-1]
        around = around + u[1:-1, 1:-1, :-2] + u[1:-1, 1:-1, 2:]
        return inner + 0.1 * (around - 6.0 * inner)


def get_inputs():
    return [torch.randn(162, 162, 162)]


def get_init_inputs():
    return []
