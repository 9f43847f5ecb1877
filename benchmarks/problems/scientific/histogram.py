"""Weighted counts of what falls into each of 512 bins: torch.bincount."""

import torch


class Model(torch.nn.Module):
    def forward(self, bins, weights):
        return torch.bincount(bins, weights, 512)


def get_inputs():
    return [torch.randint(512, (1 << 21,)), torch.rand(1 << 21)]


def get_init_inputs():
    return []
