"""Sums and sums of squares of columns."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x.sum(dim=0), (x * x).sum(dim=0)


def get_inputs():
    return [torch.randn(8192, 1024)]


def get_init_inputs():
    return []
