"""Mish of a scaled input: a chain whose exponential and logarithm compilers like to leave scalar."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.mish(x * 1.5) + x


def get_inputs():
    return [torch.randn(4096, 1024)]


def get_init_inputs():
    return []
