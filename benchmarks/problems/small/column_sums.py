"""Sums of the columns of 1024 rows of 512."""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x.sum(dim=0)


def get_inputs():
    return [torch.randn(1024, 512)]


def get_init_inputs():
    return []
