"""Dilated maxima of volumes, float32."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.MaxPool3d(3, 2, 1, 3)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(8, 32, 128, 128, 128)]


def get_init_inputs():
    return []
