"""Overlapping maxima of images, float32."""

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.MaxPool2d(4, 1, 1)

    def forward(self, x):
        return self.layer(x)


def get_inputs():
    return [torch.rand(16, 64, 256, 256)]


def get_init_inputs():
    return []
