"""Twelve steps of the logistic map, for many starting points and rates."""

import torch


class Model(torch.nn.Module):
    def forward(self, x, rate):
        for _ in range(12):
            x = rate * x * (1.0 - x)
        return x


def get_inputs():
    return [torch.rand(1024, 1024), torch.rand(1024, 1024) + 1.0]


def get_init_inputs():
    return []
