"""Overlapping dilated maxima of sequences, float32."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.MaxPool1d(8, 1, 4, 3)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(64, 96, 65536)]


def get_init_inputs():
    return []
