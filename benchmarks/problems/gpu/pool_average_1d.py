"""Overlapping averages of sequences, float32."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.AvgPool1d(8, 1, 4)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(64, 64, 65536)]


def get_init_inputs():
    return []
